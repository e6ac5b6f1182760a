//! Tests of the shim without a runner: how it handles a command line, and how it talks to a peer of
//! another implementation.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use rcgen::CertifiedKey;
use rustls_upstream::pki_types::{CertificateDer, PrivateKeyDer};
use rustls_upstream::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, Stream,
};

const PROVIDERS: [&str; 2] = ["aws-lc-rs", "ring"];
const SHIM_ID: u64 = 0x0102_0304_0506_0708;

fn shim(provider: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bogo-shim"));
    command
        .env("BOGO_PROVIDER", provider)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn first_line(output: &[u8]) -> String {
    String::from_utf8_lossy(output)
        .lines()
        .next()
        .unwrap_or_default()
        .into()
}

#[test]
fn unsupported_flags_are_reported_as_unimplemented() {
    for arguments in [
        &["-dtls"][..],
        &["-port", "1", "-no-such-flag"],
        &["-on-resume-no-such-flag"],
        &["-port", "1", "-max-version", "770"],
        // P-224
        &["-port", "1", "-curves", "21"],
    ] {
        let output = shim("aws-lc-rs", arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(89), "{arguments:?}");
        assert_eq!(first_line(&output.stderr), "<Unsupported>");
    }
}

#[test]
fn invalid_command_lines_are_failures() {
    for arguments in [
        &[][..],
        &["-port"],
        &["-port", "x"],
        &["-port", "1", "-ocsp-response", "?"],
    ] {
        let output = shim("aws-lc-rs", arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert_eq!(first_line(&output.stderr), "<Usage>");
    }
    let output = shim("unknown", &["-port", "1"]).output().unwrap();
    assert_eq!(first_line(&output.stderr), "<Usage>");
}

#[test]
fn the_shim_reports_that_it_has_no_handshaker() {
    let arguments = ["-is-handshaker-supported"];
    let output = shim("ring", &arguments).output().unwrap();
    assert!(output.status.success());
    assert_eq!(first_line(&output.stdout), "No");
}

/// Runs the shim with `arguments`, and `peer` on each of its `connections`.
fn with_peer(
    provider: &str,
    arguments: &[&str],
    connections: usize,
    mut peer: impl FnMut(TcpStream),
) -> Output {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let id = SHIM_ID.to_string();
    let arguments = [&["-port", &port, "-shim-id", &id], arguments].concat();
    let running = shim(provider, &arguments).spawn().unwrap();
    for _ in 0..connections {
        let (mut stream, _) = listener.accept().unwrap();
        let mut greeting = [0; 8];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(u64::from_le_bytes(greeting), SHIM_ID);
        peer(stream);
    }
    running.wait_with_output().unwrap()
}

#[track_caller]
fn succeeded(output: &Output) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert_eq!(stderr, "");
}

/// Upstream's configurations, and the arguments for a server run by the shim.
struct Peers {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    credential: [String; 4],
}

impl Peers {
    fn new(name: &str) -> Self {
        let CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        let path =
            |suffix| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{suffix}"));
        fs::write(path("cert"), cert.pem()).unwrap();
        fs::write(path("key"), signing_key.serialize_pem()).unwrap();
        let (cert, key) = (cert.der().clone(), signing_key.serialize_der());

        let provider = Arc::new(rustls_upstream::crypto::aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(cert.clone()).unwrap();
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let chain: Vec<CertificateDer<'_>> = vec![cert];
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, PrivateKeyDer::Pkcs8(key.into()))
            .unwrap();
        let text = |suffix| path(suffix).display().to_string();
        Self {
            client: Arc::new(client),
            server: Arc::new(server),
            credential: [
                "-cert-file".into(),
                text("cert"),
                "-key-file".into(),
                text("key"),
            ],
        }
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut server = ServerConnection::new(self.server.clone()).unwrap();
        is_inverted(&mut Stream::new(&mut server, &mut stream));
        server.send_close_notify();
        server.complete_io(&mut stream).unwrap();
    }

    fn call(&self, mut stream: TcpStream) {
        let name = "localhost".try_into().unwrap();
        let mut client = ClientConnection::new(self.client.clone(), name).unwrap();
        is_inverted(&mut Stream::new(&mut client, &mut stream));
        client.send_close_notify();
        client.complete_io(&mut stream).unwrap();
    }
}

/// Sends some data and checks that they return with all bits inverted.
fn is_inverted(stream: &mut (impl Read + Write)) {
    let data: Vec<u8> = (0..=255).collect();
    stream.write_all(&data).unwrap();
    let mut answer = [0; 256];
    stream.read_exact(&mut answer).unwrap();
    assert!(data.iter().zip(answer).all(|(sent, got)| got == !sent));
}

#[test]
fn a_client_talks_to_a_server_of_another_implementation() {
    let peers = Peers::new("client");
    for provider in PROVIDERS {
        for more in [
            &["-expect-version", "772", "-check-close-notify"][..],
            &["-max-version", "771", "-expect-version", "771"],
            &["-async", "-implicit-handshake"],
        ] {
            let arguments = [&["-host-name", "localhost", "-resume-count", "1"], more].concat();
            succeeded(&with_peer(provider, &arguments, 2, |stream| {
                peers.serve(stream)
            }));
        }
    }
}

#[test]
fn a_server_talks_to_a_client_of_another_implementation() {
    let peers = Peers::new("server");
    let credential: Vec<&str> = peers.credential.iter().map(String::as_str).collect();
    for provider in PROVIDERS {
        let more = [
            "-server",
            "-resume-count",
            "1",
            "-expect-server-name",
            "localhost",
        ];
        let arguments = [&credential, &more[..]].concat();
        succeeded(&with_peer(provider, &arguments, 2, |stream| {
            peers.call(stream)
        }));
    }
}

/// A server with a certificate and a raw public key sends each client the type it asks for.
#[test]
fn a_server_can_have_two_certificate_types() {
    let peers = Peers::new("types");
    let credential: Vec<&str> = peers.credential.iter().map(String::as_str).collect();
    for provider in PROVIDERS {
        let more = ["-server", "-new-rpk-credential", "-key-file", credential[3]];
        let arguments = [&credential, &more[..]].concat();
        succeeded(&with_peer(provider, &arguments, 1, |stream| {
            peers.call(stream)
        }));
        // a server without a raw public key rejects a client that only accepts raw public keys
        let more = ["-accepted-peer-cert-types", "2"];
        let output = with_peer(provider, &more, 1, |mut stream| {
            let mut server = ServerConnection::new(peers.server.clone()).unwrap();
            while server.is_handshaking() && server.complete_io(&mut stream).is_ok() {}
        });
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            first_line(&output.stderr),
            "<AlertReceived::HandshakeFailure>"
        );
    }
}

#[test]
fn unmet_expectations_are_failures() {
    let peers = Peers::new("unexpected");
    let failure = |arguments: &[&str], connections| {
        let output = with_peer("ring", arguments, connections, |mut stream| {
            let mut server = ServerConnection::new(peers.server.clone()).unwrap();
            while server.is_handshaking() && server.complete_io(&mut stream).is_ok() {}
        });
        assert_eq!(output.status.code(), Some(1));
        first_line(&output.stderr)
    };
    assert_eq!(failure(&["-expect-version", "771"], 1), "<Expectation>");
    assert_eq!(failure(&["-expect-hrr"], 1), "<Expectation>");
    assert_eq!(
        failure(&["-verify-peer", "-verify-fail"], 1),
        "<InvalidCertificate::Other>"
    );
    assert_eq!(
        failure(&["-check-close-notify"], 1),
        "<EndInsteadOfCloseNotify>"
    );
}

#[test]
fn errors_are_printed_by_name() {
    let output = with_peer("ring", &[], 1, |mut stream| {
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        let mut alert = Vec::new();
        stream.read_to_end(&mut alert).unwrap();
        // decode_error
        assert!(alert.ends_with(&[21, 3, 3, 0, 2, 2, 50]));
    });
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        first_line(&output.stderr),
        "<InvalidMessage::InvalidContentType>"
    );
}

/// The runner searches for these names anywhere in the shim's output. The brackets around them
/// ensure a match of the whole name.
#[test]
fn error_names_are_in_brackets() {
    let config = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_slice(&config).unwrap();
    let errors = config["ErrorMap"].as_object().unwrap();
    assert!(!errors.is_empty());
    for (theirs, ours) in errors {
        let ours = ours.as_array().unwrap();
        assert!(!ours.is_empty(), "{theirs}");
        for name in ours {
            let name = name.as_str().unwrap();
            let inside = name
                .strip_prefix('<')
                .and_then(|name| name.strip_suffix('>'));
            let inside = inside.unwrap_or_default();
            assert!(
                !inside.is_empty() && !inside.contains(['<', '>']),
                "{theirs}: {name}"
            );
        }
    }
    for reason in config["DisabledTests"].as_object().unwrap().values() {
        assert!(reason.as_str().unwrap().len() > 10);
    }
}
