//! Runs each task on its own thread, and polls it only when it was woken. A lost wake-up is an
//! error here, too: it does not hang, because the threads notice if all of them wait.

use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::thread;

/// A task with its name.
pub(crate) type Task<'a> = (&'static str, Pin<Box<dyn Future<Output = ()> + Send + 'a>>);

#[derive(Clone, Copy, PartialEq)]
enum State {
    Runs,
    /// The task runs, and was woken in the meantime.
    RunsAgain,
    Waits,
    Ended,
}

#[derive(Default)]
struct Threads {
    all: Mutex<All>,
    has_changed: Condvar,
}

#[derive(Default)]
struct All {
    states: Vec<State>,
    /// True once a thread has panicked, or all of them wait.
    has_failed: bool,
}

/// Wakes one task.
struct Wakes {
    threads: Arc<Threads>,
    number: usize,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        let all = &mut *self.threads.lock();
        let state = &mut all.states[self.number];
        match state {
            State::Runs => *state = State::RunsAgain,
            State::Waits => {
                *state = State::Runs;
                self.threads.has_changed.notify_all();
            }
            State::RunsAgain | State::Ended => {}
        }
    }
}

impl Threads {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state of a task that no longer runs.
    fn stop(&self, all: &mut All, number: usize, state: State) {
        all.states[number] = state;
        let runs = |state: &State| matches!(state, State::Runs | State::RunsAgain);
        if !all.states.iter().any(runs) && all.states.contains(&State::Waits) {
            self.fail(all);
        }
    }

    fn fail(&self, all: &mut All) {
        all.has_failed = true;
        self.has_changed.notify_all();
    }

    /// Waits until the task is woken.
    fn wait(&self, number: usize, name: &str) {
        let mut all = self.lock();
        if all.states[number] == State::RunsAgain {
            all.states[number] = State::Runs;
            return;
        }
        self.stop(&mut all, number, State::Waits);
        while all.states[number] == State::Waits {
            assert!(!all.has_failed, "nobody wakes {name}");
            let woken = self.has_changed.wait(all);
            all = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Ends the other threads, too, if this one panics.
struct Guard<'a>(&'a Threads);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fail(&mut self.0.lock());
        }
    }
}

/// Runs all tasks to completion.
///
/// # Panics
///
/// Panics if a task panics, or if all tasks wait and none was woken.
pub(crate) fn run_on_threads(tasks: Vec<Task<'_>>) {
    let threads = Arc::new(Threads::default());
    threads.lock().states = vec![State::Runs; tasks.len()];
    thread::scope(|scope| {
        for (number, (name, mut future)) in tasks.into_iter().enumerate() {
            let threads = threads.clone();
            scope.spawn(move || {
                let _guard = Guard(&threads);
                let waker = Waker::from(Arc::new(Wakes {
                    threads: threads.clone(),
                    number,
                }));
                let mut task = Context::from_waker(&waker);
                while future.as_mut().poll(&mut task).is_pending() {
                    threads.wait(number, name);
                }
                drop(future);
                threads.stop(&mut threads.lock(), number, State::Ended);
            });
        }
    });
}
