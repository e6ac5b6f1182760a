//! The data shared by all states between the ServerHello and the end of the handshake:
//! [`Handshake`], to which [`Finishing`] adds the secrets.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::handshake::client::offer::Offer;
use crate::handshake::transcript::Transcript;
use crate::keys::tls12::{KeyBlock, MasterSecret, Randoms};
use crate::msgs::client_hello::SessionId;
use crate::suites::Tls12CipherSuite;

pub(super) struct Handshake {
    pub(super) offer: Box<Offer>,
    pub(super) suite: &'static Tls12CipherSuite,
    pub(super) transcript: Transcript,
    pub(super) randoms: Randoms,
    /// The session ID in the ServerHello. If it is empty, the session cannot be resumed by an ID.
    pub(super) session_id: SessionId,
    /// True if the extended master secret was negotiated (RFC 7627).
    pub(super) uses_extended_master_secret: bool,
    /// True if the ServerHello announced a NewSessionTicket (RFC 5077 §3.2).
    pub(super) announces_ticket: bool,
    /// True if the ServerHello announced a CertificateStatus, which is optional (RFC 6066 §8).
    pub(super) may_send_status: bool,
}

impl AsRef<Offer> for Handshake {
    fn as_ref(&self) -> &Offer {
        &self.offer
    }
}

/// A handshake whose secrets are derived.
pub(super) struct Finishing {
    pub(super) handshake: Box<Handshake>,
    pub(super) master_secret: MasterSecret,
    pub(super) keys: KeyBlock,
    pub(super) ticket: Option<ReceivedTicket>,
}

/// The content of a NewSessionTicket.
pub(super) struct ReceivedTicket {
    /// The ticket's lifetime in seconds; 0 if the server did not specify it.
    pub(super) lifetime_hint: u32,
    /// The ticket, not empty.
    pub(super) bytes: Arc<[u8]>,
}

impl Finishing {
    pub(super) fn new(handshake: Box<Handshake>, master_secret: MasterSecret) -> Box<Self> {
        Box::new(Self {
            handshake,
            keys: master_secret.key_block(),
            master_secret,
            ticket: None,
        })
    }
}
