//! The exit status of the examples.

use std::error::Error;
use std::process;

/// Prints the error, if any, and ends the process with status 1.
pub(crate) fn on_error(result: Result<(), Box<dyn Error>>) {
    if let Err(error) = result {
        eprintln!("{}: {error}", env!("CARGO_CRATE_NAME"));
        process::exit(1);
    }
}
