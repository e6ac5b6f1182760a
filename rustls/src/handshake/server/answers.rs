//! The application's answers about one ClientHello, if they take time.
//!
//! The functions that handle a ClientHello borrow it, so they cannot wait. They stop with
//! [`Stop::Waits`] instead. Once the answer has arrived, the ClientHello is handled again from its
//! beginning, and finds the answer here. Nothing is sent before the last answer.
//!
//! A connection that cannot wait gets its answers at once, and keeps none.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Poll;

use pki_types::UnixTime;
use rustls_core::operation::BoxFuture;

use crate::asking::{Asking, poll_now};
use crate::config::session::client_auth::AcceptedClient;
use crate::config::session::stored::ServerSessionValue;
use crate::config::sign::CertifiedKey;
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::transcript::Transcript;

/// The answers so far.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) asking: Asking,
    certificate: Option<Option<Arc<CertifiedKey>>>,
    /// The sessions that the client offers, by their index, each with the way it was looked up.
    sessions: Vec<(Lookup, Option<ServerSessionValue>)>,
    /// The client of the session at this index.
    client: Option<(usize, Option<AcceptedClient>)>,
    /// The time of the ClientHello, at which each pass decides. `None` if the clock failed.
    now: Option<Option<UnixTime>>,
    /// The transcript up to the binders, if the sessions were already looked up.
    pub(crate) transcript: Option<Transcript>,
}

/// The way to look up a session. It is part of the question, because a session from a ticket is
/// subject to other rules than one from the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The ticketer decrypts a ticket.
    Decrypt,
    /// The session stays in the storage.
    Get,
    /// The session is removed from the storage.
    Take,
}

/// The reason to stop handling a ClientHello.
pub(crate) enum Stop {
    Failed(Failure),
    /// The answer takes time.
    Waits(BoxFuture<Answer>),
}

/// An answer that took time.
pub(crate) enum Answer {
    Certificate(Option<Arc<CertifiedKey>>),
    Session(Lookup, Option<ServerSessionValue>),
    Client(usize, Option<AcceptedClient>),
}

impl Answers {
    pub(crate) fn new(asking: Asking) -> Self {
        Self {
            asking,
            ..Self::default()
        }
    }

    /// Adds an answer that took time.
    pub(crate) fn add(&mut self, answer: Answer) {
        match answer {
            Answer::Certificate(certificate) => self.certificate = Some(certificate),
            Answer::Session(lookup, session) => self.sessions.push((lookup, session)),
            Answer::Client(index, client) => self.client = Some((index, client)),
        }
    }

    /// Returns the time of the first call. The result of `read` is kept while answers are awaited,
    /// so that each pass over the ClientHello makes the same decisions.
    pub(crate) fn now(&mut self, read: impl FnOnce() -> Option<UnixTime>) -> Option<UnixTime> {
        match self.asking {
            Asking::AtOnce => read(),
            Asking::MayWait => *self.now.get_or_insert_with(read),
        }
    }

    /// Returns the certificate that the resolver chooses: by the future of `start`, or else by
    /// `ask`.
    pub(crate) fn certificate(
        &mut self,
        start: impl FnOnce() -> Option<BoxFuture<Option<Arc<CertifiedKey>>>>,
        ask: impl FnOnce() -> Option<Arc<CertifiedKey>>,
    ) -> Result<Option<Arc<CertifiedKey>>, Stop> {
        if self.asking == Asking::AtOnce {
            return Ok(ask());
        }
        if let Some(known) = &self.certificate {
            return Ok(known.clone());
        }
        let certificate = answer(self.asking.future(start), ask, Answer::Certificate)?;
        self.certificate = Some(certificate.clone());
        Ok(certificate)
    }

    /// Returns the session that the client offers at `index`: by the future of `start`, or else by
    /// `ask`, both of which look it up by `lookup`. Sessions are asked for in the order of their
    /// indices.
    ///
    /// If an earlier pass has looked it up in another way, because the ticketer or the storage were
    /// enabled or disabled meanwhile, there is no session.
    pub(crate) fn session(
        &mut self,
        index: usize,
        lookup: Lookup,
        start: impl FnOnce() -> Option<BoxFuture<Option<ServerSessionValue>>>,
        ask: impl FnOnce() -> Option<ServerSessionValue>,
    ) -> Result<Option<ServerSessionValue>, Stop> {
        if self.asking == Asking::AtOnce {
            return Ok(ask());
        }
        if let Some((known_by, known)) = self.sessions.get(index) {
            return Ok(known.clone().filter(|_| *known_by == lookup));
        }
        let session = answer(self.asking.future(start), ask, move |session| {
            Answer::Session(lookup, session)
        })?;
        self.sessions.push((lookup, session.clone()));
        Ok(session)
    }

    /// Returns the client of the session at `index`, if the verifier still accepts it: by the
    /// future of `start`, or else by `ask`.
    pub(crate) fn client(
        &mut self,
        index: usize,
        start: impl FnOnce() -> BoxFuture<Option<AcceptedClient>>,
        ask: impl FnOnce() -> Option<AcceptedClient>,
    ) -> Result<Option<AcceptedClient>, Stop> {
        if self.asking == Asking::AtOnce {
            return Ok(ask());
        }
        match self.client {
            Some((of, known)) if of == index => Ok(known),
            _ => answer(Some(start()), ask, move |client| {
                Answer::Client(index, client)
            }),
        }
    }
}

/// Returns the answer of `future`, or else of `ask`. Stops if the future takes time.
fn answer<T: Send + 'static>(
    future: Option<BoxFuture<T>>,
    ask: impl FnOnce() -> T,
    wrap: impl FnOnce(T) -> Answer + Send + 'static,
) -> Result<T, Stop> {
    let Some(mut future) = future else {
        return Ok(ask());
    };
    match poll_now(future.as_mut()) {
        Poll::Ready(answer) => Ok(answer),
        Poll::Pending => Err(Stop::Waits(Box::pin(async move { wrap(future.await) }))),
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<PeerMisbehaved> for Stop {
    fn from(error: PeerMisbehaved) -> Self {
        Self::Failed(error.into())
    }
}

impl From<PeerIncompatible> for Stop {
    fn from(error: PeerIncompatible) -> Self {
        Self::Failed(error.into())
    }
}

#[cfg(test)]
mod tests;
