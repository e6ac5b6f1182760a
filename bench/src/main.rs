//! The bench binary: compares this library with rustls 0.23 and the bare cryptography of the
//! provider.
//!
//! ```text
//!   cli ─► report ─► processes: one for each allocator
//!            │         jobs: bulk, tcp, handshake, … ─► measure ─┬─► this::connection ────┐ one
//!            │                                                   ├─► upstream::connection ┘ source
//!            ▼                                                   └─► limit, primitives
//!   tables, plot, document ◄─ rows
//! ```

// `connection` is compiled twice on purpose: once for each implementation
#![allow(clippy::duplicate_mod)]

mod all;
mod choices;
mod cli;
mod document;
mod jobs;
mod machine;
mod measure;
mod plot;
mod processes;
mod report;
mod row;
mod socket;
mod statistics;
mod suites;
mod tables;
mod this;
mod upstream;
mod workload;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use cli::Tool;
use jobs::Chosen;
use workload::Result;

#[global_allocator]
static ALLOCATOR: bench_allocator::Selected = bench_allocator::Selected;

fn main() -> ExitCode {
    let matches = cli::parse();
    let line: Vec<_> = env::args_os().skip(1).collect();
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
    if let Some(chosen) = Chosen::of(matches)? {
        return report::drawn(&chosen.run.common, || report::run(&chosen, line));
    }
    match Tool::from_arg_matches(matches)? {
        Tool::All(args) => report::drawn(&args.common, || all::run(&args)),
        Tool::ListSuites { json } => suites::list(json),
        Tool::Document { results } => document::write(results),
        Tool::Completions { shell } => {
            clap_complete::generate(shell, &mut cli::command(), "bench", &mut std::io::stdout());
            Ok(())
        }
    }
}
