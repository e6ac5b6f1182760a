//! `Debug` output of connections, configurations and their parts. It names the type, and reveals no
//! secret, no private key and no application data. The tests search it for every secret that the
//! key schedule derives.

use std::fmt::Debug;
use std::io::{BufRead, Write};
use std::sync::Arc;

use harness::peers::callbacks::this::ServerKey;
use harness::peers::configs::{
    self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, product3, server_name,
};
use harness::peers::endpoints::Transfer;
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Resumption, UnbufferedClientConnection,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::{Acceptor, ServerSessionMemoryCache, UnbufferedServerConnection};
use rustls::sign::CertifiedKey;
use rustls::unbuffered::{ConnectionState, InsufficientSizeError};
use rustls::{
    ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection, SignatureScheme,
    Stream, StreamOwned,
};

use crate::diagnostics::recording::{self, assert_no_secret, forget, keep};

const EARLY: &[u8] = b"early data of the application";
const DATA: &[u8] = b"confidential data of the application";
const FLEET: &[u8; 32] = b"the secret of a fleet's tickets.";

/// Searches both forms of `Debug` for secrets.
#[track_caller]
fn check(value: &dyn Debug) {
    assert_no_secret(&format!("{value:?}"));
    assert_no_secret(&format!("{value:#?}"));
}

/// Also checks that the output begins with `name`.
#[track_caller]
fn check_as(name: &str, value: &dyn Debug) {
    let text = format!("{value:?}");
    assert!(text.starts_with(name), "{name}: {text}");
    check(value);
}

/// Two configurations that store sessions, and their stores.
struct Ends {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    client_sessions: Arc<ClientSessionMemoryCache>,
    server_sessions: Arc<ServerSessionMemoryCache>,
    /// True if a resuming client may send early data.
    sends_early: bool,
}

impl Ends {
    fn new(provider: Provider, versions: Versions, tickets: bool) -> Self {
        let key_type = KeyType::EcdsaP256;
        for identity in [&key_type.identities().server, &key_type.identities().client] {
            keep(&private_scalar(&identity.key()));
        }
        keep(FLEET);
        keep(EARLY);
        keep(DATA);
        let recorded = || recording::this::provider(provider);
        let auth = ClientAuth::Required;
        let mut client = configs::this::client_of(versions, recorded(), key_type, auth);
        let client_sessions = Arc::new(ClientSessionMemoryCache::new(16));
        client.resumption = Resumption::store(client_sessions.clone());
        client.enable_early_data = true;
        client.enable_secret_extraction = true;
        let mut server = configs::this::server_of(versions, recorded(), key_type, auth);
        let server_sessions = ServerSessionMemoryCache::new(16);
        server.session_storage = server_sessions.clone();
        server.max_early_data_size = 1000;
        server.enable_secret_extraction = true;
        if tickets {
            server.ticketer = match provider {
                Provider::AwsLc => rustls::crypto::aws_lc_rs::Ticketer::for_fleet(FLEET, 3600),
                Provider::Ring => rustls::crypto::ring::Ticketer::for_fleet(FLEET, 3600),
            }
            .unwrap();
        }
        let identity = &key_type.identities().server;
        let key = recorded().key_provider.load_private_key(identity.key());
        let certified = CertifiedKey::new(identity.chain.clone(), key.unwrap());
        check(&certified);
        let certified = Arc::new(certified);
        server.cert_resolver = ServerKey::by(move |hello| {
            check(&hello);
            Some(certified.clone())
        });
        Self {
            client: Arc::new(client),
            server: Arc::new(server),
            client_sessions,
            server_sessions,
            sends_early: versions == Versions::Tls13 && !tickets,
        }
    }

    fn check(&self) {
        check(&self.client);
        check(&self.server);
        check(&self.client_sessions);
        let (sessions, name) = (&self.client_sessions, server_name());
        check(&sessions.tls12_session(&name));
        if let Some(ticket) = sessions.take_tls13_ticket(&name) {
            check(&ticket);
            sessions.insert_tls13_ticket(name, ticket);
        }
        check(&self.server_sessions);
        check(&self.server.ticketer);
        check(&self.client.client_auth_cert_resolver);
    }

    fn connect(&self) -> [Connection; 2] {
        let client = ClientConnection::new(self.client.clone(), server_name()).unwrap();
        let server = ServerConnection::new(self.server.clone()).unwrap();
        [client.into(), server.into()]
    }

    /// Returns both ends after the handshake.
    fn connected(&self) -> [Connection; 2] {
        let mut pair = self.connect();
        exchange_all(&mut pair);
        pair
    }
}

/// Extracts the private scalar of a P-256 key in PKCS#8.
fn private_scalar(key: &PrivateKeyDer<'_>) -> Vec<u8> {
    const BEFORE: &[u8] = b"\x02\x01\x01\x04\x20";
    let der = key.secret_der();
    let at = der.windows(BEFORE.len()).position(|it| it == BEFORE);
    der[at.unwrap() + BEFORE.len()..][..32].to_vec()
}

/// Processes `bytes` in small pieces and checks the connection after each.
fn input(conn: &mut Connection, bytes: &[u8]) {
    for piece in bytes.chunks(700) {
        conn.input(piece);
        check(conn);
    }
}

fn exchange_all([client, server]: &mut [Connection; 2]) {
    loop {
        let to_server = client.output();
        input(server, &to_server);
        let to_client = server.output();
        input(client, &to_client);
        if to_server.is_empty() && to_client.is_empty() {
            break;
        }
    }
}

fn apart(pair: [Connection; 2]) -> (ClientConnection, ServerConnection) {
    match pair {
        [Connection::Client(client), Connection::Server(server)] => (client, server),
        _ => panic!("not in this order"),
    }
}

fn for_all(test: impl Fn(&Ends)) {
    for (provider, versions, tickets) in product3(PROVIDERS, Versions::EACH, [false, true]) {
        test(&Ends::new(provider, versions, tickets));
        assert!(forget() > 5);
    }
}

#[test]
fn connections_and_their_sessions_show_no_secrets() {
    for_all(|ends| {
        ends.check();
        for is_resumed in [false, true] {
            let mut pair = ends.connect();
            if let Connection::Client(conn) = &mut pair[0] {
                let early = conn.early_data();
                let has_early = is_resumed && ends.sends_early;
                assert_eq!(early.is_some(), has_early);
                if let Some(mut early) = early {
                    check_as("WriteEarlyData { bytes_left: 1000", &early);
                    early.write_all(EARLY).unwrap();
                    check(&early);
                    check(&**conn);
                }
            }
            exchange_all(&mut pair);
            for conn in &mut pair {
                // written data waits for write_tls
                conn.writer().flush().unwrap();
                assert!(!conn.wants_write());
                conn.writer().write_all(DATA).unwrap();
                check_as("Writer", &conn.writer());
                check(conn);
            }
            exchange_all(&mut pair);
            for conn in &mut pair {
                check_as("Reader", &conn.reader());
                assert_eq!(conn.reader().fill_buf().unwrap(), DATA);
                check(&conn.process_new_packets());
            }
            ends.check();
            let (mut client, server) = apart(pair);
            check(&Stream::new(&mut client, &mut std::io::empty()));
            check_as("ClientConnection", &client);
            check(&*client);
            check_as("CommonState", &**client);
            check_as("ServerConnection", &server);
            check(&*server);
            check(&StreamOwned::new(server, std::io::empty()));
        }
    });
}

#[test]
fn failed_connections_show_no_secrets() {
    for_all(|ends| {
        let mut pair = ends.connected();
        for conn in &mut pair {
            conn.writer().write_all(DATA).unwrap();
            let bad = [&[23, 3, 3, 0, 40][..], &[7; 40]].concat();
            conn.read_tls(&mut &bad[..]).unwrap();
            check(&conn.process_new_packets().unwrap_err());
            check(conn);
        }
    });
}

#[test]
fn unbuffered_connections_and_acceptors_show_no_secrets() {
    for_all(|ends| {
        ends.connected();
        let has_early = ends.sends_early;
        let client = UnbufferedClientConnection::new(ends.client.clone(), server_name());
        let mut client = client.unwrap();
        check_as("UnbufferedClientConnection", &client);
        let mut states = vec!["EncodeTlsData", "TransmitTlsData", "BlockedHandshake"];
        if has_early {
            // a change_cipher_spec precedes early data
            states.insert(1, "EncodeTlsData");
        }
        for name in states {
            let status = client.process_tls_records(&mut []);
            check(&status);
            let state = status.state.unwrap();
            check_as(name, &state);
            match state {
                ConnectionState::EncodeTlsData(mut state) => {
                    state.encode(&mut [0; 4096]).unwrap();
                }
                ConnectionState::TransmitTlsData(mut state) => {
                    let early = state.may_encrypt_early_data();
                    assert_eq!(early.is_some(), has_early);
                    if let Some(early) = early {
                        check_as("MayEncryptEarlyData { bytes_left: 1000", &early);
                    }
                    state.done();
                }
                _ => {}
            }
        }
        check(&client);
        let mut server = UnbufferedServerConnection::new(ends.server.clone()).unwrap();
        check_as("UnbufferedServerConnection", &server);
        check(&*server);
        let mut hello = ends.connect()[0].output();
        for _ in 0..2 {
            check(&server.process_tls_records(&mut hello));
        }
        check_as("UnbufferedServerConnection", &server);
        check(&*server);

        let hello = ends.connect()[0].output();
        let mut acceptor = Acceptor::default();
        acceptor.read_tls(&mut &hello[..]).unwrap();
        let accepted = acceptor.accept().unwrap_or_else(|_| panic!("refused"));
        check_as("Accepted", &accepted.unwrap());
        let mut acceptor = Acceptor::default();
        acceptor.read_tls(&mut &b"GET / HTTP/1.1\r\n"[..]).unwrap();
        check_as("AcceptedAlert", &acceptor.accept().unwrap_err().1);
    });
}

#[test]
fn quic_connections_show_no_secrets() {
    use rustls::quic::{ClientConnection, Connection, ServerConnection, Version};

    for provider in PROVIDERS {
        let mut ends = Ends::new(provider, Versions::Tls13, false);
        let mut server = (*ends.server).clone();
        server.max_early_data_size = u32::MAX;
        ends.server = Arc::new(server);
        // the second one is resumed, with early data keys
        for _ in 0..2 {
            let (client, server) = (ends.client.clone(), ends.server.clone());
            let client = ClientConnection::new(client, Version::V1, server_name(), vec![1, 2]);
            let server = ServerConnection::new(server, Version::V1, vec![3, 4]);
            let mut pair: [Connection; 2] = [client.unwrap().into(), server.unwrap().into()];
            let mut turns = 0;
            while turns < 2 || pair.iter().any(|conn| conn.is_handshaking()) {
                for from in 0..2 {
                    // one level at a time; the keys between levels have no `Debug`
                    let mut goes_on = true;
                    while goes_on {
                        let mut crypto = Vec::new();
                        goes_on = pair[from].write_hs(&mut crypto).is_some();
                        pair[1 - from].read_hs(&crypto).unwrap();
                    }
                    pair.iter().for_each(|conn| check(conn));
                }
                turns += 1;
            }
            ends.check();
        }
        assert!(forget() > 10);
    }
}

#[test]
fn split_connections_show_no_secrets() {
    for_all(|ends| {
        let mut pair = ends.connected();
        for conn in &mut pair {
            conn.writer().write_all(DATA).unwrap();
        }
        let (client, server) = apart(pair);
        let (mut sender, mut receiver) = client.into_split().unwrap();
        sender.writer().write_all(DATA).unwrap();
        check_as("Sender { facts: Facts { side: Client", &sender);
        check(&sender.writer());
        check(&receiver);
        check(&receiver.process_new_packets());
        check(&receiver.reader());
        let (sender, receiver) = server.into_split().unwrap();
        check(&sender);
        check(&receiver);
    });
}

/// Checks keys of every kind, and signers created from them.
#[test]
fn keys_show_no_secrets() {
    let all = product(PROVIDERS, configs::KEY_TYPES);
    for (provider, key_type) in all.filter(|(provider, key)| key.usable_with(*provider)) {
        let identity = &key_type.identities().server;
        let loader = provider.this().key_provider;
        let key = loader.load_private_key(identity.key()).unwrap();
        // a key contains its public half, which may be printed
        let public = key.public_key().unwrap().to_vec();
        let der = identity.key();
        for piece in der.secret_der().chunks_exact(16) {
            let is_public = |it: &[u8]| it == &piece[..8] || it == &piece[8..];
            if !public.windows(8).any(is_public) {
                keep(piece);
            }
        }
        check(&key);
        for scheme in [
            SignatureScheme::ECDSA_NISTP256_SHA256,
            SignatureScheme::ED25519,
            SignatureScheme::RSA_PSS_SHA256,
        ] {
            if let Some(signer) = key.choose_scheme(&[scheme]) {
                check(&signer);
            }
        }
        check(&CertifiedKey::new(identity.chain.clone(), key));
        assert!(forget() > 1);
    }
}

/// Programs print a provider to show which library it uses.
#[test]
fn providers_name_their_library() {
    fn library(provider: &str) -> &str {
        let (_, generator) = provider.split_once("secure_random: ").unwrap();
        generator.split([',', ' ']).next().unwrap()
    }
    for provider in PROVIDERS {
        let [ours, theirs] = [
            format!("{:?}", provider.this()),
            format!("{:?}", provider.upstream()),
        ];
        assert_eq!(library(&ours), library(&theirs));
    }
}

#[test]
fn errors_for_short_buffers_name_the_required_length() {
    let error = InsufficientSizeError { required_size: 321 };
    assert_eq!(
        error.to_string(),
        "output buffer too short: 321 bytes are needed"
    );
}
