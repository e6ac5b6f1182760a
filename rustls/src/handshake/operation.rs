//! Operations that a handshake waits for, such as a signature, a verification, or an access to a
//! session storage.
//!
//! A handler calls the application, and passes the rest of its work to [`after`], as a closure that
//! owns the state:
//!
//! ```text
//!   handler ── call ──► the result ──────────────────────────► the closure, within `after`
//!                │
//!                ▼ a future
//!        State::Waiting(Operation) ◄──┐ poll_operation: still pending
//!                │ └──────────────────┘
//!                ▼ poll_operation: ready
//!           the closure
//! ```
//!
//! A call allocates only if it is pending. The negotiation of a ClientHello may make several calls,
//! so it is an `async` block, which returns the closure. It is allocated if one of the calls may be
//! pending.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::sync::atomic::{AtomicU8, Ordering};
use core::task::{Poll, ready};

use rustls_core::operation::BoxFuture;
use sync_wrapper::SyncWrapper;

use super::Context;
use crate::callbacks::{Called, poll_now};
use crate::failure::Failure;

/// An operation in progress, which results in the state `S`.
pub(crate) struct Operation<S, Data> {
    /// Futures are `Send` but need not be `Sync`. Connections are `Sync`, and poll futures only
    /// through `&mut`.
    future: SyncWrapper<BoxFuture<Result<Continuation<S, Data>, Failure>>>,
    wait: Wait,
    /// The pending callback, if the operation makes several calls.
    current_call: Option<Arc<CurrentCall>>,
}

/// The function that continues a handshake after its calls have returned.
type Continuation<S, Data> = Box<dyn FnOnce(&mut Context<'_, Data>) -> Result<S, Failure> + Send>;

/// Describes the callback that the handshake is waiting for, and which records may be opened in the
/// meantime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) call: Call,
    pub(crate) opens: Opens,
}

/// A call into the application's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Call {
    /// The choice of this side's certificate.
    Certificate,
    /// An access to the session storage.
    Session,
    /// The verification of the peer's certificates or signature.
    Verification,
    Signature,
    /// The encryption or decryption of a ticket.
    Ticket,
}

/// The records that may be opened while a handshake is waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opens {
    /// Alerts. The peer's Finished has not arrived yet. It will be protected by the current key or
    /// a later one.
    Alerts,
    /// None. The peer has sent its Finished, so its next records belong to the completed
    /// connection.
    Nothing,
}

/// The pending call in an operation that makes several calls.
pub(crate) struct CurrentCall(AtomicU8);

impl Wait {
    /// Returns a wait for `call` before the peer's Finished.
    pub(crate) const fn before_finished(call: Call) -> Self {
        Self {
            call,
            opens: Opens::Alerts,
        }
    }

    /// Returns a wait for `call` after the peer's Finished.
    pub(crate) const fn after_finished(call: Call) -> Self {
        Self {
            call,
            opens: Opens::Nothing,
        }
    }
}

impl Call {
    const ALL: [Self; 5] = [
        Self::Certificate,
        Self::Session,
        Self::Verification,
        Self::Signature,
        Self::Ticket,
    ];
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificate => "certificate",
            Self::Session => "session",
            Self::Verification => "verification",
            Self::Signature => "signature",
            Self::Ticket => "ticket",
        })
    }
}

impl CurrentCall {
    pub(crate) fn new(first: Call) -> Arc<Self> {
        Arc::new(Self(AtomicU8::new(first as u8)))
    }

    pub(crate) fn set(&self, call: Call) {
        self.0.store(call as u8, Ordering::Relaxed);
    }

    fn get(&self) -> Option<Call> {
        let current = self.0.load(Ordering::Relaxed);
        Call::ALL.into_iter().find(|call| *call as u8 == current)
    }
}

/// Calls `next` with the result of a call. If the call is pending, returns the state that waits for
/// it. `wait` describes the call.
pub(crate) fn after<S, Data, T>(
    called: Called<T>,
    wait: Wait,
    cx: &mut Context<'_, Data>,
    next: impl FnOnce(T, &mut Context<'_, Data>) -> Result<S, Failure> + Send + 'static,
) -> Result<S, Failure>
where
    S: From<Operation<S, Data>> + 'static,
    Data: 'static,
    T: Send + 'static,
{
    match called {
        Called::Returned(result) => next(result, cx),
        Called::Pending(future) => Ok(pending(wait, None, async move {
            let result = future.await;
            Ok(move |cx: &mut Context<'_, Data>| next(result, cx))
        })),
    }
}

/// Runs `operation`, which may make several calls, and then the function that it returns. If a call
/// is pending, returns the state that waits for it. `wait` describes the first call, and
/// `current_call` names the pending one.
pub(crate) fn run<S, Data, C>(
    wait: Wait,
    current_call: Arc<CurrentCall>,
    operation: impl Future<Output = Result<C, Failure>> + Send + 'static,
    cx: &mut Context<'_, Data>,
) -> Result<S, Failure>
where
    S: From<Operation<S, Data>> + 'static,
    Data: 'static,
    C: FnOnce(&mut Context<'_, Data>) -> Result<S, Failure> + Send + 'static,
{
    let mut operation = Box::pin(operation);
    match poll_now(operation.as_mut()) {
        Poll::Ready(next) => next?(cx),
        Poll::Pending => Ok(pending(wait, Some(current_call), operation)),
    }
}

/// Returns the state that waits for `operation`.
pub(crate) fn pending<S, Data, C>(
    wait: Wait,
    current_call: Option<Arc<CurrentCall>>,
    operation: impl Future<Output = Result<C, Failure>> + Send + 'static,
) -> S
where
    S: From<Operation<S, Data>> + 'static,
    Data: 'static,
    C: FnOnce(&mut Context<'_, Data>) -> Result<S, Failure> + Send + 'static,
{
    S::from(Operation {
        future: SyncWrapper::new(Box::pin(async move {
            let next: Continuation<S, Data> = Box::new(operation.await?);
            Ok(next)
        })),
        wait,
        current_call,
    })
}

impl<S, Data> Operation<S, Data> {
    pub(crate) fn wait(&self) -> Wait {
        let current = self.current_call.as_ref().and_then(|call| call.get());
        Wait {
            call: current.unwrap_or(self.wait.call),
            ..self.wait
        }
    }

    /// Polls the operation. Returns the next state once its calls have returned.
    pub(crate) fn poll(
        &mut self,
        task: &mut core::task::Context<'_>,
        cx: &mut Context<'_, Data>,
    ) -> Poll<Result<S, Failure>> {
        let next = ready!(self.future.get_mut().as_mut().poll(task));
        cx.recorder.call_returned();
        Poll::Ready(next.and_then(|next| next(cx)))
    }
}
