//! One process per allocator. A process cannot change its allocator, so the binary starts itself
//! again to measure on another one.

use std::env;
use std::ffi::OsString;
use std::process::{Command, Stdio};

use bench_allocator::{Kind, VARIABLE};
use serde::de::DeserializeOwned;

use crate::workload::Result;

/// Runs this binary with the command line `line` on each of `allocators` and collects the printed
/// rows.
pub(crate) fn on_each<Row: DeserializeOwned>(
    allocators: &[Kind],
    line: &[OsString],
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for kind in allocators {
        let name = kind.name();
        let run = Command::new(env::current_exe()?)
            .args(line)
            .args(["--in-this-process", "--allocator", name])
            .env(VARIABLE, name)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        if !run.status.success() {
            return Err(format!("measuring on {name} failed: {}", run.status).into());
        }
        for line in String::from_utf8(run.stdout)?.lines() {
            rows.push(serde_json::from_str(line)?);
        }
    }
    Ok(rows)
}

/// The allocator of this process, which was started to measure on it. Fails unless `asked_for` is
/// exactly this one.
pub(crate) fn allocator(asked_for: &[Kind]) -> Result<Kind> {
    let selected = bench_allocator::selected();
    if asked_for != [selected] {
        return Err(format!(
            "this process runs on {}: choose with `--allocator`, without --in-this-process",
            selected.name()
        )
        .into());
    }
    Ok(selected)
}
