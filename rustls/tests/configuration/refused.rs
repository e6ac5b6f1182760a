//! How a refusal is compared.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A result, without the text of errors that have nothing but a text, and without the value when all is well.
pub fn outcome<T, E: Debug>(result: Result<T, E>) -> String {
    match result {
        Ok(_) => "fine".to_string(),
        Err(error) => shown(&error),
    }
}

/// An error as its `Debug` has it; of `General` that it is one.
pub fn shown(error: &impl Debug) -> String {
    let shown = format!("{error:?}");
    match shown.find("General(\"") {
        Some(at) => format!("{}General(..)", &shown[..at]),
        None => shown,
    }
}

/// Whether `call` panics, and otherwise what came of it.
pub fn or_panic(call: impl FnOnce() -> String) -> String {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| "panic".to_string())
}
