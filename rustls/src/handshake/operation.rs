//! Operations that a handshake waits for, such as a signature, a verification, or an access to a
//! session storage.
//!
//! - A *callback* is the application's code, such as a verifier.
//! - A *call* is one invocation of a callback. [`Call`](super::wait::Call) names its kind.
//! - An *operation* is a future that the connection owns. It waits for one call or several.
//! - A [`Wait`] describes the pending call, and the records that may be opened meanwhile.
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
//! [`after`] allocates only if the call is pending. The negotiation of a ClientHello may make
//! several calls, so it is an `async` block, which returns the closure. The block is allocated if
//! one of the calls may be pending.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::Future;
use core::task::{Poll, ready};

use rustls_core::operation::BoxFuture;
use sync_wrapper::SyncWrapper;

use crate::callbacks::{Called, poll_now};
use crate::failure::Failure;
use crate::handshake::context::Context;
use crate::handshake::wait::{CurrentCall, Wait};

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
