//! Notices code that drives a connection while its handshake waits for an operation, but never
//! polls it: code written for rustls 0.23, under a connection with `set_async`. Such a handshake
//! hangs, and nothing else would say why.

use crate::logging::warn;

/// The calls that code which polls never makes in a row before its first poll.
const MOST: u8 = 16;

/// The calls since the handshake began to wait, until the first poll.
#[derive(Default)]
pub(crate) struct Unpolled {
    /// The number of calls plus one; zero if nothing waits, or after a poll.
    calls: u8,
    /// True if the application was told that the handshake waits.
    is_told: bool,
    /// True once the log has the warning.
    is_logged: bool,
}

impl Unpolled {
    /// Begins to count: the handshake waits.
    pub(crate) fn begin(&mut self) {
        if self.calls == 0 && !self.is_logged {
            self.calls = 1;
            self.is_told = false;
        }
    }

    /// Counts a call without a poll. Logs a warning if there were too many.
    pub(crate) fn called(&mut self) {
        if self.calls != 0 {
            self.calls += 1;
            if self.calls > MOST {
                self.end();
            }
        }
    }

    /// Counts a call that tells the application that the handshake waits, unless it is the first.
    pub(crate) fn tell(&mut self) {
        if self.is_told {
            self.called();
        }
        self.is_told = true;
    }

    /// Stops counting: the application polls.
    pub(crate) fn polled(&mut self) {
        self.calls = 0;
    }

    /// Stops counting: the connection ends. Logs a warning if there were calls without a poll.
    pub(crate) fn end(&mut self) {
        if self.calls > 1 {
            self.is_logged = true;
            warn!(
                "the handshake waits for an operation that nobody polls: call poll_operation, or \
                 do not call set_async"
            );
        }
        self.calls = 0;
    }
}

impl Drop for Unpolled {
    fn drop(&mut self) {
        self.end();
    }
}
