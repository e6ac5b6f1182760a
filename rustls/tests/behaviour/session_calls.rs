//! Calls to a client's session store, the labels in both ends' key logs, and the values that both
//! ends report during a handshake match upstream's one by one. Test suites of applications depend
//! on all three.

use std::sync::{Arc, Mutex};

use harness::peers::callbacks::KeyLines;
use harness::peers::clients::Client;
use harness::peers::configs::{self, ClientAuth, PROVIDERS, Provider, Versions, product, product3};
use harness::peers::endpoints::exchange;
use harness::peers::servers::Server;

use crate::cases::{KEY_TYPE, Role};

const VERSIONS: [Versions; 3] = [Versions::Tls12, Versions::Tls13, Versions::Both];

/// The names of calls, in their order.
type Calls = Arc<Mutex<Vec<String>>>;

macro_rules! ends {
    ($module:ident, $tls:ident, $kind:ident) => {
        mod $module {
            use harness::peers::callbacks::$module::Sessions;
            use $tls::client::Resumption;
            use $tls::{ClientConfig, NamedGroup};

            use super::*;

            pub(super) fn client_config(
                provider: Provider,
                versions: Versions,
                calls: &Calls,
            ) -> ClientConfig {
                let (crypto, auth) = (provider.$module(), ClientAuth::None);
                let mut config = configs::$module::client_of(versions, crypto, KEY_TYPE, auth);
                let calls = calls.clone();
                config.resumption = Resumption::store(Sessions::when(move |call| {
                    calls.lock().unwrap().push(call.into());
                    true
                }));
                config.enable_early_data = true;
                config
            }

            pub(super) fn client(
                provider: Provider,
                versions: Versions,
                calls: &Calls,
                labels: &Arc<KeyLines>,
            ) -> Client {
                let mut config = client_config(provider, versions, calls);
                config.key_log = labels.clone();
                Client::$kind(config.into())
            }

            /// Creates two clients of these versions that share a store. Each has its own verifier
            /// and group.
            pub(super) fn two_clients(
                provider: Provider,
                versions: [Versions; 2],
                calls: &Calls,
            ) -> [Client; 2] {
                let shared = client_config(provider, versions[0], calls).resumption;
                [0, 1].map(|i| {
                    let group = [NamedGroup::secp256r1, NamedGroup::secp384r1][i];
                    let (mut crypto, auth) = (provider.$module(), ClientAuth::None);
                    crypto.kx_groups.retain(|known| known.name() == group);
                    let versions = versions[i];
                    let mut config = configs::$module::client_of(versions, crypto, KEY_TYPE, auth);
                    config.resumption = shared.clone();
                    Client::$kind(config.into())
                })
            }

            /// Returns the server of the first connection and that of later connections. They
            /// accept this much early data, and may request another share than the one that clients
            /// send first.
            pub(super) fn servers(
                provider: Provider,
                versions: Versions,
                max_early_data: [u32; 2],
                retries: bool,
                labels: &Arc<KeyLines>,
            ) -> [Server; 2] {
                let (mut crypto, auth) = (provider.$module(), ClientAuth::None);
                if retries {
                    // a group for which clients do not send a share in the first hello
                    let groups = &mut crypto.kx_groups;
                    groups.retain(|group| group.name() == NamedGroup::secp384r1);
                }
                let mut config = configs::$module::server_of(versions, crypto, KEY_TYPE, auth);
                config.key_log = labels.clone();
                max_early_data.map(|size| {
                    config.max_early_data_size = size;
                    Server::$kind(Arc::new(config.clone()))
                })
            }
        }
    };
}

ends!(this, rustls, Buffered);
ends!(upstream, rustls_upstream, Upstream);

type MakeClient = fn(Provider, Versions, &Calls, &Arc<KeyLines>) -> Client;
type MakeServers = fn(Provider, Versions, [u32; 2], bool, &Arc<KeyLines>) -> [Server; 2];

/// Both ends of upstream.
const OF_UPSTREAM: (MakeClient, MakeServers) = (upstream::client, upstream::servers);
/// This crate at one end.
const OURS: [(Role, (MakeClient, MakeServers)); 2] = [
    (Role::Client, (this::client, upstream::servers)),
    (Role::Server, (upstream::client, this::servers)),
];

/// Connects both ends, and returns the calls made during the connection.
fn calls_of(client: &Client, server: &Server, calls: &Calls) -> Vec<String> {
    let mut client = client.connect();
    let result = exchange(&mut *client, &mut *server.accept());
    let mut calls = std::mem::take(&mut *calls.lock().unwrap());
    let is_resumed = client.negotiated().ends_with("Some(Resumed)");
    calls.extend(result.is_err().then(|| "failed".into()));
    calls.extend(is_resumed.then(|| "resumed".into()));
    calls
}

/// Returns the calls in several connections with upstream's server, which has one of these versions
/// in each and may request another share.
fn store_calls(
    client: MakeClient,
    provider: Provider,
    versions: Versions,
    servers: [Versions; 4],
    retries: bool,
) -> Vec<Vec<String>> {
    let (calls, no_labels) = (Calls::default(), Arc::default());
    let client = client(provider, versions, &calls, &no_labels);
    let all = VERSIONS.map(|versions| {
        let [server, _] = upstream::servers(provider, versions, [1000; 2], retries, &no_labels);
        server
    });
    let connect = |versions: &Versions| {
        let at = VERSIONS.iter().position(|it| it == versions).unwrap();
        calls_of(&client, &all[at], &calls)
    };
    servers.iter().map(connect).collect()
}

/// Removes the calls in which upstream's client repeats what its store already has: the group that
/// it found there, and a session that is resumed without a new ticket. This crate does not make
/// these calls.
fn without_repetition(mut connections: Vec<Vec<String>>) -> Vec<Vec<String>> {
    for calls in &mut connections {
        let is_resumed = calls.iter().any(|call| call == "resumed");
        calls.retain(|call| match &**call {
            "set_kx_hint again" => false,
            "set_tls12_session" => !is_resumed,
            _ => true,
        });
    }
    connections
}

#[test]
fn calls_to_a_session_store_match_upstream() {
    use Versions::{Both, Tls12, Tls13};
    let servers = [
        [Tls12; 4],
        [Tls13; 4],
        [Both; 4],
        [Tls12, Both, Both, Tls13],
        [Tls13, Tls12, Tls12, Tls13],
    ];
    let cases = product3(PROVIDERS, VERSIONS, servers);
    for ((provider, versions, servers), retries) in product(cases, [false, true]) {
        let ours = store_calls(this::client, provider, versions, servers, retries);
        let theirs = store_calls(upstream::client, provider, versions, servers, retries);
        let theirs = without_repetition(theirs);
        let what = format!("{provider:?} {versions:?} {servers:?} {retries}");
        assert_eq!(ours, theirs, "{what}");
    }
}

/// A client takes a ticket even if it must not resume it. It then does not look for a TLS 1.2
/// session.
#[test]
fn calls_to_a_shared_session_store_match_upstream() {
    for (provider, first, second) in product3(PROVIDERS, VERSIONS, VERSIONS) {
        let (both, no_labels) = (Versions::Both, Arc::default());
        let [server, _] = upstream::servers(provider, both, [0; 2], false, &no_labels);
        // in four connections, for which the clients take turns
        let calls_of_two = |calls: Calls, clients: [Client; 2]| {
            [0, 1, 0, 1].map(|i: usize| calls_of(&clients[i], &server, &calls))
        };
        let (calls, versions) = (Calls::default(), [first, second]);
        let ours = calls_of_two(calls.clone(), this::two_clients(provider, versions, &calls));
        let theirs = upstream::two_clients(provider, versions, &calls);
        let theirs = calls_of_two(calls, theirs);
        let mut all = theirs.iter().flatten();
        assert!(all.all(|it| it != "failed"), "{theirs:?}");
        let theirs = without_repetition(theirs.into());
        assert_eq!(ours[..], theirs, "{provider:?} {first:?} {second:?}");
    }
}

/// The labels that both ends log for three connections.
fn labels(
    (client, servers): (MakeClient, MakeServers),
    provider: Provider,
    versions: Versions,
    (max_early_data, early): ([u32; 2], &[u8]),
    retries: bool,
) -> Vec<Vec<String>> {
    let [of_client, of_server] = [(); 2].map(|()| Arc::<KeyLines>::default());
    let client = client(provider, versions, &Calls::default(), &of_client);
    let [first, later] = servers(provider, versions, max_early_data, retries, &of_server);
    let mut logged = Vec::new();
    for server in [&first, &later, &later] {
        let mut client = client.connect();
        client.send_early(early);
        exchange(&mut *client, &mut *server.accept()).unwrap();
        for labels in [&of_client, &of_server] {
            let labels = labels.take().into_iter().map(|(label, ..)| label);
            // RFC 9850 has this label, and upstream does not
            logged.push(labels.filter(|it| it != "EARLY_EXPORTER_SECRET").collect());
        }
    }
    logged
}

#[test]
fn labels_in_key_logs_match_upstream() {
    let early_data = [
        ([0, 0], &b""[..]),
        ([1000, 1000], b""),
        ([1000, 1000], b"early"),
        ([1000, 0], b"early"),
    ];
    let cases = product3(PROVIDERS, VERSIONS, early_data);
    for ((provider, versions, early_data), retries) in product(cases, [false, true]) {
        let labels = |ends| labels(ends, provider, versions, early_data, retries);
        for (role, ours) in OURS {
            let what = format!("{provider:?} {role:?} {versions:?} {early_data:?} {retries}");
            assert_eq!(labels(ours), labels(OF_UPSTREAM), "{what}");
        }
    }
}

/// Lists the facts that both ends report after each flight of three connections.
fn reports(
    (client, servers): (MakeClient, MakeServers),
    provider: Provider,
    versions: Versions,
    retries: bool,
) -> Vec<String> {
    let client = client(provider, versions, &Calls::default(), &Arc::default());
    let [server, _] = servers(provider, versions, [0; 2], retries, &Arc::default());
    let mut reports = Vec::new();
    for _ in 0..3 {
        let (mut client, mut server) = (client.connect(), server.accept());
        loop {
            reports.push(client.negotiated());
            reports.push(server.negotiated());
            let to_server = client.take_output();
            server.receive(&to_server).unwrap();
            reports.push(server.negotiated());
            let to_client = server.take_output();
            client.receive(&to_client).unwrap();
            if to_server.is_empty() && to_client.is_empty() {
                break;
            }
        }
    }
    reports
}

#[test]
fn values_reported_during_a_handshake_match_upstream() {
    for (provider, versions, retries) in product3(PROVIDERS, VERSIONS, [false, true]) {
        let reports = |ends| reports(ends, provider, versions, retries);
        for (role, ours) in OURS {
            let what = format!("{provider:?} {role:?} {versions:?} {retries}");
            assert_eq!(reports(ours), reports(OF_UPSTREAM), "{what}");
        }
    }
}
