//! QUIC connections of this crate and of upstream rustls behind one interface, and between them what QUIC is to
//! TLS (RFC 9001 §4.1): CRYPTO bytes of a level, in order, and packets under the keys that come of them.

mod ends;
mod framed;

pub use ends::{this, upstream};
pub use framed::Framed;

/// The versions that both crates have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Version {
    V1Draft,
    V1,
    V2,
}

pub const VERSIONS: [Version; 3] = [Version::V1Draft, Version::V1, Version::V2];

/// An encryption level (RFC 9001 §2.1). CRYPTO bytes have all but that of early data.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Level {
    Initial,
    EarlyData,
    Handshake,
    OneRtt,
}

/// CRYPTO bytes in the order in which they are to be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Crypto {
    pub level: Level,
    pub bytes: Vec<u8>,
}

/// Which keys of a level a packet is under.
#[derive(Clone, Copy, Debug)]
pub enum Use {
    /// Those of the handshake, or the first of 1-RTT.
    First,
    /// Of 1-RTT, after so many key updates, at least one.
    Updated(usize),
    /// The first ones, on this path (draft-ietf-quic-multipath).
    Path(u32),
}

/// One end of a connection, which takes the keys that it is given.
pub trait QuicEndpoint {
    /// All CRYPTO bytes that it has to send. The levels rise.
    fn take_crypto(&mut self) -> Vec<Crypto>;

    /// Gives it CRYPTO bytes; the error as its crate prints it. It is not told their level, nor does it ask.
    fn receive(&mut self, bytes: &[u8]) -> Result<(), String>;

    /// The level of the CRYPTO bytes that it waits for.
    fn read_level(&self) -> Level;

    /// The code of the alert for CONNECTION_CLOSE, after an error.
    fn alert(&self) -> Option<u8>;

    /// Whether it has keys to send with, and to receive with.
    fn has_keys(&self, level: Level) -> [bool; 2];

    /// A protected packet. There must be the keys.
    fn seal(&self, level: Level, which: Use, number: u32, payload: &[u8]) -> Vec<u8>;

    /// The payload of a protected packet, and its number. There must be the keys.
    fn open(&self, level: Level, which: Use, packet: &[u8]) -> Result<(u32, Vec<u8>), String>;

    /// Makes the next keys of 1-RTT (RFC 9001 §6).
    fn update_keys(&mut self);

    /// The peer's transport parameters, as it sent them.
    fn peer_parameters(&self) -> Option<Vec<u8>>;

    /// Whether the handshake is not complete yet.
    fn is_handshaking(&self) -> bool;

    /// Version, suite, group, ALPN and handshake kind as both crates print them, once negotiated.
    fn negotiated(&self) -> String;

    /// Keying material.
    fn exported(&self) -> Result<[u8; 32], String>;

    /// The peer's certificates in DER.
    fn peer_certificates(&self) -> Vec<Vec<u8>>;

    /// The name that the client asked a server for.
    fn server_name(&self) -> Option<String>;

    /// What a client knows.
    fn is_early_data_accepted(&self) -> bool;

    /// Only for a server.
    fn reject_early_data(&mut self);

    /// Of a client.
    fn tickets_received(&self) -> u32;
}

/// Gives `to` the bytes as QUIC does, which refuses those of any level but the one that TLS is at (RFC 9001 §4.1.3),
/// and returns what it answers.
pub fn deliver(
    to: &mut dyn QuicEndpoint,
    level: Level,
    bytes: &[u8],
) -> Result<Vec<Crypto>, String> {
    let expected = to.read_level();
    if level != expected {
        return Err(format!("{level:?} where {expected:?} is read"));
    }
    to.receive(bytes)?;
    Ok(to.take_crypto())
}

/// Moves CRYPTO bytes until neither end has any to send; the first error of either.
pub fn exchange(
    client: &mut dyn QuicEndpoint,
    server: &mut dyn QuicEndpoint,
) -> Result<(), String> {
    exchange_in_pieces(client, server, |bytes| vec![bytes])
}

/// As [`exchange`], with what one side has for a level cut into pieces.
pub fn exchange_in_pieces(
    client: &mut dyn QuicEndpoint,
    server: &mut dyn QuicEndpoint,
    mut cut: impl FnMut(&[u8]) -> Vec<&[u8]>,
) -> Result<(), String> {
    let mut to_server = client.take_crypto();
    let mut to_client = server.take_crypto();
    while !to_server.is_empty() || !to_client.is_empty() {
        for Crypto { level, bytes } in std::mem::take(&mut to_server) {
            for piece in cut(&bytes) {
                let answer = deliver(server, level, piece);
                to_client.extend(answer.map_err(|error| format!("server: {error}"))?);
            }
        }
        for Crypto { level, bytes } in std::mem::take(&mut to_client) {
            for piece in cut(&bytes) {
                let answer = deliver(client, level, piece);
                to_server.extend(answer.map_err(|error| format!("client: {error}"))?);
            }
        }
    }
    Ok(())
}

/// Completes the handshake and checks that both ends agree on what came of it, keys included.
pub fn handshake(client: &mut dyn QuicEndpoint, server: &mut dyn QuicEndpoint) {
    exchange(client, server).unwrap();
    check_connected(client, server);
}

/// Checks that both ends agree on everything.
pub fn check_connected(client: &mut dyn QuicEndpoint, server: &mut dyn QuicEndpoint) {
    assert!(!client.is_handshaking(), "client still handshaking");
    assert!(!server.is_handshaking(), "server still handshaking");
    assert_eq!(client.negotiated(), server.negotiated());
    assert_eq!(client.exported().unwrap(), server.exported().unwrap());
    for level in [Level::Initial, Level::Handshake, Level::OneRtt] {
        send_and_check(client, server, level, Use::First);
        send_and_check(server, client, level, Use::First);
    }
}

/// Sends a packet, which opens at the other end, and not after a change.
pub fn send_and_check(from: &dyn QuicEndpoint, to: &dyn QuicEndpoint, level: Level, which: Use) {
    for (number, len) in [(0, 20), (1, 4), (0xdead_beef, 1300)] {
        let payload = vec![number as u8; len];
        let packet = from.seal(level, which, number, &payload);
        assert_eq!(
            to.open(level, which, &packet),
            Ok((number, payload)),
            "{level:?}"
        );
        for at in [1, packet.len() - 17, packet.len() - 1] {
            let mut changed = packet.clone();
            changed[at] ^= 1;
            to.open(level, which, &changed).unwrap_err();
        }
        // what it sent itself is from nobody else
        if level != Level::EarlyData {
            from.open(level, which, &packet).unwrap_err();
        }
    }
}
