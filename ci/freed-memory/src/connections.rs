//! Connections of every kind, from the first byte to the last.

use core::hint::black_box;
use std::io::{Read, Write};
use std::sync::Arc;

use harness::peers::configs::{
    ClientAuth, KeyType, PROVIDERS, Provider, Versions, server_name, this,
};
use harness::peers::pairs::this::{Configs, unbuffered};
use harness::providers::hooked;
use harness::verifiers::hooked::Hook;
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::server::NoServerSessionStorage;
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, ConnectionCommon, HandshakeKind, NamedGroup,
    ServerConfig, ServerConnection, SupportedCipherSuite, quic,
};

use crate::secrets::{Group, Log, Tickets, left_by, record_randoms};

/// The way sessions are resumed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sessions {
    Tickets,
    /// Tickets with keys shared by many machines.
    Fleet,
    /// With early data in TLS 1.3.
    Stored,
}

/// The API that carries the handshakes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Over {
    Records,
    Unbuffered,
    Quic,
}

/// The parameters of two ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) provider: Provider,
    pub(crate) suite: SupportedCipherSuite,
    pub(crate) group: NamedGroup,
    pub(crate) auth: ClientAuth,
    pub(crate) sessions: Sessions,
}

impl Case {
    /// A case with X25519 and tickets, without client authentication.
    pub(crate) fn new(provider: Provider, suite: CipherSuite) -> Self {
        let suites = provider.this().cipher_suites;
        let mut suites = suites.into_iter();
        Self {
            provider,
            suite: suites.find(|known| known.suite() == suite).unwrap(),
            group: NamedGroup::X25519,
            auth: ClientAuth::None,
            sessions: Sessions::Tickets,
        }
    }

    /// A case with AES-128-GCM in either version.
    pub(crate) fn of_version(provider: Provider, versions: Versions) -> Self {
        let suite = match versions {
            Versions::Tls12 => CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            _ => CipherSuite::TLS13_AES_128_GCM_SHA256,
        };
        Self::new(provider, suite)
    }

    pub(crate) fn is_tls13(&self) -> bool {
        self.suite.tls13().is_some()
    }

    pub(crate) fn configs(&self) -> (ClientConfig, ServerConfig) {
        self.configs_with(hooked(self.suite, OverwritesStack))
    }

    /// Like [`Self::configs`], with a suite like that of this case.
    pub(crate) fn configs_with(&self, suite: SupportedCipherSuite) -> (ClientConfig, ServerConfig) {
        let mut crypto: CryptoProvider = self.provider.this();
        crypto.cipher_suites = vec![suite];
        let mut groups = self.provider.this_groups().into_iter();
        let group = groups.find(|group| group.name() == self.group).unwrap();
        let group: &'static dyn SupportedKxGroup = Box::leak(Box::new(Group(group)));
        crypto.kx_groups = vec![group];
        let versions = if self.is_tls13() {
            Versions::Tls13
        } else {
            Versions::Tls12
        };
        let key_type = if format!("{:?}", self.suite.suite()).contains("_RSA_") {
            KeyType::Rsa2048
        } else {
            KeyType::EcdsaP256
        };
        let mut client = this::client_of(versions, crypto.clone(), key_type, self.auth);
        client.key_log = Arc::new(Log);
        let mut server = this::server_of(versions, crypto, key_type, self.auth);
        server.key_log = Arc::new(Log);
        if self.sessions == Sessions::Stored {
            client.enable_early_data = true;
            // both the records and the QUIC carrier accept it
            server.max_early_data_size = u32::MAX;
        } else {
            server.session_storage = Arc::new(NoServerSessionStorage {});
            server.ticketer = Arc::new(Tickets(self.ticketer()));
        }
        (client, server)
    }

    fn ticketer(&self) -> Arc<dyn rustls::server::ProducesTickets> {
        use rustls::crypto::{aws_lc_rs, ring};
        let ticketer = match (self.sessions, self.provider) {
            (Sessions::Fleet, Provider::AwsLc) => aws_lc_rs::Ticketer::for_fleet(&[7; 32], 3600),
            (Sessions::Fleet, Provider::Ring) => ring::Ticketer::for_fleet(&[7; 32], 3600),
            (_, Provider::AwsLc) => aws_lc_rs::Ticketer::new(),
            (_, Provider::Ring) => ring::Ticketer::new(),
        };
        ticketer.unwrap()
    }
}

/// Moves `value` through the heap, as applications move connections. Bytes that are not behind a
/// pointer stay there.
pub(crate) fn move_through_heap<T>(value: T) -> T {
    overwrite_stack();
    *black_box(Box::new(value))
}

/// Overwrites the stack that the next calls use. Otherwise the padding of values could carry old
/// stack bytes into heap memory.
#[inline(never)]
pub(crate) fn overwrite_stack() {
    black_box(&mut [0_u8; 1 << 17]);
}

/// Overwrites the stack after each record. The first nonce of a key is the IV itself (RFC 9846
/// §5.3), and nonces are not zeroized.
#[derive(Clone, Debug)]
struct OverwritesStack;

impl Hook for OverwritesStack {
    fn called(&self, _: &'static str) -> bool {
        false
    }

    fn returns(&self, _: &'static str) {
        overwrite_stack();
    }
}

/// The pending output of `from`.
pub(crate) fn take<Data>(from: &mut ConnectionCommon<Data>) -> Vec<u8> {
    let mut wire = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut wire).unwrap();
    }
    wire
}

pub(crate) fn give<Data>(
    to: &mut ConnectionCommon<Data>,
    mut wire: &[u8],
) -> Result<(), rustls::Error> {
    overwrite_stack();
    while !wire.is_empty() {
        to.read_tls(&mut wire).unwrap();
        to.process_new_packets()?;
    }
    Ok(())
}

fn pass<A, B>(from: &mut ConnectionCommon<A>, to: &mut ConnectionCommon<B>) -> Vec<u8> {
    let wire = take(from);
    give(to, &wire).unwrap();
    wire
}

/// Returns two ends after their handshake, each moved at every step of it.
pub(crate) fn connected(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> (ClientConnection, ServerConnection) {
    overwrite_stack();
    let mut client = ClientConnection::new(client.clone(), server_name()).unwrap();
    let mut server = ServerConnection::new(server.clone()).unwrap();
    if let Some(mut early_data) = client.early_data() {
        early_data.write_all(b"early").unwrap();
    }
    for round in 0..3 {
        let of_client = pass(&mut client, &mut server);
        (client, server) = (move_through_heap(client), move_through_heap(server));
        let of_server = pass(&mut server, &mut client);
        (client, server) = (move_through_heap(client), move_through_heap(server));
        if round == 0 {
            record_randoms([&of_client, &of_server]);
        }
    }
    (client, server)
}

/// Runs a connection from its beginning to its end.
fn connect(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> HandshakeKind {
    let (mut client, mut server) = connected(client, server);
    client
        .export_keying_material([0; 32], b"label", None)
        .unwrap();
    let is_tls13 = client.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3);
    for _ in 0..2 {
        client.writer().write_all(b"data").unwrap();
        pass(&mut client, &mut server);
        assert_eq!(server.reader().read(&mut [0; 10]).unwrap(), 4);
        server.writer().write_all(b"data").unwrap();
        pass(&mut server, &mut client);
        assert_eq!(client.reader().read(&mut [0; 10]).unwrap(), 4);
        if is_tls13 {
            client.refresh_traffic_keys().unwrap();
        }
        (client, server) = (move_through_heap(client), move_through_heap(server));
    }
    client.send_close_notify();
    pass(&mut client, &mut server);
    let kind = client.handshake_kind().unwrap();
    drop(black_box((Box::new(client), Box::new(server))));
    kind
}

fn connect_unbuffered(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> HandshakeKind {
    overwrite_stack();
    let configs = Configs {
        client: client.clone(),
        server: server.clone(),
    };
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    let mut pair =
        unbuffered::Pair::connect_through(&configs, &mut to_server, &mut to_client).unwrap();
    pair.exchange(b"data", &mut [0; 1000]).unwrap();
    let unbuffered::Pair { client, server } = pair;
    let (client, server) = (move_through_heap(*client), move_through_heap(*server));
    let mut pair = unbuffered::Pair {
        client: Box::new(client),
        server: Box::new(server),
    };
    pair.exchange(b"data", &mut [0; 1000]).unwrap();
    pair.client.handshake_kind().unwrap()
}

/// Runs a QUIC connection from its beginning to two key updates.
fn connect_quic(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> HandshakeKind {
    overwrite_stack();
    let version = quic::Version::V1;
    let parameters = || b"parameters".to_vec();
    let client = quic::ClientConnection::new(client.clone(), version, server_name(), parameters());
    let server = quic::ServerConnection::new(server.clone(), version, parameters());
    let mut ends = [
        quic::Connection::from(client.unwrap()),
        quic::Connection::from(server.unwrap()),
    ];
    let mut nexts = Vec::new();
    for _ in 0..3 {
        for from in [0, 1] {
            drop(black_box(ends[from].zero_rtt_keys()));
            loop {
                let mut bytes = Vec::new();
                let change = ends[from].write_hs(&mut bytes);
                overwrite_stack();
                ends[1 - from].read_hs(&bytes).unwrap();
                overwrite_stack();
                match change {
                    Some(quic::KeyChange::Handshake { keys }) => drop(black_box(keys)),
                    Some(quic::KeyChange::OneRtt { keys, next }) => {
                        drop(black_box(keys));
                        nexts.push(next);
                    }
                    None if bytes.is_empty() => break,
                    None => {}
                }
            }
            ends = move_through_heap(ends);
        }
    }
    assert_eq!(nexts.len(), 2);
    for mut next in nexts {
        for _ in 0..2 {
            drop(black_box(next.next_packet_keys()));
            next = move_through_heap(next);
        }
    }
    let [client, _server] = *Box::new(ends);
    client
        .export_keying_material([0; 32], b"label", None)
        .unwrap();
    client.handshake_kind().unwrap()
}

/// Fails if a full handshake and two resumptions leave a secret.
fn check(case: Case, over: Over) {
    let left = left_by(case.provider, case.suite, || {
        let (client, server) = case.configs();
        let (client, server) = (Arc::new(client), Arc::new(server));
        let [full, resumed @ ..] = [0; 3].map(|_| match over {
            Over::Records => connect(&client, &server),
            Over::Unbuffered => connect_unbuffered(&client, &server),
            Over::Quic => connect_quic(&client, &server),
        });
        assert_eq!(full, HandshakeKind::Full);
        assert_eq!(resumed, [HandshakeKind::Resumed; 2]);
    });
    assert!(left.is_empty(), "{over:?} {case:?}: {left:?}");
}

#[test]
fn no_secret_is_left_in_freed_memory() {
    for provider in PROVIDERS {
        for (over, versions) in [
            (Over::Records, Versions::Tls13),
            (Over::Records, Versions::Tls12),
            (Over::Quic, Versions::Tls13),
        ] {
            for auth in [ClientAuth::None, ClientAuth::Required] {
                for sessions in [Sessions::Tickets, Sessions::Fleet, Sessions::Stored] {
                    let case = Case {
                        auth,
                        sessions,
                        ..Case::of_version(provider, versions)
                    };
                    check(case, over);
                }
            }
        }
        for versions in [Versions::Tls13, Versions::Tls12] {
            check(Case::of_version(provider, versions), Over::Unbuffered);
        }
    }
}

#[test]
fn no_secret_of_any_suite_or_group_is_left() {
    for provider in PROVIDERS {
        for suite in provider.this().cipher_suites {
            let case = Case::new(provider, suite.suite());
            check(case, Over::Records);
            if case.is_tls13() {
                check(case, Over::Quic);
            }
        }
        for group in provider.this_groups() {
            for versions in [Versions::Tls13, Versions::Tls12] {
                let case = Case {
                    group: group.name(),
                    ..Case::of_version(provider, versions)
                };
                let version = case.suite.version().version;
                if group.usable_for_version(version) {
                    check(case, Over::Records);
                }
            }
        }
    }
}
