//! Progress of a long run, shown on stderr when that is a terminal.

use std::io::{IsTerminal, Write, stderr};

/// A line on the terminal that is rewritten in place and erased on drop. Writes nothing when stderr is no
/// terminal.
pub(crate) struct Progress {
    is_shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            is_shown: stderr().is_terminal(),
        }
    }

    /// Shows that `done`, from 0 to 1, of `what` is done.
    pub(crate) fn show(&self, what: &str, done: f64) {
        if self.is_shown {
            write(&format!("{what} · {:.0} %", 100.0 * done));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            write("");
        }
    }
}

/// Errors are ignored: a run need not fail because its progress cannot be shown.
fn write(line: &str) {
    let mut stderr = stderr();
    let _ = write!(stderr, "\r\x1b[2K{line}");
    let _ = stderr.flush();
}
