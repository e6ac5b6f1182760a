//! Operations that a handshake waits for: a signature, a verification, an access to a session
//! storage.
//!
//! A handler asks in an `async` block. It owns the state, and returns the function that continues
//! with the answer:
//!
//! ```text
//!   handler ── run ──► async block ── the answer is there ──► continues at once
//!                           │
//!                           │ the answer takes time
//!                           ▼
//!                  State::Waiting(Operation) ◄──┐ poll_operation: still pending
//!                           │ └─────────────────┘
//!                           ▼ poll_operation: ready
//!                       continues
//! ```
//!
//! Connections whose owner does not poll never reach `State::Waiting`, and allocate nothing here.

use alloc::boxed::Box;
use core::future::Future;
use core::task::{Poll, ready};

use rustls_core::operation::BoxFuture;
use sync_wrapper::SyncWrapper;

use super::Context;
use crate::asking::{Asking, at_once, poll_now};
use crate::failure::Failure;

/// An operation under way, which results in the state `S`.
pub(crate) struct Operation<S, Data> {
    /// A future may be `Send` only. Connections are `Sync`, and only poll it through `&mut`.
    future: SyncWrapper<BoxFuture<Result<Continuation<S, Data>, Failure>>>,
    wait: Wait,
}

/// The function that continues a handshake with an answer.
type Continuation<S, Data> = Box<dyn FnOnce(&mut Context<'_, Data>) -> Result<S, Failure> + Send>;

/// The records that may be opened while a handshake waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wait {
    /// All of them: the handshake does not wait.
    #[default]
    No,
    /// Alerts. The peer's Finished is still to come, under the current key or a later one.
    BeforeFinished,
    /// None. The peer has sent its Finished: its next records belong to the complete connection.
    AfterFinished,
}

/// Runs `operation`, and the function that it returns. If an answer takes time, returns the state
/// that waits for it. `wait` names the records that may be opened meanwhile.
pub(crate) fn run<S, Data, C>(
    wait: Wait,
    operation: impl Future<Output = Result<C, Failure>> + Send + 'static,
    cx: &mut Context<'_, Data>,
) -> Result<S, Failure>
where
    S: From<Operation<S, Data>> + 'static,
    Data: 'static,
    C: FnOnce(&mut Context<'_, Data>) -> Result<S, Failure> + Send + 'static,
{
    match cx.asking {
        Asking::AtOnce => at_once(operation)??(cx),
        Asking::MayWait => {
            let mut operation = Box::pin(operation);
            match poll_now(operation.as_mut()) {
                Poll::Ready(next) => next?(cx),
                Poll::Pending => Ok(S::from(Operation {
                    future: SyncWrapper::new(Box::pin(async move {
                        let next: Continuation<S, Data> = Box::new(operation.await?);
                        Ok(next)
                    })),
                    wait,
                })),
            }
        }
    }
}

impl<S, Data> Operation<S, Data> {
    pub(crate) fn wait(&self) -> Wait {
        self.wait
    }

    /// Polls the operation. Returns the next state once the answer is there.
    pub(crate) fn poll(
        &mut self,
        task: &mut core::task::Context<'_>,
        cx: &mut Context<'_, Data>,
    ) -> Poll<Result<S, Failure>> {
        let next = ready!(self.future.get_mut().as_mut().poll(task));
        Poll::Ready(next.and_then(|next| next(cx)))
    }
}
