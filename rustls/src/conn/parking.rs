//! Waiting for a future by parking the thread, for connections over blocking I/O.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
use std::task::Wake;
use std::thread::{self, Thread};

/// Calls `poll` until it is ready. Parks the thread in between, until the task is woken.
pub(super) fn park_until_ready<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let task = Arc::new(Task {
        thread: thread::current(),
        is_woken: AtomicBool::new(false),
    });
    let waker = Waker::from(task.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(result) = poll(&mut context) {
            return result;
        }
        // other code on this thread may have taken the token of `unpark`
        while !task.is_woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

/// A thread that waits for a future.
struct Task {
    thread: Thread,
    is_woken: AtomicBool,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
