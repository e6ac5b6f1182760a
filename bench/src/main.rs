//! The bench binary: compares this library with rustls 0.23 and the bare cryptography of the
//! provider.
//!
//! ```text
//!   cli ─► all, report ─► processes: one for each allocator
//!               │         jobs: bulk, tcp, … ─► this, upstream ─► connection: one source
//!               ▼           │                   limit: the provider's library alone
//!             tables, plot  └─────────────────► workload, measure
//! ```
//!
//! A module uses only modules to its right and below; `ci/arrows` checks it.

// `connection` is compiled twice on purpose: once for each implementation
#![allow(clippy::duplicate_mod)]

mod all;
mod arguments;
mod choices;
mod cli;
mod document;
mod jobs;
mod limit;
mod machine;
mod measure;
mod plot;
mod processes;
mod report;
mod row;
mod statistics;
mod suites;
mod tables;
mod this;
mod upstream;
mod workload;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use choices::Choice;
use clap::{ArgMatches, FromArgMatches};
use cli::Tool;
use itertools::Itertools;
use processes::print;
use workload::Result;

#[global_allocator]
static ALLOCATOR: bench_allocator::Selected = bench_allocator::Selected;

fn main() -> ExitCode {
    let matches = cli::command().get_matches();
    let line = env::args_os().skip(1).collect_vec();
    match run(&matches, &line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the sub-command in `matches`, which were parsed from `line`.
fn run(matches: &ArgMatches, line: &[OsString]) -> Result<()> {
    if let Some((job, run)) = jobs::chosen(matches)? {
        return report::drawn(&run.common, || report::run(&*job, &run, line));
    }
    match Tool::from_arg_matches(matches)? {
        Tool::All(args) => report::drawn(&args.common, || all::run(&args)),
        Tool::ListSuites => list_suites(),
        Tool::Document { results } => document::write(results),
    }
}

/// Prints the suites of all providers.
fn list_suites() -> Result<()> {
    suites::by_suite().try_for_each(|(suite, providers)| {
        let (name, version) = (&suite.name, suite.version.name());
        print(&format!(
            "{name:<45} TLS {version} · {}",
            providers.join(", ")
        ))
    })
}
