//! The bench binary: compares this library with rustls 0.23 and the bare cryptography of the
//! provider.
//!
//! ```text
//!   cli ─► report ─► processes: one for each allocator
//!            │         bulk, handshake, primitives, ─► measure ─┬─► this::connection ─────┐ one
//!            │         tcp, duplex, memory, load                ├─► upstream::connection ─┘ source
//!            ▼                                                  └─► limit, primitives
//!   tables, JSON, plot ◄─ rows
//! ```

// `connection` is compiled twice on purpose: once for each implementation
#![allow(clippy::duplicate_mod)]

mod all;
mod bulk;
mod certificates;
mod cli;
mod duplex;
mod handshake;
mod limit;
mod load;
mod measure;
mod memory;
mod plot;
mod primitives;
mod processes;
mod report;
mod socket;
mod statistics;
mod suites;
mod tcp;
mod this;
mod upstream;
mod workload;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use cli::{Cli, Command, Load, OutputArgs};
use handshake::Handshakes;
use plot::Chart;
use workload::{Result, Sessions};

#[global_allocator]
static ALLOCATOR: bench_allocator::Selected = bench_allocator::Selected;

fn main() -> ExitCode {
    let command = Cli::parse().command;
    let line: Vec<_> = env::args_os().skip(1).collect();
    let done = run(&command, &line).and_then(|charts| draw(&command, &charts));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs `command`, which was parsed from `line`, and prints its results; returns the charts of
/// them.
fn run(command: &Command, line: &[OsString]) -> Result<Vec<Chart>> {
    let handshakes = |sessions, args| report::run(&Handshakes { sessions, args }, line);
    match command {
        Command::Bulk(args) => report::run(args, line),
        Command::Tcp(args) => report::run(args, line),
        Command::Duplex(args) => report::run(args, line),
        Command::Handshake(args) => handshakes(Sessions::Nothing, args),
        Command::HandshakeResume(args) => handshakes(Sessions::Stored, args),
        Command::HandshakeTicket(args) => handshakes(Sessions::Tickets, args),
        Command::Memory(args) => report::run(args, line),
        Command::Primitives(args) => report::run(args, line),
        Command::Certificates(args) => report::run(args, line),
        Command::Load(Load::Connections(args)) => report::run(args, line),
        Command::Load(Load::Handshakes(args)) => report::run(args, line),
        Command::All(args) => all::run(args),
        Command::ListSuites { json } => {
            suites::list(*json);
            Ok(Vec::new())
        }
    }
}

fn draw(command: &Command, charts: &[Chart]) -> Result<()> {
    match command.output().and_then(OutputArgs::picture) {
        Some(file) => plot::write(file, charts),
        None => Ok(()),
    }
}
