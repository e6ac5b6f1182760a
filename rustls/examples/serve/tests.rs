//! Clients that end a connection in every possible way, or request new keys, against each file
//! server. `crate::worker` is the server under test.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::CertifiedKey;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::*;

const PAGE: &[u8] = b"<h1>It works</h1>";
const REQUEST: &[u8] = b"GET / HTTP/1.0\r\n\r\n";

/// The result of one connection.
struct Seen {
    received: Vec<u8>,
    /// True if the server sent a close_notify.
    closed: bool,
    /// The result that the server returned.
    outcome: Result<(), String>,
}

impl Seen {
    fn assert_page(&self) {
        assert_eq!(self.outcome, Ok(()));
        assert!(self.received.starts_with(b"HTTP/1.1 200 OK\r\n"));
        assert!(self.received.ends_with(PAGE));
        assert!(self.closed);
    }
}

/// A folder with one page, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        // Both file servers run these tests, possibly at the same time.
        let name = format!("{}-{test}", env!("CARGO_CRATE_NAME"));
        let folder = Self(std::env::temp_dir().join(format!("{name}-{}", std::process::id())));
        std::fs::create_dir_all(&folder.0).unwrap();
        std::fs::write(folder.0.join("index.html"), PAGE).unwrap();
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Serves one client. After the handshake the client sends the output of `send` in one write, so
/// that it arrives together. It then closes its side of the socket and reads to the end.
fn seen_after(test: &str, send: impl FnOnce(&mut ClientConnection)) -> Seen {
    let folder = Folder::new(test);
    let files = Files::list(&folder.0).unwrap();
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let server_config = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let client_config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sock = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let server_config = Arc::new(server_config);
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let mut serve = crate::worker(&server_config, &files);
            serve(Client::accept(&listener).unwrap()).map_err(|error| error.to_string())
        });

        let name = "localhost".try_into().unwrap();
        let mut conn = ClientConnection::new(Arc::new(client_config), name).unwrap();
        while conn.is_handshaking() {
            conn.complete_io(&mut sock).unwrap();
        }
        send(&mut conn);
        let mut out = Vec::new();
        while conn.wants_write() {
            conn.write_tls(&mut out).unwrap();
        }
        sock.write_all(&out).unwrap();
        sock.shutdown(Shutdown::Write).unwrap();

        let mut received = Vec::new();
        let mut closed = false;
        while !closed && conn.read_tls(&mut sock).unwrap() != 0 {
            closed = conn.process_new_packets().unwrap().peer_has_closed();
            match conn.reader().read_to_end(&mut received) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => panic!("{error}"),
                _ => {}
            }
        }
        Seen {
            received,
            closed,
            outcome: server.join().unwrap(),
        }
    })
}

#[test]
fn request_is_answered() {
    seen_after("request", |conn| conn.writer().write_all(REQUEST).unwrap()).assert_page();
}

/// RFC 9846 §6.1: a close_notify ends one direction only.
#[test]
fn request_that_arrives_with_a_close_notify_is_answered() {
    let seen = seen_after("request-close", |conn| {
        conn.writer().write_all(REQUEST).unwrap();
        conn.send_close_notify();
    });
    seen.assert_page();
}

#[test]
fn close_notify_alone_is_answered_with_one() {
    let seen = seen_after("close", |conn| conn.send_close_notify());
    assert!(seen.closed && seen.received.is_empty());
    assert!(seen.outcome.unwrap_err().contains("without a request"));
}

#[test]
fn half_a_request_is_not_answered() {
    let seen = seen_after("half", |conn| {
        conn.writer().write_all(&REQUEST[..10]).unwrap();
        conn.send_close_notify();
    });
    assert!(seen.closed && seen.received.is_empty());
    assert!(seen.outcome.unwrap_err().contains("without a request"));
}

/// A stream that ends without a close_notify may have been cut off by an attacker.
#[test]
fn truncation_is_reported() {
    for len in [0, 10] {
        let seen = seen_after("cut", |conn| {
            conn.writer().write_all(&REQUEST[..len]).unwrap();
        });
        assert!(seen.received.is_empty());
        assert_eq!(seen.outcome.unwrap_err(), "the connection was cut off");
    }
}

#[test]
fn key_updates_before_and_within_a_request_are_answered() {
    let seen = seen_after("key-update", |conn| {
        conn.refresh_traffic_keys().unwrap();
        conn.writer().write_all(&REQUEST[..10]).unwrap();
        conn.refresh_traffic_keys().unwrap();
        conn.writer().write_all(&REQUEST[10..]).unwrap();
        conn.refresh_traffic_keys().unwrap();
    });
    seen.assert_page();
}
