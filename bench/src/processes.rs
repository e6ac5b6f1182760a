//! One process per allocator. A process cannot change its allocator, so the binary starts itself
//! again to measure on another one.

use std::env;
use std::ffi::OsString;
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
        let name = allocator.name();
        let run = Command::new(env::current_exe()?)
            .args(line)
            .arg("--in-this-process")
            .env(VARIABLE, name)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        if !run.status.success() {
            return Err(format!("measuring on {name} failed: {}", run.status).into());
        }
        for line in String::from_utf8(run.stdout)?.lines() {
            rows.push(Row::parse(line)?);
        }
    }
    Ok(rows)
}
