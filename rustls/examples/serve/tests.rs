//! Clients that end a connection in different ways, or request new keys, against each file server;
//! and invalid requests. `crate::serve` is the server under test.

use harness::peers::configs::{KeyType, Provider, Versions};
use harness::peers::endpoints::Endpoint;
use harness::peers::os::loopback;
use harness::peers::roles::Role;
use harness::peers::roles::this::Config;

use super::*;
use crate::http::{HEAD_LIMIT, Head};

/// The file that is served.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

const REQUEST: &[u8] = b"GET / HTTP/1.0\r\n\r\n";

/// The received bytes, true if the server sent a close_notify, and the result that it returned.
type Seen = (Vec<u8>, bool, Result<(), String>);

fn assert_page((received, closed, outcome): Seen) {
    assert_eq!(outcome, Ok(()));
    assert!(received.starts_with(b"HTTP/1.1 200 OK\r\n"));
    assert!(received.ends_with(include_bytes!("../../Cargo.toml")));
    assert!(closed);
}

/// Serves one client. After the handshake the client sends the output of `send` in one write, so
/// that it arrives together. It then closes its side of the socket and reads to the end.
fn seen_after(send: impl FnOnce(&mut rustls::Connection)) -> Seen {
    let (versions, key_type) = (Versions::Both, KeyType::EcdsaP256);
    let config = |role| Config::new(role, versions, Provider::AwsLc.this(), key_type);
    let (mut sock, far) = loopback().unwrap();
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let (config, file) = (config(Role::Server).server(), FILE.into());
            let mut client = Client::new(far).unwrap();
            let outcome = crate::serve(&Site { config, file }, &mut client);
            client.close();
            outcome.map_err(|error| error.to_string())
        });
        let mut client = config(Role::Client).buffered();
        while client.is_handshaking() {
            client.conn.complete_io(&mut sock).unwrap();
        }
        send(&mut client.conn);
        sock.write_all(&client.take_output()).unwrap();
        sock.shutdown(Shutdown::Write).unwrap();
        let mut bytes = Vec::new();
        sock.read_to_end(&mut bytes).unwrap();
        let received = client.read_from(&bytes);
        (received, client.peer_has_closed(), server.join().unwrap())
    })
}

/// RFC 9846 §6.1: a close_notify ends one direction only.
#[test]
fn a_request_that_arrives_with_a_close_notify_is_answered() {
    assert_page(seen_after(|conn| {
        conn.writer().write_all(REQUEST).unwrap();
        conn.send_close_notify();
    }));
}

/// A stream that ends without a close_notify may have been cut off by an attacker.
#[test]
fn without_a_request_a_close_notify_is_answered_and_another_end_is_reported() {
    let without_request = "the client closed the connection without a request";
    for (error, closes) in [
        (without_request, true),
        ("the connection was cut off", false),
    ] {
        for len in [0, 10] {
            let (received, closed, outcome) = seen_after(|conn| {
                conn.writer().write_all(&REQUEST[..len]).unwrap();
                closes.then(|| conn.send_close_notify());
            });
            assert!(received.is_empty() && closed == closes, "{error}");
            assert_eq!(outcome.unwrap_err(), error);
        }
    }
}

#[test]
fn key_updates_before_and_within_a_request_are_answered() {
    assert_page(seen_after(|conn| {
        for part in [&b""[..], &REQUEST[..10], &REQUEST[10..]] {
            conn.writer().write_all(part).unwrap();
            conn.refresh_traffic_keys().unwrap();
        }
    }));
}

/// Returns the length and the beginning of the response to a request that arrives in pieces.
fn response_to(request: &str, piece_len: usize) -> Option<(usize, String)> {
    let mut head = Head::new();
    for piece in request.as_bytes().chunks(piece_len) {
        head.receive(piece);
    }
    let mut out = [0; 20_000];
    let mut response = head
        .is_over()
        .then(|| Response::to(&head, FILE.as_ref()).unwrap())?;
    let len = response.fill(&mut out).unwrap();
    Some((len, String::from_utf8_lossy(&out[..12]).into_owned()))
}

#[test]
fn a_request_is_collected_from_pieces_of_any_length() {
    let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\nand more";
    for piece_len in 1..request.len() {
        let (len, response) = response_to(request, piece_len).unwrap();
        assert!(response == "HTTP/1.1 200" && len > 1000);
    }
    assert_eq!(response_to(&request[..20], 1), None);
}

#[test]
fn only_the_file_is_served() {
    let (len, response) = response_to("HEAD / HTTP/1.1\r\n\r\n", 1).unwrap();
    assert!(response == "HTTP/1.1 200" && len < 100, "{len}");
    let long = format!("GET / {}", "x".repeat(HEAD_LIMIT));
    assert_eq!(response_to(&long[..HEAD_LIMIT - 1], HEAD_LIMIT), None);
    for request in [
        "GET /.. HTTP/1.1",
        "GET /Cargo.toml HTTP/1.1",
        "POST / ",
        "",
        &long,
    ] {
        let (len, response) = response_to(&format!("{request}\r\n\r\n"), 1).unwrap();
        assert!(response == "HTTP/1.1 404" && len < 100, "{request}: {len}");
    }
}
