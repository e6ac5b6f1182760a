//! An established connection, split into two halves that can run on different threads.
//!
//! ```text
//!                   CommonState
//!                        │ into_split
//!            ┌───────────┴────────────┐
//!            ▼                        ▼
//!   Sender: CommonState ◄─ link ─► Receiver: Driver
//!     sender, outgoing,              receiver, received, joiner,
//!     sending secret,                receiving secret, exporter,
//!     session                        session, the handshake, for tickets
//! ```
//!
//! Each half has the parts of a whole connection, with the other direction closed:
//! [`super::sending`] and [`super::driver`] do the work. The halves exchange requests and failures
//! through the [`link`], which each half checks before it sends or processes data. A connection
//! that was not split has no link to check.
//!
//! [`link`]: crate::handshake::link

mod receiver;
mod sender;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

pub use receiver::{Receiver, ReceiverState};
pub use sender::Sender;
#[cfg(feature = "std")]
pub use sender::Writer;

use super::common_state::CommonState;
use super::driver::Driver;
use super::records::{Receiving, Sending};
use crate::enums::Side;
use crate::error::Error;
use crate::handshake::Link;
use crate::handshake::negotiated::{Negotiated, negotiated_accessors};

/// True if the sending half has something to send for the receiving half, or the alert of a
/// failure.
fn wants_sender(link: &Link) -> bool {
    link.wants_sender(|failure| failure.alert.is_some())
}

impl CommonState {
    /// Checks that the connection can be split.
    ///
    /// # Errors
    ///
    /// Returns [`Error::HandshakeNotComplete`], or the error that ended the connection.
    pub(crate) fn check_splittable(&self) -> Result<(), Error> {
        self.check_failed()?;
        let can_send = matches!(self.records.sending, Sending::Traffic | Sending::Closed);
        if self.is_handshaking() || !can_send || self.established.is_none() {
            return Err(Error::HandshakeNotComplete);
        }
        Ok(())
    }
}

/// Splits a connection that passed [`CommonState::check_splittable`].
pub(crate) fn split<Data>(mut driver: Driver<Data>) -> (Sender, Receiver<Data>) {
    let link = Arc::new(Link::new());
    let connection = &mut driver.common;
    let facts = Arc::new(Facts::new(connection));

    let mut sending = CommonState::new(connection.side);
    sending.established = connection
        .established
        .as_mut()
        .and_then(|established| established.split(&link));
    #[cfg(feature = "std")]
    {
        sending.buffer_limit = connection.buffer_limit;
    }
    let traffic = connection.traffic();
    if let Some(observation) = &mut connection.observation {
        sending.observation = Some(observation.split(traffic));
        sending.negotiated = connection.negotiated.clone();
    }
    let (from, to) = (&mut connection.records, &mut sending.records);
    to.sender = core::mem::take(&mut from.sender);
    to.outgoing = core::mem::take(&mut from.outgoing);
    to.sending = core::mem::replace(&mut from.sending, Sending::Elsewhere);
    from.sender.close();
    to.receiver.close();
    to.receiving = Receiving::Closed;
    from.other_half = Some(link.clone());
    to.other_half = Some(link.clone());

    let session = driver.share_session();
    let sender = Sender::new(sending, session, link.clone(), facts.clone());
    (sender, Receiver::new(driver, link, facts))
}

/// The negotiated properties that both halves of a connection share.
pub struct Facts {
    side: Side,
    negotiated: Negotiated,
    #[cfg(feature = "std")]
    is_fips: bool,
}

negotiated_accessors!(Facts);

impl Facts {
    fn new(common: &CommonState) -> Self {
        Self {
            side: common.side,
            negotiated: common.negotiated.clone(),
            #[cfg(feature = "std")]
            is_fips: common.is_fips,
        }
    }

    /// Returns the side of the connection.
    pub fn side(&self) -> Side {
        self.side
    }

    /// True if the connection runs in FIPS-approved mode.
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

/// The error from splitting a connection. It holds the unchanged connection.
pub struct IntoSplitError<C>(Box<Refused<C>>);

struct Refused<C> {
    connection: C,
    error: Error,
}

impl<C> IntoSplitError<C> {
    pub(crate) fn new(connection: C, error: Error) -> Self {
        Self(Box::new(Refused { connection, error }))
    }

    /// Returns [`Error::HandshakeNotComplete`], or the error that ended the connection, or
    /// [`Error::General`] if an unbuffered connection has data that was not taken.
    pub fn error(&self) -> &Error {
        &self.0.error
    }

    /// Returns the connection, which was not split and has not changed.
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
