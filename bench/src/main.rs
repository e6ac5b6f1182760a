//! The bench binary: compares this library with rustls 0.23 and the bare cryptography of the
//! provider.
//!
//! ```text
//!   cli ─► report ─► processes: one for each allocator
//!            │         bulk, handshake, primitives, ─► measure ─┬─► this::connection ─────┐ one
//!            │         tcp, duplex, memory, …                   ├─► upstream::connection ─┘ source
//!            ▼                                                  └─► limit, primitives
//!   tables, plot, document ◄─ rows
//! ```

// `connection` is compiled twice on purpose: once for each implementation
#![allow(clippy::duplicate_mod)]

mod all;
mod bulk;
mod certificates;
mod choices;
mod cli;
mod document;
mod duplex;
mod handshake;
mod limit;
mod load_handshakes;
mod machine;
mod measure;
mod memory;
mod plot;
mod primitives;
mod processes;
mod report;
mod row;
mod socket;
mod statistics;
mod suites;
mod tables;
mod tcp;
mod this;
mod upstream;
mod workload;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use cli::{Cli, Command, Load};
use handshake::Handshaking;
use plot::Picture;
use row::Row;
use workload::{Result, Sessions};

#[global_allocator]
static ALLOCATOR: bench_allocator::Selected = bench_allocator::Selected;

fn main() -> ExitCode {
    let command = cli::parse().command;
    let line: Vec<_> = env::args_os().skip(1).collect();
    match run_and_draw(&command, &line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_and_draw(command: &Command, line: &[OsString]) -> Result<()> {
    let common = command.common().filter(|common| !common.in_this_process);
    let file = common.and_then(|common| common.plot.clone());
    let picture = file.map(Picture::create).transpose()?;
    let rows = run(command, line)?;
    picture.map_or(Ok(()), |picture| picture.draw(&rows))
}

/// Runs `command`, which was parsed from `line`, and prints its results; returns its rows.
fn run(command: &Command, line: &[OsString]) -> Result<Vec<Row>> {
    let handshakes = |sessions, args| report::run(&Handshaking { sessions, args }, line);
    match command {
        Command::Bulk(args) => return report::run(args, line),
        Command::Tcp(args) => return report::run(args, line),
        Command::Duplex(args) => return report::run(args, line),
        Command::Handshake(args) => return handshakes(Sessions::Nothing, args),
        Command::HandshakeResume(args) => return handshakes(Sessions::Stored, args),
        Command::HandshakeTicket(args) => return handshakes(Sessions::Tickets, args),
        Command::Memory(args) => return report::run(args, line),
        Command::Primitives(args) => return report::run(args, line),
        Command::Certificates(args) => return report::run(args, line),
        Command::Load(Load::Connections(args)) => return report::run(args, line),
        Command::Load(Load::Handshakes(args)) => return report::run(args, line),
        Command::All(args) => return all::run(args),
        Command::ListSuites { json } => suites::list(*json)?,
        Command::Document { results } => document::write(results)?,
        Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut Cli::command(), "bench", &mut std::io::stdout());
        }
    }
    Ok(Vec::new())
}
