//! Early data on a client's stream, until the handshake is complete.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

/// The data to send again if the server rejects it, and the tasks that complete the handshake.
#[derive(Default)]
pub(crate) struct EarlyData {
    /// True once data has been written, or once the handshake was started for another reason.
    pub(crate) has_begun: bool,
    written: Vec<u8>,
    /// The number of bytes of `written` that were sent again.
    sent: usize,
    tasks: Arc<Tasks>,
}

/// The role of a task that uses the stream.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    Reader,
    Writer,
}

/// The tasks that are waiting for the handshake. Both may have to read and write for it, but a
/// transport keeps one waker for each direction, so each event wakes both.
#[derive(Default)]
struct Tasks(Mutex<[Option<Waker>; 2]>);

impl EarlyData {
    /// Stores early data that was written, in case it must be sent again. The first time, also
    /// wakes a waiting reader, which then completes the handshake.
    pub(crate) fn keep(&mut self, data: &[u8]) {
        self.written.extend_from_slice(data);
        if !mem::replace(&mut self.has_begun, true) {
            self.tasks.wake_by_ref();
        }
    }

    /// Returns the data that has not been sent again yet.
    pub(crate) fn unsent(&self) -> &[u8] {
        &self.written[self.sent..]
    }

    /// Counts bytes that were sent again.
    pub(crate) fn sent(&mut self, len: usize) {
        self.sent += len;
    }

    /// Stores the waker of a task that waits for the handshake.
    pub(crate) fn wait(&self, task: &Context<'_>, role: Role) {
        let mut tasks = self.tasks.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks[role as usize] = Some(task.waker().clone());
    }

    /// Returns a waker of this task, and of the other task if it is waiting.
    pub(crate) fn waker_of_both(&self, task: &Context<'_>, role: Role) -> Waker {
        self.wait(task, role);
        Waker::from(self.tasks.clone())
    }
}

impl Wake for Tasks {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // a waker may call anything, so it is called without the lock
        let tasks = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.into_iter().flatten().for_each(Waker::wake);
    }
}
