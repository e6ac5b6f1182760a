//! Tests of the peer's identity in each API, role and version, in full and resumed handshakes.

use std::sync::Arc;

use harness::peers::configs::{
    self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, product3,
};
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, exchange, handshake};
use rustls::certificates::{PeerIdentity, PeerIdentityKind};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::server::UnbufferedServerConnection;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, CommonState, Error, HandshakeKind, ServerConfig};

use crate::certificates::kit::{KINDS, Kind, Setup, this};

/// An end whose connection state tests can inspect.
trait Peer: Endpoint {
    fn state(&self) -> &CommonState;
}

macro_rules! peers {
    ($($end:ty),*) => {$(
        impl Peer for $end {
            fn state(&self) -> &CommonState {
                &self.conn
            }
        }
    )*};
}

peers!(
    ThisBuffered,
    ThisUnbuffered<UnbufferedClientConnection>,
    ThisUnbuffered<UnbufferedServerConnection>
);

#[derive(Clone, Copy, Debug)]
enum Api {
    Buffered,
    Unbuffered,
}

const APIS: [Api; 2] = [Api::Buffered, Api::Unbuffered];

fn client(api: Api, config: &Arc<ClientConfig>) -> Box<dyn Peer> {
    match api {
        Api::Buffered => Box::new(this::client(config.clone())),
        Api::Unbuffered => Box::new(ThisUnbuffered::client(config.clone())),
    }
}

fn server(api: Api, config: &Arc<ServerConfig>) -> Box<dyn Peer> {
    match api {
        Api::Buffered => Box::new(this::server(config.clone())),
        Api::Unbuffered => Box::new(ThisUnbuffered::server(config.clone())),
    }
}

fn both(setup: Setup) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let mut client = this::client_config(setup);
    client.resumption = Resumption::in_memory_sessions(8);
    (Arc::new(client), Arc::new(this::server_config(setup)))
}

/// Returns both versions with both providers, and raw public keys where the version supports them.
fn setups() -> impl Iterator<Item = Setup> {
    let all = product3(PROVIDERS, Versions::EACH, KINDS).map(|(provider, versions, kind)| {
        let setup = Setup::new(provider).over(versions);
        setup.with(kind, Some(kind))
    });
    // raw public keys (RFC 7250) are not supported in TLS 1.2
    all.filter(|setup| setup.server == Kind::X509 || setup.versions == Versions::Tls13)
}

/// Runs a handshake byte by byte. An identity exists exactly when certificates do.
fn handshake_in_steps(client: &mut dyn Peer, server: &mut dyn Peer) {
    fn check(end: &dyn Peer) {
        let state = end.state();
        let certificates = state.peer_identity().map(PeerIdentity::certificates);
        assert_eq!(certificates, state.peer_certificates());
    }
    loop {
        let (to_server, to_client) = (client.take_output(), server.take_output());
        if to_server.is_empty() && to_client.is_empty() {
            break;
        }
        for byte in to_server {
            server.receive(&[byte]).unwrap();
            check(server);
        }
        for byte in to_client {
            client.receive(&[byte]).unwrap();
            check(client);
        }
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
}

#[test]
fn every_connection_reports_the_peers_identity() {
    for setup in setups() {
        for api in APIS {
            let (client_config, server_config) = both(setup);
            for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
                let mut client = client(api, &client_config);
                let mut server = server(api, &server_config);
                assert!(client.state().peer_identity().is_none());
                assert!(server.state().peer_identity().is_none());
                handshake_in_steps(&mut *client, &mut *server);
                assert_eq!(client.state().handshake_kind(), Some(kind), "{setup:?}");

                let it = KeyType::EcdsaP256.identities();
                for (end, identity) in [(&client, &it.server), (&server, &it.client)] {
                    let found = end.state().peer_identity().unwrap();
                    let spki = found.public_key().unwrap();
                    match setup.server {
                        Kind::X509 => {
                            assert_eq!(found.kind(), PeerIdentityKind::X509);
                            assert_eq!(found.certificates(), identity.chain);
                            assert_eq!(found.der(), &*identity.chain[0]);
                            let certificate = found.certificate().unwrap();
                            assert_eq!(*certificate.der(), identity.chain[0]);
                            let key = certificate.public_key().unwrap();
                            assert_eq!(key.subject_public_key_info(), spki);
                            let fingerprint =
                                certificate.sha256_fingerprint(&setup.provider.this());
                            assert_eq!(fingerprint, found.sha256_fingerprint());
                        }
                        Kind::Raw => {
                            assert_eq!(found.kind(), PeerIdentityKind::RawPublicKey);
                            assert!(found.certificate().is_none());
                            assert_eq!(found.der(), &*spki);
                        }
                    }
                    let raw = this_key(identity, setup.provider);
                    assert_eq!(*spki, *raw);
                    found.sha256_fingerprint().unwrap();
                }
            }
        }
    }
}

/// Returns the `SubjectPublicKeyInfo` of the identity's signing key.
fn this_key(identity: &configs::Identity, provider: Provider) -> Vec<u8> {
    let key = harness::verifiers::raw_keys::this::raw_key(identity, provider);
    key.key.public_key().unwrap().to_vec()
}

/// An end presents a valid certificate without having its key.
#[test]
fn a_stolen_certificate_identifies_nobody() {
    for setup in setups().filter(|setup| setup.server == Kind::X509) {
        let identities = setup.key_type.identities();
        let stolen = |victim: &configs::Identity, thief: &configs::Identity| {
            let crypto = setup.provider.this();
            let key = crypto.key_provider.load_private_key(thief.key()).unwrap();
            let key = CertifiedKey::new(victim.chain.clone(), key);
            Arc::new(SingleCertAndKey::from(key))
        };

        let mut server_config = this::server_config(setup);
        server_config.cert_resolver = stolen(&identities.server, &identities.client);
        let mut client = this::client_of(setup);
        exchange(&mut client, &mut this::server(server_config)).unwrap_err();
        assert!(client.conn.peer_identity().is_none());

        let mut client_config = this::client_config(setup);
        client_config.client_auth_cert_resolver = stolen(&identities.client, &identities.server);
        let mut server = this::server_of(setup);
        exchange(&mut this::client(client_config), &mut server).unwrap_err();
        assert!(server.conn.peer_identity().is_none());
    }
}

/// An attacker repeats a recorded ClientHello. The session in it does not authenticate the sender,
/// neither during the handshake, when the server may already send data, nor after the handshake has
/// failed.
#[test]
fn a_replayed_client_hello_identifies_nobody() {
    for setup in setups() {
        for (at_server, tickets) in product(APIS, [false, true]) {
            let (client_config, mut server_config) = both(setup);
            let config = Arc::get_mut(&mut server_config).unwrap();
            config.send_half_rtt_data = true;
            if tickets {
                config.ticketer = setup.provider.this_ticketer();
            }
            let mut first = server(at_server, &server_config);
            handshake_in_steps(&mut *client(Api::Buffered, &client_config), &mut *first);

            let hello = client(Api::Buffered, &client_config).take_output();
            let mut server = server(at_server, &server_config);
            server.receive(&hello).unwrap();
            let state = server.state();
            assert_eq!(state.handshake_kind(), Some(HandshakeKind::Resumed));
            assert!(state.peer_identity().is_none(), "{setup:?}");
            // a change_cipher_spec and a record under unknown keys
            let forged = [&[0x14, 3, 3, 0, 1, 1][..], &[0x17, 3, 3, 0, 64], &[7; 64]];
            server.receive(&forged.concat()).unwrap_err();
            assert!(server.state().peer_identity().is_none(), "{setup:?}");
        }
    }
}

/// Accepted early data authenticates the client, because its session can be used for one connection
/// only.
#[test]
fn early_data_identifies_the_client_but_its_replay_does_not() {
    for setup in setups().filter(|setup| matches!(setup.versions, Versions::Tls13)) {
        let (mut client_config, mut server_config) = both(setup);
        Arc::get_mut(&mut client_config).unwrap().enable_early_data = true;
        let config = Arc::get_mut(&mut server_config).unwrap();
        config.max_early_data_size = 100;
        let mut first = server(Api::Buffered, &server_config);
        handshake_in_steps(&mut *client(Api::Buffered, &client_config), &mut *first);

        let mut client = this::client(client_config);
        assert_eq!(client.send_early(b"early"), 5);
        let flight = client.take_output();
        let mut original = this::server(server_config.clone());
        original.receive(&flight).unwrap();
        assert!(accepts_early_data(&mut original));
        assert!(original.conn.is_handshaking());
        let identity = original.conn.peer_identity().unwrap();
        let certificates = original.conn.peer_certificates();
        assert_eq!(Some(identity.certificates()), certificates);

        let mut repeated = this::server(server_config);
        repeated.receive(&flight).unwrap();
        assert!(!accepts_early_data(&mut repeated));
        assert!(repeated.conn.peer_identity().is_none(), "{setup:?}");
    }
}

fn accepts_early_data(server: &mut ThisBuffered) -> bool {
    server.as_server().early_data().is_some()
}

/// A TLS 1.2 client must not trust the server's messages before its Finished.
#[test]
fn a_replayed_session_id_identifies_nobody() {
    for setup in setups().filter(|setup| matches!(setup.versions, Versions::Tls12)) {
        let (client_config, server_config) = both(setup);
        let mut first = client(Api::Buffered, &client_config);
        handshake_in_steps(&mut *first, &mut *server(Api::Buffered, &server_config));

        let mut client = client(Api::Buffered, &client_config);
        let mut server = server(Api::Buffered, &server_config);
        server.receive(&client.take_output()).unwrap();
        let mut flight = server.take_output();
        let end = flight.len() - 1;
        flight[end] ^= 1;
        client.receive(&flight).unwrap_err();
        let state = client.state();
        assert_eq!(state.handshake_kind(), Some(HandshakeKind::Resumed));
        assert!(state.peer_identity().is_none(), "{setup:?}");
    }
}

#[test]
fn a_client_without_certificate_has_no_identity() {
    for provider in PROVIDERS {
        let (client_config, server_config) = both(Setup::new(provider));
        let (mut client, mut server) = (this::client(client_config), this::server(server_config));
        handshake(&mut client, &mut server);
        assert!(server.conn.peer_identity().is_none());
        assert!(client.conn.peer_identity().is_some());
    }
}

/// The connection's provider has no suite with SHA-256, but another provider can compute the
/// fingerprint.
#[test]
fn without_sha256_there_is_no_fingerprint() {
    for provider in PROVIDERS {
        let mut crypto = provider.this();
        let suites = &mut crypto.cipher_suites;
        suites.retain(|suite| format!("{:?}", suite.suite()).ends_with("SHA384"));
        let (key_type, auth) = (KeyType::EcdsaP256, ClientAuth::None);
        let client_config = configs::this::client(crypto, key_type, auth);
        let server_config = configs::this::server(provider.this(), key_type, auth);
        let mut client = this::client(client_config);
        handshake(&mut client, &mut this::server(server_config));

        let identity = client.conn.peer_identity().unwrap();
        let fingerprint = identity.sha256_fingerprint();
        assert!(matches!(fingerprint, Err(Error::General(_))));
        let certificate = identity.certificate().unwrap();
        let fingerprint = certificate.sha256_fingerprint(&provider.this());
        assert!(fingerprint.is_ok());
        // now the fingerprint is cached
        assert_eq!(identity.sha256_fingerprint(), fingerprint);
    }
}
