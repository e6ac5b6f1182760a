//! QUIC connections of this crate and of upstream behind one interface. The interface is the part
//! of QUIC that TLS sees (RFC 9001 §4.1): CRYPTO bytes by level, in order, and packets protected
//! with the resulting keys.

mod framed;

pub use framed::Framed;

pub use crate::this::quic as this;
pub use crate::upstream::quic as upstream;

/// The QUIC versions that both crates support.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Version {
    V1Draft,
    V1,
    V2,
}

pub const VERSIONS: [Version; 3] = [Version::V1Draft, Version::V1, Version::V2];

/// An encryption level (RFC 9001 §2.1). All except early data carry CRYPTO bytes.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Level {
    Initial,
    EarlyData,
    Handshake,
    OneRtt,
}

/// CRYPTO bytes in the order of reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Crypto {
    pub level: Level,
    pub bytes: Vec<u8>,
}

/// The keys to use within a level.
#[derive(Clone, Copy, Debug)]
pub enum Use {
    /// The keys of the handshake, or the first 1-RTT keys.
    First,
    /// The 1-RTT keys after this many key updates, at least one.
    Updated(usize),
    /// The first keys, on this path (draft-ietf-quic-multipath).
    Path(u32),
}

/// One endpoint of a connection, which keeps the keys that it receives.
pub trait QuicEndpoint {
    /// Takes all pending CRYPTO bytes, in order of rising levels.
    fn take_crypto(&mut self) -> Vec<Crypto>;

    /// Feeds CRYPTO bytes. Returns the error as its crate prints it. The connection does not know
    /// their level.
    fn receive(&mut self, bytes: &[u8]) -> Result<(), String>;

    /// Returns the level of the next expected CRYPTO bytes.
    fn read_level(&self) -> Level;

    /// Returns the code of the alert for CONNECTION_CLOSE, after an error.
    fn alert(&self) -> Option<u8>;

    /// Returns true for each direction, sending and receiving, that has keys.
    fn has_keys(&self, level: Level) -> [bool; 2];

    /// Seals a packet. The keys must exist.
    fn seal(&self, level: Level, which: Use, number: u32, payload: &[u8]) -> Vec<u8>;

    /// Opens a packet. Returns its number and payload. The keys must exist.
    fn open(&self, level: Level, which: Use, packet: &[u8]) -> Result<(u32, Vec<u8>), String>;

    /// Derives the next 1-RTT keys (RFC 9001 §6).
    fn update_keys(&mut self);

    /// Returns the peer's transport parameters, unchanged.
    fn peer_parameters(&self) -> Option<Vec<u8>>;

    /// True until the handshake is complete.
    fn is_handshaking(&self) -> bool;

    /// Version, suite, group, ALPN and handshake kind as both crates print them, once negotiated.
    fn negotiated(&self) -> String;

    /// Keying material.
    fn exported(&self) -> Result<[u8; 32], String>;

    /// Returns the peer's certificates in DER.
    fn peer_certificates(&self) -> Vec<Vec<u8>>;

    /// Returns the server name that the client sent.
    fn server_name(&self) -> Option<String>;

    /// True if the server accepted early data. Only for clients.
    fn is_early_data_accepted(&self) -> bool;

    /// Rejects early data. Only for servers.
    fn reject_early_data(&mut self);

    /// Returns the number of tickets received. Only for clients.
    fn tickets_received(&self) -> u32;
}

/// Delivers the bytes as QUIC does: it rejects those of any level other than the one that TLS
/// expects (RFC 9001 §4.1.3). Returns the response.
pub fn deliver(
    to: &mut dyn QuicEndpoint,
    level: Level,
    bytes: &[u8],
) -> Result<Vec<Crypto>, String> {
    let expected = to.read_level();
    if level != expected {
        return Err(format!("{level:?} while {expected:?} is expected"));
    }
    to.receive(bytes)?;
    Ok(to.take_crypto())
}

/// Moves CRYPTO bytes until neither endpoint has output. Returns the first error of either.
pub fn exchange(
    client: &mut dyn QuicEndpoint,
    server: &mut dyn QuicEndpoint,
) -> Result<(), String> {
    exchange_in_pieces(client, server, |bytes| vec![bytes])
}

/// Like [`exchange`], but cuts the bytes of each level into pieces.
pub fn exchange_in_pieces(
    client: &mut dyn QuicEndpoint,
    server: &mut dyn QuicEndpoint,
    mut cut: impl FnMut(&[u8]) -> Vec<&[u8]>,
) -> Result<(), String> {
    let mut to_server = client.take_crypto();
    let mut to_client = server.take_crypto();
    let mut deliver_all = |name, to: &mut dyn QuicEndpoint, all: Vec<Crypto>| {
        let mut answers = Vec::new();
        for Crypto { level, bytes } in all {
            for piece in cut(&bytes) {
                let answer = deliver(to, level, piece);
                answers.extend(answer.map_err(|error| format!("{name}: {error}"))?);
            }
        }
        Ok::<_, String>(answers)
    };
    while !to_server.is_empty() || !to_client.is_empty() {
        to_client.extend(deliver_all(
            "server",
            server,
            std::mem::take(&mut to_server),
        )?);
        to_server = deliver_all("client", client, std::mem::take(&mut to_client))?;
    }
    Ok(())
}

/// Completes the handshake and checks that both endpoints agree on the results, including keys.
pub fn handshake(client: &mut dyn QuicEndpoint, server: &mut dyn QuicEndpoint) {
    exchange(client, server).unwrap();
    check_connected(client, server);
}

/// Checks that both endpoints agree on everything.
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

/// Sends packets, and checks that the other endpoint opens them, unless they are changed.
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
        // an end must not open its own packets
        if level != Level::EarlyData {
            from.open(level, which, &packet).unwrap_err();
        }
    }
}
