//! Calls into the application's code, synchronous or through futures.
//!
//! Code that makes such calls is written once, as an `async` function. A connection that cannot
//! wait runs that function synchronously, which works because it then only calls synchronous
//! methods.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use rustls_core::operation::BoxFuture;

use crate::error::Error;

/// The kinds of callbacks that a connection may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Callbacks {
    /// The synchronous methods of rustls 0.23.
    #[default]
    Sync,
    /// Also methods that return futures, which the owner of the connection polls.
    Async,
}

/// The [`Callbacks`] of a connection as a type, for code that is compiled once for each mode. So
/// connections that cannot wait contain no code for waiting.
pub(crate) trait CallMode {
    const CALLBACKS: Callbacks;
}

/// The mode of connections that cannot wait.
pub(crate) struct SyncCalls;

/// The mode of connections that may wait.
pub(crate) struct AsyncCalls;

impl CallMode for SyncCalls {
    const CALLBACKS: Callbacks = Callbacks::Sync;
}

impl CallMode for AsyncCalls {
    const CALLBACKS: Callbacks = Callbacks::Async;
}

impl Callbacks {
    /// Returns the future of `start`, unless the connection cannot wait.
    pub(crate) fn future<T: Send + 'static>(
        self,
        start: impl FnOnce() -> Option<BoxFuture<T>>,
    ) -> Option<BoxFuture<T>> {
        match self {
            Self::Sync => None,
            Self::Async => Some(Box::pin(Deferred::new(start()?))),
        }
    }

    /// Returns the result of the future that `start` returns. If there is no future, returns the
    /// result of `call`.
    pub(crate) async fn call<T: Send + 'static>(
        self,
        start: impl FnOnce() -> Option<BoxFuture<T>>,
        call: impl FnOnce() -> T,
    ) -> T {
        match self.future(start) {
            Some(future) => future.await,
            None => call(),
        }
    }
}

/// Runs `future`, which only calls synchronous methods. It is pinned by the caller, because a move
/// would copy all of its state.
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

/// A future from the application. The code that creates it does not poll it, because it may need
/// the runtime of the connection's owner.
struct Deferred<T> {
    future: BoxFuture<T>,
    is_polled: bool,
}

impl<T> Deferred<T> {
    fn new(future: BoxFuture<T>) -> Self {
        Self {
            future,
            is_polled: false,
        }
    }
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
