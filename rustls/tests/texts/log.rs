//! The results of calls, for comparison between the two crates.

use std::fmt::Debug;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use harness::comparison::agree;

/// A line for each call.
#[derive(Default)]
pub struct Log(Vec<String>);

impl Log {
    /// Logs the error that `call` returns, or that it panics or succeeds.
    pub fn call<T, E: Debug>(&mut self, what: &str, call: impl FnOnce() -> Result<T, E>) {
        let outcome = match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(_)) => "fine".to_owned(),
            Ok(Err(error)) => format!("{error:?}"),
            Err(_) => "panic".to_owned(),
        };
        self.0.push(format!("{what}: {outcome}"));
    }

    /// Like [`Self::call`], with the kind and the text of an I/O error.
    pub fn io<T>(&mut self, what: &str, call: impl FnOnce() -> io::Result<T>) {
        self.call(what, || {
            call().map_err(|error| (error.kind(), error.to_string()))
        });
    }

    /// Fails unless all lines agree with `theirs`.
    #[track_caller]
    pub fn assert_agrees(&self, theirs: &Self) {
        let pairs = self.0.iter().zip(&theirs.0);
        let different: Vec<_> = pairs
            .filter(|(ours, theirs)| !agree(ours, theirs))
            .map(|(ours, theirs)| format!("ours   {ours}\ntheirs {theirs}"))
            .collect();
        assert!(different.is_empty(), "{}", different.join("\n"));
        assert_eq!(self.0.len(), theirs.0.len());
    }
}
