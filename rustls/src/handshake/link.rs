//! The channel between the two halves of a connection: one atomic byte, and the failure that ended
//! the connection. No call blocks.
//!
//! ```text
//!              ┌───────── Link ─────────┐
//!              │ UPDATE, REFUSAL    ◄── │
//!   Sender ────┤ AWAITED, DONE      ──► ├──── Receiver
//!              │ FAILED, failure    ◄─► │
//!              └────────────────────────┘
//! ```
//!
//! Apart from its names, it is independent of TLS. `ci/loom` compiles this file with loom's atomics
//! to test the interleavings of both halves.

use super::atomics::{AtomicU8, OnceBox, Ordering};

/// The peer has requested a KeyUpdate. Set by the receiver, cleared by the sender.
const UPDATE: u8 = 1;
/// The peer wants to renegotiate. A warning rejects that. Set by the receiver, cleared by the
/// sender.
const REFUSAL: u8 = 1 << 1;
/// The connection has failed, and the failure is stored. Set by either half, and never cleared.
const FAILED: u8 = 1 << 2;
/// The sender has requested a KeyUpdate. Set by the sender, cleared by the receiver when one
/// arrives.
const AWAITED: u8 = 1 << 3;
/// The sender sends nothing more. Set by the sender, and never cleared.
const DONE: u8 = 1 << 4;

/// The bits that the sender must act on.
const FOR_SENDER: u8 = UPDATE | REFUSAL | FAILED;

/// The state that both halves share. `F` is the type of the failure.
///
/// A call that begins after the call that set a bit has returned sees that bit: bits are set with
/// `Release` and read with `Acquire`. The failure is stored before [`FAILED`] is set.
pub(crate) struct Link<F> {
    state: AtomicU8,
    failure: OnceBox<F>,
}

/// The receiver's requests to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Requests {
    /// Send a KeyUpdate. One KeyUpdate satisfies all earlier requests.
    pub(crate) update: bool,
    /// Send a warning that rejects a renegotiation.
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

    /// Requests a KeyUpdate. Called by the receiver.
    pub(crate) fn owe_update(&self) {
        self.state.fetch_or(UPDATE, Ordering::Release);
    }

    /// Requests a warning that rejects a renegotiation. Called by the receiver.
    #[cfg(feature = "tls12")]
    pub(crate) fn owe_refusal(&self) {
        self.state.fetch_or(REFUSAL, Ordering::Release);
    }

    /// Returns true if the KeyUpdate that just arrived was requested. Called by the receiver. If
    /// several arrive for one request, returns true only for the first.
    pub(crate) fn take_awaited_update(&self) -> bool {
        self.state.fetch_and(!AWAITED, Ordering::AcqRel) & AWAITED != 0
    }

    /// True if the sender is asked to send something: the reply to a request or, after a failure,
    /// its alert. Called by either half. `sends_alert` returns true if the peer gets an alert for
    /// the failure.
    pub(crate) fn wants_sender(&self, sends_alert: impl FnOnce(&F) -> bool) -> bool {
        let state = self.state.load(Ordering::Acquire);
        if state & DONE != 0 {
            false
        } else if state & FAILED != 0 {
            // after a failure, only the alert is sent
            self.failure().is_some_and(sends_alert)
        } else {
            state & (UPDATE | REFUSAL) != 0
        }
    }

    /// True if there is something that the sender must act on. Called by the sender.
    // inline: this is the only cost per write that a split connection adds
    #[inline]
    pub(crate) fn concerns_sender(&self) -> bool {
        self.state.load(Ordering::Acquire) & FOR_SENDER != 0
    }

    /// Takes the pending requests. Called by the sender. A failure remains.
    pub(crate) fn take_requests(&self) -> Requests {
        let state = self.state.fetch_and(!(UPDATE | REFUSAL), Ordering::AcqRel);
        Requests {
            update: state & UPDATE != 0,
            #[cfg(feature = "tls12")]
            refusal: state & REFUSAL != 0,
        }
    }

    /// Records that the sender has requested a KeyUpdate. Called before the receiver can read
    /// one in reply.
    pub(crate) fn await_update(&self) {
        self.state.fetch_or(AWAITED, Ordering::Release);
    }

    /// True if no KeyUpdate has arrived since the sender requested one. Called by the sender.
    pub(crate) fn awaits_update(&self) -> bool {
        self.state.load(Ordering::Acquire) & AWAITED != 0
    }

    /// Records that the sender sends nothing more.
    pub(crate) fn sender_is_done(&self) {
        self.state.fetch_or(DONE, Ordering::Release);
    }

    /// Records that a half has failed. Only the first failure is stored.
    pub(crate) fn fail(&self, failure: F) {
        let _ = self.failure.set(failure.into());
        self.state.fetch_or(FAILED, Ordering::Release);
    }

    /// True if either half has failed.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.state.load(Ordering::Acquire) & FAILED != 0
    }

    /// Returns the failure of the connection, if [`Self::has_failed`].
    pub(crate) fn failure(&self) -> Option<&F> {
        self.failure.get()
    }
}
