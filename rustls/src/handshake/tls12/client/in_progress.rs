//! The data shared by all states between the ServerHello and the end of the handshake.

use alloc::boxed::Box;

use crate::handshake::client::offer::Offer;
use crate::handshake::transcript::Transcript;
use crate::keys::tls12::Randoms;
use crate::msgs::client_hello::SessionId;
use crate::suites::Tls12CipherSuite;

pub(super) struct Handshake {
    pub(super) offer: Box<Offer>,
    pub(super) suite: &'static Tls12CipherSuite,
    pub(super) transcript: Transcript,
    pub(super) randoms: Randoms,
    /// The session ID in the ServerHello. Empty if the session cannot be resumed by an ID.
    pub(super) session_id: SessionId,
    /// RFC 7627: true if the master secret is bound to the handshake.
    pub(super) uses_extended_master_secret: bool,
    /// RFC 5077 §3.2: true if a NewSessionTicket will follow.
    pub(super) announces_ticket: bool,
    /// RFC 6066 §8: true if a CertificateStatus may follow.
    pub(super) may_send_status: bool,
}

impl AsRef<Offer> for Handshake {
    fn as_ref(&self) -> &Offer {
        &self.offer
    }
}
