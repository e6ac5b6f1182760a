//! Measures the cost of hostile peers, for their own connection and for honest clients of the same
//! server. Only a report; `tests` holds each kind to its limits.

// compiled twice on purpose: once for each library
#![allow(clippy::duplicate_mod)]

mod alone;
mod attacker;
mod beside;
mod kinds;
mod open_files;
#[cfg(test)]
mod tests;
mod this;
mod upstream;

use std::process::ExitCode;
use std::time::Duration;

use bench_allocator::count;
use clap::Parser;
use harness::peers::configs::{PROVIDERS, Provider};
pub(crate) use harness::peers::pairs::Result;
use harness::peers::roles::Role;

use self::alone::Victims;
use self::beside::{Plan, Run, Serve};
use self::kinds::{KINDS, Kind};

#[global_allocator]
static ALLOCATOR: bench_allocator::Selected = bench_allocator::Selected;

const NOTES: &str = "
alone: one peer of each kind and one connection, over memory. records: accepted by the connection, including the handshake,
until it ends with the error, the peer is done or has taken --steps steps. held: the most heap
of the connection between two calls, including itself and its buffers; peak: within a call, without buffers that its thread
keeps anyway. ns: CPU time of the connection.
beside: a single-threaded echo server over loopback TCP; honest clients repeatedly send 16 KiB, without and with
hostile clients of all kinds, which reconnect when disconnected. Allocations in C code are not counted.";

/// Measures the memory and CPU that each kind of hostile peer costs, and how they slow down honest
/// clients, in this library and in rustls 0.23
#[derive(Parser)]
struct Args {
    /// Run only the kinds whose name contains this
    #[arg(default_value = "")]
    filter: String,

    /// The number of hostile clients at one server, all kinds together
    #[arg(long, default_value_t = 1000, value_name = "N")]
    hostile: usize,

    /// The number of honest clients at the same server
    #[arg(long, default_value_t = 100, value_name = "N")]
    honest: usize,

    /// The time to measure the honest clients, once with and once without the hostile ones
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    seconds: f64,

    /// The number of times that a hostile peer, alone on its connection, repeats its attack
    #[arg(long, default_value_t = 2000, value_name = "N")]
    steps: usize,

    /// Only this provider: aws-lc-rs or ring
    #[arg(long)]
    provider: Option<Provider>,
}

/// A library under attack.
struct Library {
    name: &'static str,
    victims: fn(Provider) -> Box<dyn Victims>,
    /// The server needs Unix to wait for its sockets.
    serve: Option<Serve>,
}

const LIBRARIES: [Library; 2] = [
    Library {
        name: "this",
        victims: this::victims::victims,
        #[cfg(unix)]
        serve: Some(this::serving::serve),
        #[cfg(not(unix))]
        serve: None,
    },
    Library {
        name: "upstream",
        victims: upstream::victims::victims,
        #[cfg(unix)]
        serve: Some(upstream::serving::serve),
        #[cfg(not(unix))]
        serve: None,
    },
];

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hostile: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let mut kinds: Vec<_> = KINDS.iter().collect();
    kinds.retain(|kind| kind.name.contains(&args.filter));
    if kinds.is_empty() {
        let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        return Err(format!("no kind contains this; there are: {}", names.join("; ")).into());
    }
    for provider in args
        .provider
        .map_or_else(|| PROVIDERS.to_vec(), |one| vec![one])
    {
        for library in &LIBRARIES {
            println!("\n{}, {}, alone", library.name, provider.name());
            alone(&kinds, &*(library.victims)(provider), args.steps)?;
        }
        let plan = plan(&kinds, args);
        for library in LIBRARIES.iter().filter(|_| !plan.kinds.is_empty()) {
            if let Some(serve) = library.serve {
                println!("\n{}, {}, beside", library.name, provider.name());
                // two sockets for each client, and some for the process
                open_files::allow(2 * (plan.hostile + plan.honest) + KINDS.len() + 64)?;
                print_runs(&plan, &count(|| plan.measure(serve, provider)).0?);
            }
        }
    }
    println!("{NOTES}");
    Ok(())
}

/// Measures each kind alone with a connection.
fn alone(kinds: &[&'static Kind], victims: &dyn Victims, steps: usize) -> Result<()> {
    println!(
        "{:<40} {:>8} {:>9} {:>9} {:>10} {:>8}  ended by",
        "kind", "records", "held", "peak", "ns/record", "ns/byte"
    );
    for kind in kinds {
        let outcome = count(|| alone::outcome(kind, victims, steps)).0?;
        let ns = outcome.seconds * 1e9;
        println!(
            "{:<40} {:>8} {:>9} {:>9} {:>10.0} {:>8.2}  {} {}",
            kind.name,
            outcome.records,
            outcome.held,
            outcome.peak,
            ns / outcome.records.max(1) as f64,
            ns / outcome.bytes.max(1) as f64,
            outcome.error.as_deref().unwrap_or("–"),
            outcome.alert.as_deref().unwrap_or(""),
        );
    }
    Ok(())
}

/// The clients of a server: all hostile kinds that attack servers.
fn plan(kinds: &[&'static Kind], args: &Args) -> Plan {
    let kinds = kinds.iter().filter(|kind| kind.victim == Role::Server);
    let kinds: Vec<_> = kinds.copied().collect();
    Plan {
        hostile: args.hostile.max(kinds.len()),
        kinds,
        honest: args.honest.max(1),
        seconds: args.seconds,
    }
}

fn print_runs(plan: &Plan, runs: &[Run; 2]) {
    let [alone, beside] = runs;
    for (name, run) in [("without", alone), ("with", beside)] {
        let served = &run.summary.served[0];
        println!(
            "{} honest clients {name} {} hostile ones: {:.0} MB/s, {:.2} CPU s per GB",
            plan.honest,
            plan.hostile,
            run.mb_per_s,
            served.cpu.as_secs_f64() / (served.bytes as f64 / 1e9),
        );
    }
    let (honest, hostile) = beside.summary.served.split_at(1);
    let cpu: Duration = hostile.iter().map(|served| served.cpu).sum();
    let connections: usize = hostile.iter().map(|served| served.connections).sum();
    println!(
        "hostile clients: {:.0} % of the CPU time, {:.0} connections per second, {} heap bytes each",
        100.0 * cpu.as_secs_f64() / (cpu + honest[0].cpu).as_secs_f64(),
        connections as f64 / beside.seconds,
        (beside.summary.heap - alone.summary.heap) / plan.hostile as i64,
    );
    println!(
        "{:<40} {:>8} {:>12} {:>18} {:>12}  ended by",
        "kind", "clients", "connections", "CPU µs/connection", "CPU ns/byte"
    );
    for (index, (kind, served)) in plan.kinds.iter().zip(hostile).enumerate() {
        let seconds = served.cpu.as_secs_f64();
        let ended_by = served
            .errors
            .iter()
            .map(|(error, count)| format!("{count} × {error}"));
        println!(
            "{:<40} {:>8} {:>12} {:>18.0} {:>12.1}  {}",
            kind.name,
            plan.of_kind(index),
            served.connections,
            seconds * 1e6 / served.connections.max(1) as f64,
            seconds * 1e9 / served.bytes.max(1) as f64,
            ended_by.collect::<Vec<_>>().join(", "),
        );
    }
}
