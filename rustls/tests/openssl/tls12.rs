//! Tests of features that only TLS 1.2 has, with OpenSSL: sessions by ID and by ticket, and
//! finite-field groups.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, this};
use harness::providers::ffdhe::{self, Key};
use rustls::ffdhe_groups::{FFDHE2048, FFDHE3072};
use rustls::{CommonState, HandshakeKind, NamedGroup, ServerConnection, Stream};

use crate::openssl::{
    Case, GROUPS, TLS12_SUITES, client_certificate, connect, files, request_close, s_client,
    s_server, send_a_line, tls12_cases,
};

/// Returns one TLS 1.2 case for each provider with and without tickets; the second value is true
/// with tickets.
fn resuming_cases() -> impl Iterator<Item = (Case, bool)> {
    let cases = tls12_cases().into_iter().filter(|case| {
        case.suite == TLS12_SUITES[0]
            && case.group == GROUPS[0]
            && matches!(case.auth, ClientAuth::None | ClientAuth::Required)
            && case.key_type == KeyType::EcdsaP256
    });
    cases.flat_map(|case| [false, true].map(|tickets| (case, tickets)))
}

/// Asserts that only the first connection has a full handshake.
fn assert_kind(conn: &CommonState, round: usize, case: &Case) {
    let kind = match round {
        0 => HandshakeKind::Full,
        _ => HandshakeKind::Resumed,
    };
    assert_eq!(conn.handshake_kind(), Some(kind), "{round} {case:?}");
}

/// Returns the option without which sessions use tickets.
fn no_ticket(tickets: bool) -> Option<String> {
    (!tickets).then(|| "-no_ticket".into())
}

#[test]
fn openssl_clients_resume_tls12_sessions_with_our_server() {
    for (case, tickets) in resuming_cases() {
        let files = files("resuming-client", case.key_type);
        let mut more = case.their_options("X25519:P-256".into());
        more.extend(no_ticket(tickets));
        more.extend(client_certificate(&case, &files));
        // connects once, then five times with the same session
        let args = ["-reconnect", "-verify_return_error"];
        let (_client, listener) = s_client(&args, more, &files, Stdio::null());

        let mut config = case.our_server();
        if tickets {
            config.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
        }
        let config = Arc::new(config);
        for round in 0..6 {
            let mut conn = ServerConnection::new(config.clone()).unwrap();
            let (mut sock, _) = listener.accept().unwrap();
            while conn.is_handshaking() {
                conn.complete_io(&mut sock).unwrap();
            }
            assert_kind(&conn, round, &case);
            assert_eq!(conn.peer_certificates().is_some(), case.auth.is_presented());
        }
    }
}

#[test]
fn our_clients_resume_tls12_sessions_with_openssl_servers() {
    for (case, tickets) in resuming_cases() {
        let files = files("resuming-server", case.key_type);
        let more = no_ticket(tickets).into_iter().collect();
        let (_server, port, _output) = s_server(&case, &files, more);
        let config = Arc::new(case.our_client());
        for round in 0..3 {
            let (mut conn, mut sock) = connect(config.clone(), port);
            send_a_line(&mut conn, &mut sock);
            assert_kind(&conn, round, &case);
            assert!(conn.peer_certificates().is_some());
            request_close(&mut conn, &mut sock);
        }
    }
}

/// Returns our provider with this group only.
fn finite(provider: Provider, name: NamedGroup) -> rustls::crypto::CryptoProvider {
    let params = match name {
        NamedGroup::FFDHE2048 => FFDHE2048,
        _ => FFDHE3072,
    };
    let group = ffdhe::this::Group::leak(name, params, Key::Random);
    let provider = ffdhe::this::provider(provider.this(), vec![group]);
    (*provider).clone()
}

const FINITE: [(NamedGroup, &str); 2] = [
    (NamedGroup::FFDHE2048, "ffdhe2048"),
    (NamedGroup::FFDHE3072, "ffdhe3072"),
];

const DHE_OPTIONS: [&str; 3] = ["-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256"];

#[test]
fn their_client_uses_the_group_of_our_server() {
    for (provider, (name, _)) in product(PROVIDERS, FINITE) {
        let files = files("finite-client", KeyType::Rsa2048);
        let args = ["-quiet", "-no_ign_eof", "-verify_return_error"];
        let more = DHE_OPTIONS.map(String::from).to_vec();
        let (mut client, listener) = s_client(&args, more, &files, Stdio::null());

        let crypto = finite(provider, name);
        let auth = ClientAuth::None;
        let config = this::server_of(Versions::Tls12, crypto, KeyType::Rsa2048, auth);
        let mut conn = ServerConnection::new(Arc::new(config)).unwrap();
        let (mut sock, _) = listener.accept().unwrap();
        let mut tls = Stream::new(&mut conn, &mut sock);
        tls.write_all(b"hello\n").unwrap();
        tls.flush().unwrap();
        let mut received = [0; 6];
        let mut stdout = client.child.stdout.take().unwrap();
        stdout.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"hello\n");
        let group = conn.negotiated_key_exchange_group().unwrap();
        assert_eq!(group.name(), name);
    }
}

#[test]
fn our_client_uses_the_group_of_their_server() {
    for (provider, (name, theirs)) in product(PROVIDERS, FINITE) {
        let files = files("finite-server", KeyType::Rsa2048);
        let params = Command::new("openssl")
            .args(["genpkey", "-genparam", "-algorithm", "DH"])
            .args(["-pkeyopt", &format!("group:{theirs}")])
            .output()
            .unwrap();
        // OpenSSL 1.1.1 does not know their names
        if !params.status.success() {
            println!("skipped: this openssl does not support {theirs}");
            return;
        }
        let path = files.path(&format!("{theirs}.pem"));
        fs::write(&path, params.stdout).unwrap();
        let case = Case {
            version: Versions::Tls12,
            provider,
            key_type: KeyType::Rsa2048,
            auth: ClientAuth::None,
            suite: DHE_OPTIONS[2],
            group: GROUPS[0],
        };
        let (_server, port, _output) = s_server(&case, &files, vec!["-dhparam".into(), path]);

        let crypto = finite(provider, name);
        let config = this::client_of(case.version, crypto, case.key_type, case.auth);
        let (mut conn, mut sock) = connect(Arc::new(config), port);
        send_a_line(&mut conn, &mut sock);
        let group = conn.negotiated_key_exchange_group().unwrap();
        assert_eq!(group.name(), name);
    }
}
