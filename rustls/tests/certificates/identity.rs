//! Who the peer is: on connections of either kind, side and version, full and resumed.

use std::io::Write;
use std::sync::{Arc, Barrier};
use std::{ptr, thread};

use harness::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, server_name};
use harness::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, exchange, handshake};
use rustls::certificates::{PeerIdentity, PeerIdentityKind};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::server::UnbufferedServerConnection;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, CommonState, Connection, Error, HandshakeKind, ServerConfig};

use crate::kit::{KINDS, Kind, Setup, this};

/// An end that shows what the application sees of its connection.
trait Peer: Endpoint {
    fn state(&self) -> &CommonState;
}

impl Peer for ThisBuffered {
    fn state(&self) -> &CommonState {
        &self.conn
    }
}

impl Peer for ThisUnbuffered<UnbufferedClientConnection> {
    fn state(&self) -> &CommonState {
        &self.conn
    }
}

impl Peer for ThisUnbuffered<UnbufferedServerConnection> {
    fn state(&self) -> &CommonState {
        &self.conn
    }
}

#[derive(Clone, Copy, Debug)]
enum Api {
    Buffered,
    Unbuffered,
}

fn client(api: Api, config: &Arc<ClientConfig>) -> Box<dyn Peer> {
    match api {
        Api::Buffered => Box::new(this::client(config.clone())),
        Api::Unbuffered => Box::new(ThisUnbuffered::new(
            UnbufferedClientConnection::new(config.clone(), server_name()).unwrap(),
        )),
    }
}

fn server(api: Api, config: &Arc<ServerConfig>) -> Box<dyn Peer> {
    match api {
        Api::Buffered => Box::new(this::server(config.clone())),
        Api::Unbuffered => Box::new(ThisUnbuffered::new(
            UnbufferedServerConnection::new(config.clone()).unwrap(),
        )),
    }
}

fn both(setup: Setup) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let mut client = this::client_config(setup);
    client.resumption = Resumption::in_memory_sessions(8);
    (Arc::new(client), Arc::new(this::server_config(setup)))
}

/// Both versions, with both providers; raw public keys where they can be.
fn setups() -> impl Iterator<Item = Setup> {
    let versions = [Versions::Tls12, Versions::Tls13];
    let each = PROVIDERS
        .into_iter()
        .flat_map(move |provider| versions.map(|versions| (provider, versions)));
    each.flat_map(|(provider, versions)| {
        let kinds = KINDS.into_iter().filter(move |kind| {
            // RFC 7250 for TLS 1.2 is not implemented, as in 0.23
            *kind == Kind::X509 || matches!(versions, Versions::Tls13)
        });
        kinds.map(move |kind| Setup {
            versions,
            server: kind,
            client: Some(kind),
            ..Setup::new(provider)
        })
    })
}

/// A handshake, byte by byte: there is an identity whenever there are certificates, and no sooner.
fn handshake_in_steps(client: &mut dyn Peer, server: &mut dyn Peer) {
    fn check(end: &dyn Peer) {
        let state = end.state();
        let identity = state.peer_identity();
        assert_eq!(
            identity.map(PeerIdentity::certificates),
            state.peer_certificates()
        );
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
fn on_every_connection() {
    for setup in setups() {
        for (at_client, at_server) in [
            (Api::Buffered, Api::Buffered),
            (Api::Unbuffered, Api::Unbuffered),
        ] {
            let (client_config, server_config) = both(setup);
            for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
                let mut client = client(at_client, &client_config);
                let mut server = server(at_server, &server_config);
                assert!(client.state().peer_identity().is_none());
                assert!(server.state().peer_identity().is_none());
                handshake_in_steps(&mut *client, &mut *server);
                assert_eq!(client.state().handshake_kind(), Some(kind), "{setup:?}");

                let identities = KeyType::EcdsaP256.identities();
                for (end, identity) in
                    [(&client, &identities.server), (&server, &identities.client)]
                {
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
                            assert_eq!(
                                certificate.sha256_fingerprint(&setup.provider.this()),
                                found.sha256_fingerprint()
                            );
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

/// The `SubjectPublicKeyInfo` as the signing key tells it.
fn this_key(identity: &configs::Identity, provider: Provider) -> Vec<u8> {
    let key = harness::raw_keys::this::raw_key(identity, provider);
    key.key.public_key().unwrap().to_vec()
}

/// A side that shows the other's kind of certificate, good as it is, and has not its key.
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
        let mut client = this::client(this::client_config(setup));
        exchange(&mut client, &mut this::server(server_config)).unwrap_err();
        assert!(client.conn.peer_identity().is_none());

        let mut client_config = this::client_config(setup);
        client_config.client_auth_cert_resolver = stolen(&identities.client, &identities.server);
        let mut server = this::server(this::server_config(setup));
        exchange(&mut this::client(client_config), &mut server).unwrap_err();
        assert!(server.conn.peer_identity().is_none());
    }
}

/// Somebody who saw a client's first message on the wire sends it, too. Whose session that is, does
/// not say who sent it: neither while the handshake goes on, when a server may send data already,
/// nor when it has failed.
#[test]
fn who_repeats_a_client_hello_is_nobody() {
    for setup in setups() {
        for at_server in [Api::Buffered, Api::Unbuffered] {
            for tickets in [false, true] {
                let (client_config, mut server_config) = both(setup);
                let config = Arc::get_mut(&mut server_config).unwrap();
                config.send_half_rtt_data = true;
                if tickets {
                    config.ticketer = match setup.provider {
                        Provider::AwsLc => rustls::crypto::aws_lc_rs::Ticketer::new().unwrap(),
                        Provider::Ring => rustls::crypto::ring::Ticketer::new().unwrap(),
                    };
                }
                let mut first = server(at_server, &server_config);
                handshake_in_steps(&mut *client(Api::Buffered, &client_config), &mut *first);

                let hello = client(Api::Buffered, &client_config).take_output();
                let mut server = server(at_server, &server_config);
                server.receive(&hello).unwrap();
                let state = server.state();
                assert_eq!(state.handshake_kind(), Some(HandshakeKind::Resumed));
                assert!(state.peer_identity().is_none(), "{setup:?}");
                // change_cipher_spec, and a record that nobody has a key for
                let forged = [&[0x14, 3, 3, 0, 1, 1][..], &[0x17, 3, 3, 0, 64], &[7; 64]];
                server.receive(&forged.concat()).unwrap_err();
                assert!(server.state().peer_identity().is_none(), "{setup:?}");
            }
        }
    }
}

/// Early data is from the client that it seems to be from: its session is good for one connection.
#[test]
fn who_sends_early_data_is_known_and_who_repeats_it_is_nobody() {
    for setup in setups().filter(|setup| matches!(setup.versions, Versions::Tls13)) {
        let (mut client_config, mut server_config) = both(setup);
        Arc::get_mut(&mut client_config).unwrap().enable_early_data = true;
        let config = Arc::get_mut(&mut server_config).unwrap();
        config.max_early_data_size = 100;
        let mut first = server(Api::Buffered, &server_config);
        handshake_in_steps(&mut *client(Api::Buffered, &client_config), &mut *first);

        let mut client = this::client(client_config);
        let Connection::Client(conn) = &mut client.conn else {
            unreachable!()
        };
        conn.early_data().unwrap().write_all(b"early").unwrap();
        let flight = client.take_output();
        let mut original = this::server(server_config.clone());
        original.receive(&flight).unwrap();
        assert!(accepts_early_data(&mut original));
        assert!(original.conn.is_handshaking());
        let identity = original.conn.peer_identity().unwrap();
        assert_eq!(
            Some(identity.certificates()),
            original.conn.peer_certificates()
        );

        let mut repeated = this::server(server_config);
        repeated.receive(&flight).unwrap();
        assert!(!accepts_early_data(&mut repeated));
        assert!(repeated.conn.peer_identity().is_none(), "{setup:?}");
    }
}

fn accepts_early_data(server: &mut ThisBuffered) -> bool {
    match &mut server.conn {
        Connection::Server(conn) => conn.early_data().is_some(),
        Connection::Client(_) => unreachable!(),
    }
}

/// At a client of TLS 1.2: what a server says before its Finished, anybody can say.
#[test]
fn who_repeats_a_session_id_is_nobody() {
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
fn a_client_without_certificate_is_nobody() {
    for provider in PROVIDERS {
        let (client_config, server_config) = both(Setup::new(provider));
        let (mut client, mut server) = (this::client(client_config), this::server(server_config));
        handshake(&mut client, &mut server);
        assert!(server.conn.peer_identity().is_none());
        assert!(client.conn.peer_identity().is_some());
    }
}

/// What is read on one connection is there on the next, and for whoever keeps it beyond them.
#[test]
fn what_was_read_is_shared() {
    for setup in setups().filter(|setup| setup.server == Kind::X509) {
        let (client_config, server_config) = both(setup);
        let mut kept: Vec<PeerIdentity> = Vec::new();
        for kind in [
            HandshakeKind::Full,
            HandshakeKind::Resumed,
            HandshakeKind::Resumed,
        ] {
            let mut client = this::client(client_config.clone());
            let mut server = this::server(server_config.clone());
            handshake(&mut client, &mut server);
            assert_eq!(server.conn.handshake_kind(), Some(kind));
            kept.push(server.conn.peer_identity().unwrap().clone());
        }
        // the connections are gone
        let names = kept.iter().map(|identity| {
            let certificate = identity.certificate().unwrap();
            ptr::from_ref(certificate.subject().unwrap())
        });
        let names: Vec<_> = names.collect();
        assert_eq!(names, [names[0]; 3], "{setup:?}");
        let fingerprints = kept
            .iter()
            .map(|identity| ptr::from_ref(identity.sha256_fingerprint().unwrap()));
        let fingerprints: Vec<_> = fingerprints.collect();
        assert_eq!(fingerprints, [fingerprints[0]; 3], "{setup:?}");
        assert_eq!(kept[0], kept[2]);
    }
}

#[test]
fn threads_that_ask_at_once_get_the_same() {
    const THREADS: usize = 16;
    for kind in KINDS {
        let setup = Setup {
            server: kind,
            client: Some(kind),
            ..Setup::new(Provider::Ring)
        };
        let (client_config, server_config) = both(setup);
        let (mut client, mut server) = (this::client(client_config), this::server(server_config));
        handshake(&mut client, &mut server);
        let identity = server.conn.peer_identity().unwrap();
        let barrier = &Barrier::new(THREADS);
        let ask = || {
            let identity = identity.clone();
            barrier.wait();
            let fingerprint = ptr::from_ref(identity.sha256_fingerprint().unwrap()) as usize;
            let certificate = identity.certificate();
            let subject = certificate
                .map(|certificate| ptr::from_ref(certificate.subject().unwrap()) as usize);
            (fingerprint, subject)
        };
        let found: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(found.iter().all(|addresses| *addresses == found[0]));
    }
}

/// The connection's provider has no cipher suite with SHA-256; another provider can be asked.
#[test]
fn without_sha256_there_is_no_fingerprint() {
    for provider in PROVIDERS {
        let mut crypto = provider.this();
        crypto
            .cipher_suites
            .retain(|suite| format!("{:?}", suite.suite()).ends_with("SHA384"));
        let (key_type, auth) = (KeyType::EcdsaP256, ClientAuth::None);
        let client_config = configs::this::client(crypto, key_type, auth);
        let server_config = configs::this::server(provider.this(), key_type, auth);
        let mut client = this::client(client_config);
        handshake(&mut client, &mut this::server(server_config));

        let identity = client.conn.peer_identity().unwrap();
        assert!(matches!(
            identity.sha256_fingerprint(),
            Err(Error::General(_))
        ));
        let certificate = identity.certificate().unwrap();
        let fingerprint = certificate.sha256_fingerprint(&provider.this());
        assert!(fingerprint.is_ok());
        // and now it is kept
        assert_eq!(identity.sha256_fingerprint(), fingerprint);
    }
}
