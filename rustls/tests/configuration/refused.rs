//! Describes rejections for comparison.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the `Debug` of an error, and `fine` for a value.
pub fn outcome<T, E: Debug>(result: Result<T, E>) -> String {
    match result {
        Ok(_) => "fine".to_string(),
        Err(error) => format!("{error:?}"),
    }
}

/// Returns the result of `call`, or a note if it panics.
pub fn or_panic(call: impl FnOnce() -> String) -> String {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| "panic".to_string())
}

/// Returns the outcomes of some results.
macro_rules! outcomes {
    ($($result:expr),*) => {
        [$($crate::configuration::refused::outcome($result)),*].join(" ")
    };
}

pub(crate) use outcomes;
