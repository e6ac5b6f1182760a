//! The kinds of handshakes that a connection reports: full, full with a retry, or resumed.

/// The kind of handshake that a connection performed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HandshakeKind {
    /// A full handshake.
    Full,

    /// A full handshake in which the server requested a second ClientHello (RFC 9846 §4.2.4), at
    /// the cost of an extra round trip. Also reported while it is not known yet whether a session
    /// is resumed.
    FullWithHelloRetryRequest,

    /// A handshake that resumed a session.
    Resumed,
}
