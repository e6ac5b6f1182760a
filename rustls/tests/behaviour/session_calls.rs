//! Calls to a client's session store, the labels in both ends' key logs, and what both report
//! during a handshake: the same as upstream's, one by one. Test suites of applications look at all
//! three.

use std::sync::{Arc, Mutex};

use harness::peers::callbacks::KeyLines;
use harness::peers::configs::{
    self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, product3,
};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, exchange};
use rustls::NamedGroup;

const KEY_TYPE: KeyType = KeyType::Ed25519;

const VERSIONS: [Versions; 3] = [Versions::Tls12, Versions::Tls13, Versions::Both];

/// The names of calls, in their order.
type Calls = Arc<Mutex<Vec<String>>>;

macro_rules! ends {
    ($module:ident, $tls:ident, $endpoint:ident) => {
        mod $module {
            use harness::peers::callbacks::$module::Sessions;
            use $tls::client::Resumption;
            use $tls::{ClientConfig, NamedGroup, ServerConfig};

            use super::*;

            pub(super) fn client_config(
                provider: Provider,
                versions: Versions,
                calls: &Calls,
            ) -> Arc<ClientConfig> {
                let auth = ClientAuth::None;
                let crypto = provider.$module();
                let mut config = configs::$module::client_of(versions, crypto, KEY_TYPE, auth);
                let calls = calls.clone();
                config.resumption = Resumption::store(Sessions::when(move |call| {
                    calls.lock().unwrap().push(call.into());
                    true
                }));
                config.enable_early_data = true;
                Arc::new(config)
            }

            /// The same store under a configuration of its own, which offers no group but `group`.
            pub(super) fn client_config_of_group(
                provider: Provider,
                versions: Versions,
                group: u16,
                same_store: &ClientConfig,
            ) -> Arc<ClientConfig> {
                let mut crypto = provider.$module();
                let group = NamedGroup::from(group);
                crypto.kx_groups.retain(|known| known.name() == group);
                let auth = ClientAuth::None;
                let mut config = configs::$module::client_of(versions, crypto, KEY_TYPE, auth);
                config.resumption = same_store.resumption.clone();
                Arc::new(config)
            }

            pub(super) fn client(config: &Arc<ClientConfig>) -> $endpoint {
                $endpoint::client(config.clone())
            }

            pub(super) fn server_config(
                provider: Provider,
                versions: Versions,
                max_early_data_size: u32,
                retries: bool,
                labels: &Arc<KeyLines>,
            ) -> Arc<ServerConfig> {
                let auth = ClientAuth::None;
                let mut crypto = provider.$module();
                if retries {
                    // a group of which no client sends a share at once
                    crypto
                        .kx_groups
                        .retain(|group| group.name() == NamedGroup::secp384r1);
                }
                let mut config = configs::$module::server_of(versions, crypto, KEY_TYPE, auth);
                config.key_log = labels.clone();
                config.max_early_data_size = max_early_data_size;
                Arc::new(config)
            }

            pub(super) fn server(config: &Arc<ServerConfig>) -> $endpoint {
                $endpoint::server(config.clone())
            }
        }
    };
}

ends!(this, rustls, ThisBuffered);
ends!(upstream, rustls_upstream, UpstreamBuffered);

/// Connects both ends, and returns the calls meanwhile.
fn calls_of(client: &mut dyn Endpoint, server: &mut dyn Endpoint, calls: &Calls) -> Vec<String> {
    let result = exchange(client, server);
    let mut calls = std::mem::take(&mut *calls.lock().unwrap());
    let is_resumed = client.negotiated().ends_with("Some(Resumed)");
    calls.extend(result.is_err().then(|| "failed".into()));
    calls.extend(is_resumed.then(|| "resumed".into()));
    calls
}

/// The calls in each of several connections with upstream's server, which has these versions in
/// turn and may want another share.
macro_rules! store_calls {
    ($name:ident, $module:ident) => {
        fn $name(
            provider: Provider,
            versions: Versions,
            servers: [Versions; 4],
            retries: bool,
        ) -> Vec<Vec<String>> {
            let calls = Calls::default();
            let client = $module::client_config(provider, versions, &calls);
            let all = VERSIONS.map(|versions| {
                upstream::server_config(provider, versions, 1000, retries, &Arc::default())
            });
            let connect = |versions: &Versions| {
                let at = VERSIONS.iter().position(|it| it == versions).unwrap();
                let mut client = $module::client(&client);
                calls_of(&mut client, &mut upstream::server(&all[at]), &calls)
            };
            servers.iter().map(connect).collect()
        }
    };
}

store_calls!(calls_of_this, this);
store_calls!(calls_of_upstream, upstream);

/// Our client tells its store nothing that the store knows: the group that it found there, and a
/// session that is resumed without a new ticket.
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
fn the_calls_of_a_session_store() {
    use Versions::{Both, Tls12, Tls13};
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        for servers in [
            [Tls12; 4],
            [Tls13; 4],
            [Both; 4],
            [Tls12, Both, Both, Tls13],
            [Tls13, Tls12, Tls12, Tls13],
        ] {
            for retries in [false, true] {
                let ours = calls_of_this(provider, versions, servers, retries);
                let theirs = calls_of_upstream(provider, versions, servers, retries);
                let theirs = without_repetition(theirs);
                assert_eq!(ours, theirs, "{versions:?} {servers:?} {retries}");
            }
        }
    }
}

/// Returns the calls in each of four connections with upstream's server. Two clients of these
/// versions take turns. They share a store, and each has a verifier and a group of its own.
macro_rules! store_calls_of_two {
    ($name:ident, $module:ident) => {
        fn $name(provider: Provider, versions: [Versions; 2]) -> Vec<Vec<String>> {
            let calls = Calls::default();
            let first = $module::client_config(provider, versions[0], &calls);
            let clients = [0, 1].map(|i| {
                let group = u16::from([NamedGroup::secp256r1, NamedGroup::secp384r1][i]);
                $module::client_config_of_group(provider, versions[i], group, &first)
            });
            let no_labels = Arc::default();
            let server = upstream::server_config(provider, Versions::Both, 0, false, &no_labels);
            let connect = |i: usize| {
                let mut client = $module::client(&clients[i]);
                calls_of(&mut client, &mut upstream::server(&server), &calls)
            };
            [0, 1, 0, 1].map(connect).into()
        }
    };
}

store_calls_of_two!(calls_of_two_of_this, this);
store_calls_of_two!(calls_of_two_of_upstream, upstream);

/// A client takes a ticket even if it may not resume it. It then looks for no TLS 1.2 session.
#[test]
fn the_calls_of_clients_that_share_a_session_store() {
    for (provider, first, second) in product3(PROVIDERS, VERSIONS, VERSIONS) {
        let ours = calls_of_two_of_this(provider, [first, second]);
        let theirs = calls_of_two_of_upstream(provider, [first, second]);
        assert!(
            theirs.iter().flatten().all(|it| it != "failed"),
            "{theirs:?}"
        );
        assert_eq!(ours, without_repetition(theirs), "{first:?} {second:?}");
    }
}

/// The labels that both ends log for three connections of which one is upstream's. The client sends
/// early data or does not.
macro_rules! labels {
    ($name:ident, $client:ident, $server:ident) => {
        fn $name(
            provider: Provider,
            versions: Versions,
            [of_first, of_second]: [u32; 2],
            early: &[u8],
            retries: bool,
        ) -> Vec<Vec<String>> {
            let [of_client, of_server] = [(); 2].map(|()| Arc::<KeyLines>::default());
            let mut client = $client::client_config(provider, versions, &Calls::default());
            Arc::get_mut(&mut client).unwrap().key_log = of_client.clone();
            let first = $server::server_config(provider, versions, of_first, retries, &of_server);
            let mut second = (*first).clone();
            second.max_early_data_size = of_second;
            let second = Arc::new(second);
            let mut logged = Vec::new();
            for server in [&first, &second, &second] {
                let mut client = $client::client(&client);
                client.send_early(early);
                exchange(&mut client, &mut $server::server(server)).unwrap();
                for labels in [&of_client, &of_server] {
                    let labels = labels.take().into_iter().map(|(label, ..)| label);
                    // RFC 9850 has it, and upstream does not
                    logged.push(labels.filter(|it| it != "EARLY_EXPORTER_SECRET").collect());
                }
            }
            logged
        }
    };
}

labels!(labels_of_upstream, upstream, upstream);
labels!(labels_of_our_client, this, upstream);
labels!(labels_of_our_server, upstream, this);

#[test]
fn the_labels_of_key_logs() {
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        for (max, early) in [
            ([0, 0], &b""[..]),
            ([1000, 1000], b""),
            ([1000, 1000], b"early"),
            ([1000, 0], b"early"),
        ] {
            for retries in [false, true] {
                let labels = labels_of_upstream(provider, versions, max, early, retries);
                for ours in [
                    labels_of_our_client(provider, versions, max, early, retries),
                    labels_of_our_server(provider, versions, max, early, retries),
                ] {
                    assert_eq!(ours, labels, "{versions:?} {max:?} {early:?} {retries}");
                }
            }
        }
    }
}

/// Lists the facts that both ends report after each flight of three connections.
macro_rules! reports {
    ($name:ident, $client:ident, $server:ident) => {
        fn $name(provider: Provider, versions: Versions, retries: bool) -> Vec<String> {
            let client = $client::client_config(provider, versions, &Calls::default());
            let server = $server::server_config(provider, versions, 0, retries, &Arc::default());
            let mut reports = Vec::new();
            for _ in 0..3 {
                let (mut client, mut server) = ($client::client(&client), $server::server(&server));
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
    };
}

reports!(reports_of_upstream, upstream, upstream);
reports!(reports_of_our_client, this, upstream);
reports!(reports_of_our_server, upstream, this);

#[test]
fn reports_during_a_handshake() {
    for (provider, versions, retries) in product3(PROVIDERS, VERSIONS, [false, true]) {
        let theirs = reports_of_upstream(provider, versions, retries);
        for ours in [
            reports_of_our_client(provider, versions, retries),
            reports_of_our_server(provider, versions, retries),
        ] {
            assert_eq!(ours, theirs, "{versions:?} {retries}");
        }
    }
}
