//! What a long run is at, on stderr, when a person is looking.

use std::io::{IsTerminal, Write, stderr};

/// A line on the terminal that is written over and over, and gone when this is dropped. Nothing at
/// all when stderr is no terminal.
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

/// Progress that cannot be shown is no reason to fail.
fn write(line: &str) {
    let mut stderr = stderr();
    let _ = write!(stderr, "\r\x1b[2K{line}");
    let _ = stderr.flush();
}
