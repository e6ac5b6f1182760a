//! One process per allocator, which prints its rows for the parent. A process cannot change its
//! allocator, so the binary starts itself again to measure on another one.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use bench_allocator::VARIABLE;
use harness::peers::pairs::Result;

use crate::choices::Allocator;
use crate::row::Row;

/// Runs this binary with the command line `line` on each of `allocators` and collects the printed
/// rows.
pub(crate) fn on_each(allocators: &[Allocator], line: &[OsString]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for allocator in allocators {
        let run = Command::new(env::current_exe()?)
            .args(line)
            .arg("--in-this-process")
            .env(VARIABLE, allocator.name())
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        if !run.status.success() {
            // the child has printed the error
            std::process::exit(run.status.code().unwrap_or(1));
        }
        for line in String::from_utf8(run.stdout)?.lines() {
            rows.push(Row::parse(line)?);
        }
    }
    Ok(rows)
}

/// Prints `text` and a line break. Unlike `println!`, it does not panic when the reader has closed
/// the pipe.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
    Ok(written.map_err(|error| format!("cannot write to standard output: {error}"))?)
}
