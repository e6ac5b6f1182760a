//! The negotiated properties that a connection's accessors and its observer report. The handshake
//! fills them in.

use alloc::vec::Vec;

use rustls_core::crypto::SupportedKxGroup;
use rustls_core::provider::CryptoProvider;

use crate::certificates::{PeerChain, PeerChains, PeerIdentity};
use crate::config::ech::EchStatus;
use crate::config::handshake_kind::HandshakeKind;
use crate::config::observer::handshake::{
    ClientCertificate, EarlyData, NotResumed, PeerChainCheck, SessionSource,
};
use crate::enums::{ProtocolVersion, SignatureScheme};
use crate::suites::SupportedCipherSuite;

/// The properties negotiated so far.
#[derive(Clone, Default)]
pub(crate) struct Negotiated {
    pub(crate) version: Option<ProtocolVersion>,
    pub(crate) suite: Option<SupportedCipherSuite>,
    /// The negotiated key exchange group.
    pub(crate) kx_group: Option<&'static dyn SupportedKxGroup>,
    pub(crate) handshake_kind: Option<HandshakeKind>,
    pub(crate) alpn_protocol: Option<Vec<u8>>,
    peer: Option<PeerIdentity>,
    /// True once the peer has proven its identity in this handshake. The identity is `peer`, if
    /// there is one.
    is_peer_proven: bool,
    /// Other facts, mostly for the observer.
    pub(crate) facts: ObservedFacts,
}

/// The facts of a handshake for its observer, and for accessors that only clients have. Handlers
/// note them even if there is no observer, because that costs no more than a check.
#[derive(Clone, Copy, Default)]
pub(crate) struct ObservedFacts {
    pub(crate) server_signature: Option<SignatureScheme>,
    pub(crate) client_signature: Option<SignatureScheme>,
    pub(crate) resumed_from: Option<SessionSource>,
    pub(crate) not_resumed: Option<NotResumed>,
    /// On a server, the same as `not_resumed` if the client offered a ticket.
    pub(crate) refused_ticket: Option<NotResumed>,
    pub(crate) early_data: EarlyData,
    /// The state of ECH; `None` counts as not offered.
    pub(crate) ech: Option<EchStatus>,
    pub(crate) client_certificate: ClientCertificate,
    pub(crate) peer_chain: PeerChainCheck,
}

impl ObservedFacts {
    pub(crate) fn ech_status(&self) -> EchStatus {
        self.ech.unwrap_or(EchStatus::NotOffered)
    }

    /// On a client, true if the server has accepted early data.
    pub(crate) fn is_early_data_accepted(&self) -> bool {
        self.early_data == EarlyData::Accepted
    }
}

impl Negotiated {
    /// Records `chain` as the chain of the peer, which has proven its identity.
    pub(crate) fn set_peer(&mut self, chain: PeerChain, provider: &CryptoProvider) {
        self.set_expected_peer(chain, provider);
        self.prove_peer();
    }

    /// Records the `chain` of the resumed session as the peer's. This does not prove the peer's
    /// identity yet: an attacker who saw the ticket or the session ID on the wire can also offer
    /// the session. Call [`prove_peer`](Self::prove_peer) once the peer has used the session's key.
    pub(crate) fn set_expected_peer(&mut self, chain: PeerChain, provider: &CryptoProvider) {
        self.peer = Some(PeerIdentity::new(chain, provider));
    }

    /// Records that the expected peer has proven its identity.
    pub(crate) fn prove_peer(&mut self) {
        self.is_peer_proven = true;
    }

    /// Shares the proven peer's chain with other connections.
    pub(crate) fn share_peer(&mut self, chains: &PeerChains) {
        if let Some(peer) = &mut self.peer {
            peer.share_chain(chains);
        }
    }

    /// Returns the peer's identity once it is proven.
    pub(crate) fn proven_peer(&self) -> Option<&PeerIdentity> {
        self.peer.as_ref().filter(|_| self.is_peer_proven)
    }

    /// Returns the peer's chain, even if the peer has not proven its identity yet.
    pub(crate) fn peer_chain(&self) -> Option<&PeerChain> {
        self.peer.as_ref().map(PeerIdentity::chain)
    }
}

/// Implements the accessors of these properties for `$face`, which has them in its field
/// `negotiated`.
macro_rules! negotiated_accessors {
    ($face:ty) => {
        impl $face {
            /// Returns the peer's certificate chain, end entity first, once the peer has proven
            /// possession of its key. A raw public key is returned in the form of a certificate.
            /// Returns `None` if the client sent none, or if the server rejected ECH.
            ///
            /// In a full handshake, the proof is the signature made with that key. In a resumed
            /// handshake, it is the peer's Finished, because anyone may have seen the ticket or the
            /// session ID. TLS 1.3 has an earlier proof in two cases: a client trusts
            /// EncryptedExtensions, whose keys depend on the session, and a server trusts a session
            /// whose early data it accepts, because such a session can be resumed only once.
            pub fn peer_certificates(&self) -> Option<&[pki_types::CertificateDer<'static>]> {
                self.peer_identity()
                    .map($crate::certificates::PeerIdentity::certificates)
            }

            /// Returns the peer's identity, with the properties read from its certificates. It is
            /// available at the same time as [`peer_certificates`](Self::peer_certificates).
            ///
            /// The identity may be kept for longer than the connection.
            pub fn peer_identity(&self) -> Option<&$crate::certificates::PeerIdentity> {
                self.negotiated.proven_peer()
            }

            /// Returns the negotiated application protocol (RFC 7301).
            pub fn alpn_protocol(&self) -> Option<&[u8]> {
                self.negotiated.alpn_protocol.as_deref()
            }

            /// Returns the negotiated cipher suite. A client that offers a TLS 1.3 session returns
            /// the suite of that offer until the server has chosen one.
            pub fn negotiated_cipher_suite(&self) -> Option<$crate::suites::SupportedCipherSuite> {
                self.negotiated.suite
            }

            /// Returns the negotiated key exchange group. `None` if a TLS 1.2 session is resumed.
            pub fn negotiated_key_exchange_group(
                &self,
            ) -> Option<&'static dyn rustls_core::crypto::SupportedKxGroup> {
                self.negotiated.kx_group
            }

            /// Returns the negotiated protocol version.
            pub fn protocol_version(&self) -> Option<$crate::enums::ProtocolVersion> {
                self.negotiated.version
            }

            /// Returns the kind of handshake. The kind is known at the latest once the ServerHello
            /// has been exchanged, or on a TLS 1.3 client, once EncryptedExtensions has arrived. A
            /// HelloRetryRequest is reported before that, as
            /// [`FullWithHelloRetryRequest`](crate::HandshakeKind::FullWithHelloRetryRequest), even
            /// if a session is resumed in the end.
            pub fn handshake_kind(&self) -> Option<$crate::config::handshake_kind::HandshakeKind> {
                self.negotiated.handshake_kind
            }
        }
    };
}

pub(crate) use negotiated_accessors;
