//! An established connection as two halves, each for a thread of its own.
//!
//! ```text
//!                            into_split
//!   CommonState ──────────────────┬────────────────────────────┐
//!     sender, outgoing,           ▼                            ▼          receiver, received, joiner,
//!     sending secret ────► Sender: CommonState  ◄─ link ─►  Receiver: Driver ◄──── receiving secret, exporter;
//!                                                                         the handshake, which takes tickets
//! ```
//!
//! Each half is what a whole connection is made of, with the other direction closed: [`super::sending`] and
//! [`super::driver`] do the work. What one half wants of the other goes through the [`link`], and the halves look there
//! before they do anything else. What is never split does not look.

pub(crate) mod link;
mod receiver;
mod sender;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use pki_types::CertificateDer;
pub use receiver::{Receiver, ReceiverState};
pub use sender::Sender;
#[cfg(feature = "std")]
pub use sender::Writer;

use super::common_state::CommonState;
use super::driver::Driver;
use super::negotiated::{HandshakeKind, Negotiated};
use super::records::{Receiving, Sending};
use crate::certificates::PeerIdentity;
use crate::crypto::SupportedKxGroup;
use crate::enums::{ProtocolVersion, Side};
use crate::error::Error;
use crate::handshake::Failure;
use crate::suites::SupportedCipherSuite;

/// What [`link`] is made of.
mod atomics {
    pub(super) use core::sync::atomic::{AtomicU8, Ordering};

    pub(super) use once_cell::race::OnceBox;
}

/// What the halves of a connection tell each other.
pub(crate) type Link = link::Link<Failure>;

/// True when the sending half will have something to send because of what the receiving half has met.
fn wants_sender(link: &Link) -> bool {
    link.wants_sender(|failure| failure.alert.is_some())
}

impl CommonState {
    /// Checks that the connection can be split.
    ///
    /// # Errors
    ///
    /// [`Error::HandshakeNotComplete`]; the error that ended the connection.
    pub(crate) fn check_splittable(&self) -> Result<(), Error> {
        self.check_failed()?;
        let can_send = matches!(self.records.sending, Sending::Traffic | Sending::Closed);
        if self.is_handshaking() || !can_send || self.established.is_none() {
            return Err(Error::HandshakeNotComplete);
        }
        Ok(())
    }
}

/// Takes a connection apart that [can be](CommonState::check_splittable).
pub(crate) fn split<Data>(mut driver: Driver<Data>) -> (Sender, Receiver<Data>) {
    let link = Arc::new(Link::new());
    let whole = &mut driver.common;
    let facts = Arc::new(Facts::new(whole));

    let mut sending = CommonState::new(whole.side);
    sending.established = whole
        .established
        .as_mut()
        .and_then(|established| established.split(&link));
    #[cfg(feature = "std")]
    {
        sending.buffer_limit = whole.buffer_limit;
    }
    let (from, to) = (&mut whole.records, &mut sending.records);
    to.sender = core::mem::take(&mut from.sender);
    to.outgoing = core::mem::take(&mut from.outgoing);
    to.sending = core::mem::replace(&mut from.sending, Sending::Elsewhere);
    from.sender.close();
    to.receiver.close();
    to.receiving = Receiving::Closed;
    from.other_half = Some(link.clone());
    to.other_half = Some(link.clone());

    let sender = Sender::new(sending, link.clone(), facts.clone());
    (sender, Receiver::new(driver, link, facts))
}

/// What both halves of a connection know of it: what was negotiated, and with whom.
pub struct Facts {
    side: Side,
    negotiated: Negotiated,
    #[cfg(feature = "std")]
    is_fips: bool,
}

impl Facts {
    fn new(common: &CommonState) -> Self {
        Self {
            side: common.side,
            negotiated: common.negotiated.clone(),
            #[cfg(feature = "std")]
            is_fips: common.is_fips,
        }
    }

    /// Which side of the connection this is.
    pub fn side(&self) -> Side {
        self.side
    }

    /// See [`CommonState::peer_certificates`].
    pub fn peer_certificates(&self) -> Option<&[CertificateDer<'static>]> {
        self.peer_identity().map(PeerIdentity::certificates)
    }

    /// See [`CommonState::peer_identity`].
    pub fn peer_identity(&self) -> Option<&PeerIdentity> {
        self.negotiated.proven_peer()
    }

    /// The application protocol that was negotiated (RFC 7301).
    pub fn alpn_protocol(&self) -> Option<&[u8]> {
        self.negotiated.alpn_protocol.as_deref()
    }

    /// The cipher suite that was negotiated.
    pub fn negotiated_cipher_suite(&self) -> Option<SupportedCipherSuite> {
        self.negotiated.suite
    }

    /// The key exchange group that was negotiated.
    pub fn negotiated_key_exchange_group(&self) -> Option<&'static dyn SupportedKxGroup> {
        self.negotiated.kx_group
    }

    /// The protocol version that was negotiated.
    pub fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.negotiated.version
    }

    /// Which kind of handshake was made.
    pub fn handshake_kind(&self) -> Option<HandshakeKind> {
        self.negotiated.handshake_kind
    }

    /// True when the connection runs in FIPS-approved mode, as its configuration says.
    #[cfg(feature = "std")]
    pub fn fips(&self) -> bool {
        self.is_fips
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts")
            .field("side", &self.side)
            .field("version", &self.negotiated.version)
            .field("suite", &self.negotiated.suite)
            .finish_non_exhaustive()
    }
}

/// Why a connection was not split. It has the connection, as it was.
pub struct IntoSplitError<C>(Box<Refused<C>>);

struct Refused<C> {
    connection: C,
    error: Error,
}

impl<C> IntoSplitError<C> {
    pub(crate) fn new(connection: C, error: Error) -> Self {
        Self(Box::new(Refused { connection, error }))
    }

    /// [`Error::HandshakeNotComplete`], or the error that ended the connection.
    pub fn error(&self) -> &Error {
        &self.0.error
    }

    /// The connection, as it was.
    pub fn into_connection(self) -> C {
        self.0.connection
    }
}

impl<C> From<IntoSplitError<C>> for Error {
    fn from(refused: IntoSplitError<C>) -> Self {
        refused.0.error
    }
}

impl<C> fmt::Debug for IntoSplitError<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IntoSplitError").field(self.error()).finish()
    }
}

impl<C> fmt::Display for IntoSplitError<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the connection cannot be split: {}", self.error())
    }
}

impl<C> core::error::Error for IntoSplitError<C> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(self.error())
    }
}
