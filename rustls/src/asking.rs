//! Questions to the application's code: answered at once, or by a future.
//!
//! Code that asks is written once, as an `async` function. A connection that cannot wait runs it to
//! its end at once, because it asks only methods that answer at once.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

use rustls_core::operation::BoxFuture;

use crate::error::Error;

/// The methods of the application that a connection may call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Asking {
    /// Methods of rustls 0.23, which answer at once.
    #[default]
    AtOnce,
    /// Also methods that return futures, because the connection's owner polls them.
    MayWait,
}

impl Asking {
    /// Returns the future of `start`, unless the connection cannot wait.
    pub(crate) fn future<T: Send + 'static>(
        self,
        start: impl FnOnce() -> Option<BoxFuture<T>>,
    ) -> Option<BoxFuture<T>> {
        match self {
            Self::AtOnce => None,
            Self::MayWait => Some(Box::pin(Deferred::new(start()?))),
        }
    }

    /// Returns the answer of the future of `start`, or else of `ask`.
    pub(crate) async fn ask<T: Send + 'static>(
        self,
        start: impl FnOnce() -> Option<BoxFuture<T>>,
        ask: impl FnOnce() -> T,
    ) -> T {
        match self.future(start) {
            Some(future) => future.await,
            None => ask(),
        }
    }
}

/// Runs `future`, which asks only methods that answer at once.
///
/// # Errors
///
/// Returns [`Error::General`] if it waits nevertheless.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    match poll_now(pin!(future)) {
        Poll::Ready(answer) => Ok(answer),
        Poll::Pending => Err(Error::General(
            "an operation waits, but nobody polls it".into(),
        )),
    }
}

/// Polls `future` without a task to wake.
pub(crate) fn poll_now<T>(future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A future of the application that is first polled by the connection's owner, whose runtime it may
/// need, and not by the code that creates it.
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
