//! What the two halves of a connection tell each other: one atomic byte, and a place for the failure that ended the
//! connection. No call waits.
//!
//! ```text
//!                    ┌──────────────── Link ────────────────┐
//!                    │ UPDATE, REFUSAL ◄── process           │
//!   Sender ──────────┤ AWAITED, DONE   ──► process           ├────────── Receiver
//!                    │ FAILED, failure ◄─► whoever is first  │
//!                    └──────────────────────────────────────┘
//! ```
//!
//! It knows nothing of TLS beyond these names. `ci/loom` compiles this file with the atomics of loom, which try all
//! interleavings.

use super::atomics::{AtomicU8, OnceBox, Ordering};

/// The peer has requested a KeyUpdate. Set by the receiver, cleared by the sender.
const UPDATE: u8 = 1;
/// The peer has asked to renegotiate, which a warning refuses. Set by the receiver, cleared by the sender.
const REFUSAL: u8 = 1 << 1;
/// The connection is over, and why is known. Set once, by either.
const FAILED: u8 = 1 << 2;
/// The sender has requested a KeyUpdate. Set by the sender, cleared by the receiver when one comes.
const AWAITED: u8 = 1 << 3;
/// The sender sends nothing any more. Set once, by the sender.
const DONE: u8 = 1 << 4;

/// What the sender has to look after.
const NEWS: u8 = UPDATE | REFUSAL | FAILED;

/// What two halves share. `F` is why a connection has failed.
///
/// A bit that is set is seen by every call that begins after the one that set it has returned: each is set with
/// `Release` and read with `Acquire`, and the failure is in its place before [`FAILED`] says so.
pub(crate) struct Link<F> {
    state: AtomicU8,
    failure: OnceBox<F>,
}

/// What the receiver wants of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// A KeyUpdate. It answers all requests that came before.
    pub(crate) update: bool,
    /// A warning that refuses to renegotiate.
    #[cfg(feature = "tls12")]
    pub(crate) refusal: bool,
}

impl<F> Link<F> {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU8::new(0),
            failure: OnceBox::new(),
        }
    }

    /// The receiver wants a KeyUpdate sent.
    pub(crate) fn owe_update(&self) {
        self.state.fetch_or(UPDATE, Ordering::Release);
    }

    /// The receiver wants a warning sent that refuses to renegotiate.
    #[cfg(feature = "tls12")]
    pub(crate) fn owe_refusal(&self) {
        self.state.fetch_or(REFUSAL, Ordering::Release);
    }

    /// The receiver asks: a KeyUpdate has come; was it requested? Of several that come for one request, the first
    /// was.
    pub(crate) fn take_awaited_update(&self) -> bool {
        self.state.fetch_and(!AWAITED, Ordering::AcqRel) & AWAITED != 0
    }

    /// Either asks: will the sender have something to send, once it has taken its news? `is_told` says whether the
    /// peer is told of a failure.
    pub(crate) fn wants_sender(&self, is_told: impl FnOnce(&F) -> bool) -> bool {
        let state = self.state.load(Ordering::Acquire);
        if state & DONE != 0 {
            false
        } else if state & FAILED != 0 {
            // nothing else is sent any more
            self.failure().is_some_and(is_told)
        } else {
            state & (UPDATE | REFUSAL) != 0
        }
    }

    /// The sender asks: is there something to do?
    // the one thing that a split connection does for each write that another does not
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.state.load(Ordering::Acquire) & NEWS != 0
    }

    /// The sender takes what it has to do, once. A failure stays.
    pub(crate) fn take_news(&self) -> News {
        let state = self.state.fetch_and(!(UPDATE | REFUSAL), Ordering::AcqRel);
        News {
            update: state & UPDATE != 0,
            #[cfg(feature = "tls12")]
            refusal: state & REFUSAL != 0,
        }
    }

    /// The sender has requested a KeyUpdate. Called before the request can reach the peer.
    pub(crate) fn await_update(&self) {
        self.state.fetch_or(AWAITED, Ordering::Release);
    }

    /// The sender asks: has no KeyUpdate come since it requested one?
    pub(crate) fn awaits_update(&self) -> bool {
        self.state.load(Ordering::Acquire) & AWAITED != 0
    }

    /// The sender sends nothing any more.
    pub(crate) fn sender_is_done(&self) {
        self.state.fetch_or(DONE, Ordering::Release);
    }

    /// A half has failed. The first failure is that of the connection.
    pub(crate) fn fail(&self, failure: F) {
        let _ = self.failure.set(failure.into());
        self.state.fetch_or(FAILED, Ordering::Release);
    }

    /// The other half asks: has one failed?
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.state.load(Ordering::Acquire) & FAILED != 0
    }

    /// Why the connection has failed, if [`Self::has_failed`].
    pub(crate) fn failure(&self) -> Option<&F> {
        self.failure.get()
    }
}
