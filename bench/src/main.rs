//! The bench binary: this library beside rustls 0.23 and the bare AEAD of the provider.
//!
//! ```text
//!   cli ─► processes: one for each allocator ─► bulk ─► measure ─┬─► this::connection ──┐ one source
//!                                              tcp, memory       ├─► upstream::connection ┘ for both
//!   table, plot, JSON ◄─ rows ◄──────────────────┘               └─► limit
//! ```

// `connection` is compiled twice on purpose: once for each implementation
#![allow(clippy::duplicate_mod)]

mod bulk;
mod cli;
mod limit;
mod measure;
mod memory;
mod plot;
mod processes;
mod progress;
mod socket;
mod statistics;
mod suites;
mod table;
mod tcp;
mod this;
mod upstream;
mod workload;

use std::process::ExitCode;

use clap::Parser;
use cli::{BulkArgs, Cli, Command, MemoryArgs, OutputArgs, TcpArgs};
use plot::Bar;
use suites::Suite;
use workload::Result;

#[global_allocator]
static ALLOCATOR: bench_allocator::Selected = bench_allocator::Selected;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Bulk(args) => bulk(&args),
        Command::Tcp(args) => tcp(&args),
        Command::Memory(args) => memory(&args),
        Command::ListSuites { json } => {
            suites::list(json);
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bulk(args: &BulkArgs) -> Result<()> {
    let kinds = args.allocator.kinds();
    if args.output.in_this_process {
        return print_json(&bulk::measure(args, processes::allocator(&kinds)?)?);
    }
    Suite::find(&args.suite, &args.connection.provider.providers())?;
    let rows: Vec<bulk::Measured> = processes::on_each(&kinds)?;
    let title = format!("{}, writes of {} bytes", args.suite, args.plaintext_size);
    draw(&args.output, &title, "MB/s", &bulk::bars(&rows))?;
    if args.output.json {
        print_json(rows.iter().map(|measured| &measured.row))
    } else {
        print(&bulk::table(args, &rows))
    }
}

fn tcp(args: &TcpArgs) -> Result<()> {
    let kinds = args.allocator.kinds();
    if args.output.in_this_process {
        return print_json(&tcp::measure(args, processes::allocator(&kinds)?)?);
    }
    Suite::find(&args.suite, &args.connection.provider.providers())?;
    let rows: Vec<tcp::Measured> = processes::on_each(&kinds)?;
    let title = format!("{}, loopback TCP", args.suite);
    draw(&args.output, &title, "MB/s", &tcp::bars(&rows))?;
    if args.output.json {
        print_json(rows.iter().map(|measured| &measured.row))
    } else {
        print(&tcp::table(args, &rows))
    }
}

fn memory(args: &MemoryArgs) -> Result<()> {
    let kinds = args.allocator.kinds();
    if args.output.in_this_process {
        return print_json(&memory::measure(args, processes::allocator(&kinds)?)?);
    }
    Suite::find(&args.suite, &args.connection.provider.providers())?;
    let rows: Vec<memory::Row> = processes::on_each(&kinds)?;
    let title = format!("{}, heap of an idle connection", args.suite);
    draw(&args.output, &title, "bytes", &memory::bars(&rows))?;
    if args.output.json {
        print_json(&rows)
    } else {
        print(&memory::table(args, &rows))
    }
}

fn print_json<Row: serde::Serialize>(rows: impl IntoIterator<Item = Row>) -> Result<()> {
    for row in rows {
        print(&format!("{}\n", serde_json::to_string(&row)?))?;
    }
    Ok(())
}

/// Prints `text`, without `print!`, which panics when the reader has closed the pipe.
fn print(text: &str) -> Result<()> {
    use std::io::Write;
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

fn draw(output: &OutputArgs, title: &str, unit: &str, bars: &[Bar]) -> Result<()> {
    let Some(file) = &output.plot else {
        return Ok(());
    };
    std::fs::write(file, plot::svg(title, unit, bars))
        .map_err(|error| format!("cannot write {}: {error}", file.display()).into())
}
