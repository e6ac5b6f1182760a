//! Waiting for a future by parking the thread, for connections over blocking I/O.

use alloc::sync::Arc;
use core::task::{Context, Poll, Waker};
use std::task::Wake;
use std::thread::{self, Thread};

/// Calls `poll` until it is ready. Parks the thread in between, until the task is woken.
pub(super) fn park_until_ready<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let waker = Waker::from(Arc::new(Parked(thread::current())));
    let mut task = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(result) = poll(&mut task) {
            return result;
        }
        thread::park();
    }
}

/// A thread that waits for a future.
struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
