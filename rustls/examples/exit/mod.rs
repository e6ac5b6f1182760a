//! The exit status of the examples.

use std::error::Error;
use std::process::ExitCode;

/// Prints the error, if any. Returns the exit status.
pub(crate) fn code(result: Result<(), Box<dyn Error>>) -> ExitCode {
    if let Err(error) = result {
        eprintln!("{}: {error}", env!("CARGO_CRATE_NAME"));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
