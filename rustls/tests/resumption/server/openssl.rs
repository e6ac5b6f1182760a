//! OpenSSL's client resumes with our server, with and without early data.
//!
//! Needs the `openssl` program, 1.1.1 or later, on the path. Skipped if it is missing.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, SERVER_NAME};
use harness::peers::programs::{Program, listen};
use harness::peers::servers::Settings;
use rustls::{HandshakeKind, ServerConfig, ServerConnection, Stream};

/// The result of a connection of s_client.
struct Connection {
    kind: HandshakeKind,
    /// The early data that the server read, if it accepts any.
    early_data: Option<Vec<u8>>,
}

fn connect(config: &Arc<ServerConfig>, options: &[&str]) -> Connection {
    let (listener, port) = listen();
    let address = format!("127.0.0.1:{port}");
    let args = ["s_client", "-tls1_3", "-quiet", "-no_ign_eof"];
    let more = ["-connect", &address, "-servername", SERVER_NAME];
    let args = [&args[..], &more, &["-alpn", "h2"], options].concat();
    let mut client = Program::start("openssl", &args).unwrap();
    let (mut sock, _) = listener.accept().unwrap();
    sock.set_nodelay(true).unwrap();
    let mut conn = ServerConnection::new(config.clone()).unwrap();
    conn.complete_io(&mut sock).unwrap();
    let early_data = conn.early_data().map(|mut early| {
        let mut plaintext = Vec::new();
        early.read_to_end(&mut plaintext).unwrap();
        plaintext
    });
    let kind = conn.handshake_kind().unwrap();

    // sent after the tickets, so once this arrives, they have arrived too
    let mut tls = Stream::new(&mut conn, &mut sock);
    tls.write_all(b"from the server").unwrap();
    tls.flush().unwrap();
    let mut received = [0; 15];
    let stdout = client.child.stdout.as_mut().unwrap();
    stdout.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"from the server");
    let mut stdin = client.child.stdin.take().unwrap();
    stdin.write_all(b"from the client\n").unwrap();
    drop(stdin);
    let mut later = Vec::new();
    tls.read_to_end(&mut later).unwrap();
    assert_eq!(later, b"from the client\n");
    assert!(client.child.wait().unwrap().success());
    Connection { kind, early_data }
}

fn path(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("resumption-{name}"));
    path.to_str().unwrap().to_owned()
}

#[test]
fn sessions_of_openssl_clients_are_resumed() {
    if Program::run("openssl", &["version"]).is_none() {
        return;
    }
    // in parallel, because s_client sometimes sleeps for a second
    std::thread::scope(|scope| {
        for settings in Settings::all() {
            for suite in ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"] {
                let settings = settings.clone();
                scope.spawn(move || resumes(&settings, suite));
            }
        }
    });
}

fn resumes(settings: &Settings, suite: &str) {
    let config = Arc::new(settings.ours());
    let (provider, sealed) = (settings.provider, settings.sealed);
    let file = path(&format!("{provider:?}-{suite}-{sealed}"));
    let options = ["-ciphersuites", suite, "-sess_out", &file];
    let full = connect(&config, &options);
    assert_eq!(full.kind, HandshakeKind::Full);
    let options = [&options[..], &["-sess_in", &file]].concat();
    for _ in 0..2 {
        let resumed = connect(&config, &options);
        assert_eq!(resumed.kind, HandshakeKind::Resumed);
        assert!(resumed.early_data.is_none());
    }
}

#[test]
fn early_data_of_openssl_clients_is_accepted_once() {
    if Program::run("openssl", &["version"]).is_none() {
        return;
    }
    std::thread::scope(|scope| {
        for provider in PROVIDERS {
            let settings = Settings::new(provider).edit(|it| it.max_early_data_size = 20_000);
            scope.spawn(move || accepts_once(&settings));
        }
    });
}

fn accepts_once(settings: &Settings) {
    let config = Arc::new(settings.ours());
    let sent: Vec<u8> = (0..20_000_u32).map(|at| at as u8).collect();
    let session = path(&format!("{:?}-early", settings.provider));
    let data = path(&format!("{:?}-data", settings.provider));
    fs::write(&data, &sent).unwrap();
    connect(&config, &["-sess_out", &session]);

    let options = ["-sess_in", &session, "-early_data", &data];
    let resumed = connect(&config, &options);
    assert_eq!(resumed.kind, HandshakeKind::Resumed);
    assert_eq!(resumed.early_data, Some(sent));

    // the same session again; its early data is skipped
    let again = connect(&config, &options);
    assert_eq!(again.kind, HandshakeKind::Full);
    assert_eq!(again.early_data, None);
}
