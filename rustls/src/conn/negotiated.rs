//! What was negotiated: the facts that a connection's accessors report. The handshake fills them in.

use alloc::vec::Vec;

use crate::certificates::PeerIdentity;
use crate::crypto::{CryptoProvider, SupportedKxGroup};
use crate::enums::ProtocolVersion;
use crate::session::chain::PeerChain;
use crate::suites::SupportedCipherSuite;

/// What is known so far.
#[derive(Clone, Default)]
pub(crate) struct Negotiated {
    pub(crate) version: Option<ProtocolVersion>,
    pub(crate) suite: Option<SupportedCipherSuite>,
    pub(crate) kx_group: Option<&'static dyn SupportedKxGroup>,
    pub(crate) handshake_kind: Option<HandshakeKind>,
    pub(crate) alpn_protocol: Option<Vec<u8>>,
    peer: Option<PeerIdentity>,
    /// The peer has proven in this handshake that it is `peer`.
    is_peer_proven: bool,
}

impl Negotiated {
    /// The peer has proven that it has the key of `chain`, on a connection over `provider`.
    pub(crate) fn set_peer(&mut self, chain: PeerChain, provider: &CryptoProvider) {
        self.set_expected_peer(chain, provider);
        self.prove_peer();
    }

    /// The session that is resumed is one with the peer of `chain`. Whoever saw the ticket or the session's name on the
    /// wire can offer it; [`prove_peer`](Self::prove_peer) follows once the peer has used the session's key.
    pub(crate) fn set_expected_peer(&mut self, chain: PeerChain, provider: &CryptoProvider) {
        self.peer = Some(PeerIdentity::new(chain, provider));
    }

    /// The peer has proven that it has the keys of this handshake.
    pub(crate) fn prove_peer(&mut self) {
        self.is_peer_proven = true;
    }

    /// Who the peer has proven to be.
    pub(crate) fn proven_peer(&self) -> Option<&PeerIdentity> {
        self.peer.as_ref().filter(|_| self.is_peer_proven)
    }

    /// What the peer is authenticated by, or will be when it has proven that it has the session's key.
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
