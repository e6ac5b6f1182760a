//! Runs tasks, and polls them only when they were woken: a lost wake-up is an error. Each poll has
//! another waker, as if the future had moved to another task, and only the last one counts.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use harness::wire::Noise;

/// A waker that remembers whether it was woken.
#[derive(Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls until the result is ready, or the task is pending and was not woken.
pub(crate) fn poll_while_woken<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    for _ in 0..10_000 {
        let flag = Arc::new(Flag::default());
        let waker = Waker::from(flag.clone());
        let result = poll(&mut Context::from_waker(&waker));
        if result.is_ready() || !flag.take() {
            return result;
        }
    }
    panic!("the task is woken again and again");
}

struct Task<'a> {
    name: &'static str,
    future: Pin<Box<dyn Future<Output = ()> + 'a>>,
    flag: Arc<Flag>,
}

/// Tasks on one thread. Polls a random one of those that were woken.
#[derive(Default)]
pub(crate) struct Executor<'a>(Vec<Task<'a>>);

impl<'a> Executor<'a> {
    pub(crate) fn spawn(&mut self, name: &'static str, future: impl Future<Output = ()> + 'a) {
        let flag = Arc::new(Flag::default());
        flag.clone().wake();
        let future = Box::pin(future);
        self.0.push(Task { name, future, flag });
    }

    /// Runs all tasks to completion.
    ///
    /// # Panics
    ///
    /// Panics if all tasks wait and none was woken.
    pub(crate) fn run(&mut self, noise: &mut Noise) {
        while !self.0.is_empty() {
            let first = noise.up_to(self.0.len()) - 1;
            let order = (first..self.0.len()).chain(0..first);
            let woken = order.into_iter().find(|&at| self.0[at].flag.take());
            let Some(at) = woken else {
                let names: Vec<_> = self.0.iter().map(|task| task.name).collect();
                panic!("nobody wakes {names:?}");
            };
            let task = &mut self.0[at];
            task.flag = Arc::default();
            let waker = Waker::from(task.flag.clone());
            let polled = task.future.as_mut().poll(&mut Context::from_waker(&waker));
            if polled.is_ready() {
                drop(self.0.swap_remove(at));
            }
        }
    }
}
