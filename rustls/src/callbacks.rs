//! Calls into the application's code, synchronous or through futures.
//!
//! A call returns a [`Called`]: its result, or a future for it. A server's negotiation may make
//! several calls, and is an `async` function. A server that need not wait runs it synchronously.
//! That works because it then only calls synchronous methods.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use rustls_core::operation::BoxFuture;

use crate::error::Error;

/// The kinds of callbacks that a connection may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Callbacks {
    /// Only the synchronous methods.
    #[default]
    Sync,
    /// Also the methods that return futures. The owner of the connection polls the futures.
    Async,
}

/// The [`Callbacks`] of a negotiation as a type, for code that is compiled once for each mode. So
/// negotiations that cannot wait contain no code for waiting.
pub(crate) trait CallMode {
    const CALLBACKS: Callbacks;
}

/// The mode of negotiations that cannot wait.
pub(crate) struct SyncCalls;

/// The mode of negotiations that may wait.
pub(crate) struct AsyncCalls;

impl CallMode for SyncCalls {
    const CALLBACKS: Callbacks = Callbacks::Sync;
}

impl CallMode for AsyncCalls {
    const CALLBACKS: Callbacks = Callbacks::Async;
}

impl Callbacks {
    /// Returns `Async` if the connection can wait and `may_wait` returns true, and `Sync`
    /// otherwise. Calls `may_wait` only if the connection can wait.
    pub(crate) fn of(self, may_wait: impl FnOnce() -> bool) -> Self {
        match self {
            Self::Async if may_wait() => Self::Async,
            _ => Self::Sync,
        }
    }

    /// Returns the future that `start` creates. Returns `None`, without calling `start`, if the
    /// connection cannot wait.
    pub(crate) fn future<T>(
        self,
        start: impl FnOnce() -> Option<BoxFuture<T>>,
    ) -> Option<BoxFuture<T>> {
        match self {
            Self::Sync => None,
            Self::Async => start(),
        }
    }

    /// Calls `start` if the connection can wait. If it cannot, or if there is no future, calls
    /// `call`.
    pub(crate) fn call<T>(
        self,
        start: impl FnOnce() -> Option<BoxFuture<T>>,
        call: impl FnOnce() -> T,
    ) -> Called<T> {
        match self.future(start) {
            Some(future) => Called::Pending(future),
            None => Called::Returned(call()),
        }
    }
}

/// The result of a call into the application's code.
pub(crate) enum Called<T> {
    Returned(T),
    /// The future for the result. Only the owner of the connection polls it, because it may need
    /// that owner's runtime.
    Pending(BoxFuture<T>),
}

impl<T> Called<T> {
    /// Applies `f` to the result.
    pub(crate) fn map<U>(self, f: impl FnOnce(T) -> U + Send + 'static) -> Called<U>
    where
        T: 'static,
        U: 'static,
    {
        match self {
            Self::Returned(result) => Called::Returned(f(result)),
            Self::Pending(future) => Called::Pending(Box::pin(async move { f(future.await) })),
        }
    }

    /// Returns the result. The first poll does not reach the application's future: that poll may
    /// come from the code that makes the call, outside the runtime of the connection's owner.
    pub(crate) async fn result(self) -> T {
        match self {
            Self::Returned(result) => result,
            Self::Pending(future) => {
                Deferred {
                    future,
                    is_polled: false,
                }
                .await
            }
        }
    }
}

/// Runs `future`, which only calls synchronous methods. The caller pins it, because a move would
/// copy all of its state.
///
/// # Errors
///
/// Returns [`Error::General`] if `future` is not ready immediately.
pub(crate) fn run_sync<T>(future: Pin<&mut impl Future<Output = T>>) -> Result<T, Error> {
    match poll_now(future) {
        Poll::Ready(result) => Ok(result),
        Poll::Pending => Err(Error::General(
            "an operation waits, but nobody polls it".into(),
        )),
    }
}

/// Polls `future` without a task to wake.
pub(crate) fn poll_now<T>(future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Wraps a future from the application. The first poll returns `Pending` without polling that
/// future.
struct Deferred<T> {
    future: BoxFuture<T>,
    is_polled: bool,
}

impl<T> Future for Deferred<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<T> {
        if !self.is_polled {
            self.is_polled = true;
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.future.as_mut().poll(task)
    }
}
