//! Detects code that drives a connection while its handshake is waiting for an operation, but never
//! polls the operation. Event loops for rustls 0.23 do this if `set_async` was called. Such a
//! handshake hangs, and nothing else would explain why.

use core::mem;

use crate::handshake::wait::Call;
use crate::logging::warn;

/// The number of calls without a poll after which a warning is logged. Code that polls usually
/// makes fewer calls before its first poll.
const MOST: u8 = 16;

/// Counts the calls from the start of a wait to the first poll.
#[derive(Default)]
pub(crate) struct Unpolled {
    /// One more than the number of calls since the wait started. Zero if they are not counted, for
    /// example because the application has polled.
    calls: u8,
    /// The application callback of the last counted wait.
    waits_for: Option<Call>,
    /// True if a call has told the application that the handshake is waiting.
    is_reported: bool,
    /// True once the warning has been logged.
    is_logged: bool,
}

impl Unpolled {
    /// Starts counting, because the handshake is waiting for `call`, unless the warning has been
    /// logged.
    pub(crate) fn begin(&mut self, call: Call) {
        if self.calls == 0 && !self.is_logged {
            self.calls = 1;
            self.waits_for = Some(call);
            self.is_reported = false;
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

    /// Counts a call that tells the application that the handshake is waiting, unless it is the
    /// first one.
    pub(crate) fn report_wait(&mut self) {
        if self.is_reported {
            self.called();
        }
        self.is_reported = true;
    }

    /// Stops counting, because the application polls.
    pub(crate) fn polled(&mut self) {
        self.calls = 0;
    }

    /// Stops counting, because the connection is ending or there were too many calls. Logs a
    /// warning if there were calls without a poll.
    pub(crate) fn end(&mut self) {
        // the logger may panic, so it comes last
        if mem::take(&mut self.calls) > 1 {
            self.is_logged = true;
            if let Some(call) = self.waits_for {
                warn!(
                    "the handshake waits for a {call} that nobody polls: call poll_operation, or \
                     do not call set_async"
                );
            }
        }
    }
}

impl Drop for Unpolled {
    /// With `std`, logs nothing during a panic, because a second panic, in the logger, would abort
    /// the process.
    fn drop(&mut self) {
        #[cfg(feature = "std")]
        if std::thread::panicking() {
            return;
        }
        self.end();
    }
}
