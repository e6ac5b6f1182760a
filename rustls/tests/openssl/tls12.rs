//! Features of TLS 1.2 only, with OpenSSL: sessions by ID and by ticket, and finite-field groups.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;

use harness::peers::configs::{
    ClientAuth, KeyType, PROVIDERS, Provider, SERVER_NAME, Versions, server_name, this,
};
use harness::providers::ffdhe::{self, Key};
use rustls::ffdhe_groups::{FFDHE2048, FFDHE3072};
use rustls::{ClientConnection, NamedGroup, ServerConnection, Stream};

use crate::{Case, Files, GROUPS, OpenSsl, TLS12_SUITES, s_server_with, tls12_cases};

/// One TLS 1.2 case for each provider, and whether its sessions use tickets.
fn resuming_cases() -> impl Iterator<Item = (Case, bool)> {
    let cases = tls12_cases().into_iter().filter(|case| {
        case.suite == TLS12_SUITES[0].0
            && case.group == GROUPS[0]
            && matches!(case.auth, ClientAuth::None | ClientAuth::Required)
            && case.key_type == KeyType::EcdsaP256
    });
    cases.flat_map(|case| [false, true].map(|tickets| (case, tickets)))
}

#[test]
fn their_client_resumes_tls12_with_our_server() {
    for (case, tickets) in resuming_cases() {
        let files = Files::new("resuming-client", case.key_type);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut more = vec!["-CAfile".into(), files.path("ca.pem")];
        more.extend(["-connect".into(), format!("127.0.0.1:{port}")]);
        more.extend(["-servername".into(), SERVER_NAME.into()]);
        more.extend(case.their_options("X25519:P-256".into()));
        if !tickets {
            more.push("-no_ticket".into());
        }
        if case.auth.is_presented() {
            more.extend(["-cert".into(), files.path("client.pem")]);
            more.extend(["-key".into(), files.path("client.key")]);
        }
        // connects once, then five times with the same session
        let args = ["s_client", "-reconnect", "-verify_return_error"];
        let _client = OpenSsl::start(&args, &more);

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
            let kind = match round {
                0 => rustls::HandshakeKind::Full,
                _ => rustls::HandshakeKind::Resumed,
            };
            assert_eq!(conn.handshake_kind(), Some(kind), "{round} {case:?}");
            assert_eq!(conn.peer_certificates().is_some(), case.auth.is_presented());
        }
    }
}

#[test]
fn our_client_resumes_tls12_with_their_server() {
    for (case, tickets) in resuming_cases() {
        let files = Files::new("resuming-server", case.key_type);
        let mut more = vec![];
        if !tickets {
            more.push("-no_ticket".into());
        }
        let (_server, port, _output) = s_server_with(&case, &files, more);
        let config = Arc::new(case.our_client());
        for round in 0..3 {
            let mut conn = ClientConnection::new(config.clone(), server_name()).unwrap();
            let mut sock = TcpStream::connect(("127.0.0.1", port)).unwrap();
            sock.set_nodelay(true).unwrap();
            let mut tls = Stream::new(&mut conn, &mut sock);
            tls.write_all(b"olleh\n").unwrap();
            let mut back = [0; 6];
            tls.read_exact(&mut back).unwrap();
            assert_eq!(&back, b"hello\n");
            let kind = match round {
                0 => rustls::HandshakeKind::Full,
                _ => rustls::HandshakeKind::Resumed,
            };
            assert_eq!(conn.handshake_kind(), Some(kind), "{round} {case:?}");
            assert!(conn.peer_certificates().is_some());
            let mut tls = Stream::new(&mut conn, &mut sock);
            tls.write_all(b"CLOSE\n").unwrap();
            let mut rest = Vec::new();
            tls.read_to_end(&mut rest).unwrap();
        }
    }
}

/// Our provider with this group only.
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
fn their_client_exchanges_keys_in_our_servers_group() {
    for provider in PROVIDERS {
        for (name, _) in FINITE {
            let files = Files::new("finite-client", KeyType::Rsa2048);
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let mut more = vec!["-CAfile".into(), files.path("ca.pem")];
            more.extend(["-connect".into(), format!("127.0.0.1:{port}")]);
            more.extend(["-servername".into(), SERVER_NAME.into()]);
            more.extend(DHE_OPTIONS.map(String::from));
            let args = ["s_client", "-quiet", "-no_ign_eof", "-verify_return_error"];
            let mut client = OpenSsl::start(&args, &more);

            let crypto = finite(provider, name);
            let auth = ClientAuth::None;
            let config = this::server_of(Versions::Tls12, crypto, KeyType::Rsa2048, auth);
            let mut conn = ServerConnection::new(Arc::new(config)).unwrap();
            let (mut sock, _) = listener.accept().unwrap();
            let mut tls = Stream::new(&mut conn, &mut sock);
            tls.write_all(b"hello\n").unwrap();
            tls.flush().unwrap();
            let mut received = [0; 6];
            let mut stdout = client.0.stdout.take().unwrap();
            stdout.read_exact(&mut received).unwrap();
            assert_eq!(&received, b"hello\n");
            let group = conn.negotiated_key_exchange_group().unwrap();
            assert_eq!(group.name(), name);
        }
    }
}

#[test]
fn our_client_exchanges_keys_in_their_servers_group() {
    for provider in PROVIDERS {
        for (name, theirs) in FINITE {
            let files = Files::new("finite-server", KeyType::Rsa2048);
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
            let (_server, port, _output) =
                s_server_with(&case, &files, vec!["-dhparam".into(), path]);

            let crypto = finite(provider, name);
            let config = this::client_of(case.version, crypto, case.key_type, case.auth);
            let mut conn = ClientConnection::new(Arc::new(config), server_name()).unwrap();
            let mut sock = TcpStream::connect(("127.0.0.1", port)).unwrap();
            sock.set_nodelay(true).unwrap();
            let mut tls = Stream::new(&mut conn, &mut sock);
            tls.write_all(b"olleh\n").unwrap();
            let mut back = [0; 6];
            tls.read_exact(&mut back).unwrap();
            assert_eq!(&back, b"hello\n");
            let group = conn.negotiated_key_exchange_group().unwrap();
            assert_eq!(group.name(), name);
        }
    }
}
