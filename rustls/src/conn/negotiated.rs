//! What was negotiated: the facts that a connection's accessors report. The handshake fills them in.

use alloc::vec::Vec;

use crate::certificates::PeerIdentity;
use crate::crypto::{CryptoProvider, SupportedKxGroup};
use crate::enums::ProtocolVersion;
use crate::session::chain::PeerChain;
use crate::suites::SupportedCipherSuite;

/// What is known so far.
#[derive(Default)]
pub(crate) struct Negotiated {
    pub(crate) version: Option<ProtocolVersion>,
    pub(crate) suite: Option<SupportedCipherSuite>,
    pub(crate) kx_group: Option<&'static dyn SupportedKxGroup>,
    pub(crate) handshake_kind: Option<HandshakeKind>,
    pub(crate) alpn_protocol: Option<Vec<u8>>,
    pub(crate) peer: Option<PeerIdentity>,
}

impl Negotiated {
    /// The peer is authenticated by `chain`, on a connection over `provider`.
    pub(crate) fn set_peer(&mut self, chain: PeerChain, provider: &CryptoProvider) {
        self.peer = Some(PeerIdentity::new(chain, provider));
    }

    /// What the peer is authenticated by, if it is.
    pub(crate) fn peer_chain(&self) -> Option<&PeerChain> {
        self.peer.as_ref().map(PeerIdentity::chain)
    }
}

/// The kind of handshake a connection made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HandshakeKind {
    /// A full handshake.
    Full,

    /// A full handshake in which the server asked for another ClientHello (RFC 9846 §4.2.4): one
    /// more round trip.
    FullWithHelloRetryRequest,

    /// A handshake that resumed an earlier session.
    Resumed,
}
