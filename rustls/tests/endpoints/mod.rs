//! Connections of this crate and of upstream rustls behind one interface, so that a test says once
//! what any two of them do with each other.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "each test file uses a part of this"
)]

mod buffered;
pub mod configs;
pub mod transparent;
mod unbuffered;

pub use buffered::{ThisBuffered, UpstreamBuffered};
pub use unbuffered::{ThisUnbuffered, Unbuffered};

/// One end of a connection.
pub trait Endpoint {
    /// What it has to send, at most `limit` bytes at a time if it can tell.
    fn take_output(&mut self) -> Vec<u8>;

    /// Gives it bytes from its peer; the error as its crate prints it.
    fn receive(&mut self, bytes: &[u8]) -> Result<(), String>;

    /// Has it go on with what it has been given.
    fn process(&mut self) -> Result<(), String>;

    /// Has it send application data; returns how much it took.
    fn send(&mut self, plaintext: &[u8]) -> usize;

    /// The application data it has received since the last call, appended.
    fn read_into(&mut self, plaintext: &mut Vec<u8>);

    fn close(&mut self);

    fn peer_has_closed(&self) -> bool;

    fn is_handshaking(&self) -> bool;

    /// Suite, group, ALPN and handshake kind as both crates print them, once negotiated.
    fn negotiated(&self) -> String;

    /// Keying material, once the handshake is complete.
    fn exported(&self) -> [u8; 32];

    /// The peer's certificates in DER.
    fn peer_certificates(&self) -> Vec<Vec<u8>>;

    fn refresh_traffic_keys(&mut self);
}

/// Moves bytes until neither end has any to send; the first error of either.
pub fn exchange(client: &mut dyn Endpoint, server: &mut dyn Endpoint) -> Result<(), String> {
    loop {
        let to_server = client.take_output();
        if !to_server.is_empty() {
            server
                .receive(&to_server)
                .map_err(|error| format!("server: {error}"))?;
        }
        let to_client = server.take_output();
        if !to_client.is_empty() {
            client
                .receive(&to_client)
                .map_err(|error| format!("client: {error}"))?;
        }
        if to_server.is_empty() && to_client.is_empty() {
            return Ok(());
        }
    }
}

/// Completes the handshake and checks that both ends agree on what it negotiated.
pub fn handshake(client: &mut dyn Endpoint, server: &mut dyn Endpoint) {
    exchange(client, server).unwrap();
    assert!(!client.is_handshaking(), "client still handshaking");
    assert!(!server.is_handshaking(), "server still handshaking");
    assert_eq!(client.negotiated(), server.negotiated());
    assert_eq!(client.exported(), server.exported());
}

/// Sends `plaintext` from one end to the other and checks what arrives.
pub fn send_and_check(from: &mut dyn Endpoint, to: &mut dyn Endpoint, plaintext: &[u8]) {
    let mut received = Vec::new();
    let mut sent = 0;
    while sent < plaintext.len() {
        sent += from.send(&plaintext[sent..]);
        to.receive(&from.take_output()).unwrap();
        to.read_into(&mut received);
    }
    assert!(received == plaintext, "plaintext arrived changed");
}

/// A few bytes each way, a key update, more bytes, and an orderly end.
pub fn talk_and_close(client: &mut dyn Endpoint, server: &mut dyn Endpoint) {
    send_and_check(client, server, b"from the client");
    send_and_check(server, client, b"from the server");
    client.refresh_traffic_keys();
    exchange(client, server).unwrap();
    send_and_check(client, server, &[1; 20_000]);
    send_and_check(server, client, &[2; 20_000]);
    client.close();
    exchange(client, server).unwrap();
    assert!(server.peer_has_closed());
    assert!(!client.peer_has_closed());
    server.close();
    exchange(client, server).unwrap();
    assert!(client.peer_has_closed());
}

/// A small generator of reproducible noise (xorshift64*).
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from 1 to `max`.
    pub fn up_to(&mut self, max: usize) -> usize {
        1 + (self.next() as usize) % max
    }
}
