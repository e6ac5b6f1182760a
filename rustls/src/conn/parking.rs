//! Waits for a future by parking the thread, for connections over blocking I/O.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
use std::task::Wake;
use std::thread::{self, Thread};

/// Calls `poll` until it is ready. Parks the thread in between, until the task is woken.
pub(super) fn park_until_ready<T>(poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    wait_until_ready(poll, thread::park)
}

/// Calls `poll` until it is ready. Calls `park` in between, until the task is woken.
fn wait_until_ready<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>, park: impl Fn()) -> T {
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
            park();
        }
    }
}

/// A thread that is waiting for a future.
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

#[cfg(test)]
mod tests {
    use core::cell::{Cell, RefCell};

    use super::*;

    /// Returns a `poll` that is ready the third time. Before that, it passes the waker to `wake`.
    fn woken_by(wake: impl Fn(Waker)) -> impl FnMut(&mut Context<'_>) -> Poll<usize> {
        let mut polls = 0;
        move |task| {
            polls += 1;
            if polls == 3 {
                return Poll::Ready(polls);
            }
            wake(task.waker().clone());
            Poll::Pending
        }
    }

    /// The wake-up comes after the poll and before the thread parks. A thread that parked then
    /// could stay parked forever.
    #[test]
    fn no_wake_up_is_lost_before_the_thread_parks() {
        let parks = || panic!("the thread parks although it was woken");
        let here = woken_by(|waker| waker.wake());
        assert_eq!(wait_until_ready(here, parks), 3);
        let by_ref = woken_by(|waker| waker.wake_by_ref());
        assert_eq!(wait_until_ready(by_ref, parks), 3);
        let in_another_thread = woken_by(|waker| {
            thread::spawn(|| waker.wake()).join().unwrap();
        });
        assert_eq!(wait_until_ready(in_another_thread, parks), 3);
    }

    #[test]
    fn a_thread_that_is_unparked_for_another_reason_parks_again() {
        let (polls, parks) = (Cell::new(0), Cell::new(0));
        let waker = RefCell::new(None);
        let poll = |task: &mut Context<'_>| {
            polls.set(polls.get() + 1);
            match waker.replace(Some(task.waker().clone())) {
                None => Poll::Pending,
                Some(_) => Poll::Ready(()),
            }
        };
        let park = || {
            parks.set(parks.get() + 1);
            if parks.get() == 3 {
                waker.borrow().as_ref().unwrap().wake_by_ref();
            }
        };
        wait_until_ready(poll, park);
        assert_eq!((polls.get(), parks.get()), (2, 3));
    }

    #[test]
    fn a_parked_thread_is_woken_by_another_one() {
        let wake = |waker: Waker| drop(thread::spawn(|| waker.wake()));
        assert_eq!(park_until_ready(woken_by(wake)), 3);
    }
}
