//! Compares streams as programs use them, each end a process of its own. README.md says how.
//!
//! ```text
//!   main ──► contenders: builds the program with the patches of each
//!     ├────► scenarios: the work, and the rows that show it
//!     ├────► sample ──► processes: server, proxy, client
//!     └────► results ──► tables, JSON
//! ```

mod contenders;
mod results;
mod sample;
mod scenarios;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use driver::{certificates, document};
use kit::Result;
use results::Results;
use sample::Setting;

/// Compares streams: this library's and tokio-rustls', over this library and rustls 0.23.46
#[derive(Parser)]
struct Arguments {
    /// Number of rounds, in each of which every contender runs once
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Time of one measurement
    #[arg(long, default_value_t = 400, value_name = "MILLISECONDS")]
    time: u32,
    /// Measure only the scenarios whose name contains one of these, such as "download 16"
    #[arg(long, value_delimiter = ',', value_name = "FILTER")]
    rows: Vec<String>,
    /// Measure only these contenders, and rustls 0.23.46
    #[arg(long, value_delimiter = ',', value_parser = contenders::NAMES)]
    only: Vec<String>,
    /// Processors: all processes on one, or clients on another one than servers
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    cores: u8,
    /// Let glibc copy without `rep movsb`, which is slow at some offsets on some processors
    #[arg(long)]
    tunable: bool,
    /// Run everything once, briefly, to see that it works
    #[arg(long)]
    smoke: bool,
    /// Print wall time, system calls and memory, too
    #[arg(long)]
    detail: bool,
    /// Write the values as lines of JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Insert the tables in BENCHMARKS.md, its template and README.md
    #[arg(long)]
    document: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("streams: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let mut scenarios = scenarios::all();
    let filters = &arguments.rows;
    scenarios.retain(|scenario| {
        filters.is_empty() || filters.iter().any(|filter| scenario.name.contains(filter))
    });
    if scenarios.is_empty() {
        return Err(format!("no row contains any of {filters:?}").into());
    }
    let (rounds, time) = match arguments.smoke {
        true => (1, 1),
        false => (arguments.rounds.max(1), arguments.time),
    };
    let setting = Setting::new(arguments.cores, arguments.tunable, time)?;
    let contenders = contenders::build(&arguments.only)?;
    let folder = certificates::create("streams-certificates")?;
    let mut results = Results::new(&scenarios, &contenders);
    for round in 0..rounds {
        eprintln!("streams: round {} of {rounds}", round + 1);
        for (place, scenario) in scenarios.iter().enumerate() {
            for index in order(round, contenders.len()) {
                let contender = &contenders[index];
                if scenario.is_in_memory() && contender.wire == "tcp" {
                    continue;
                }
                let sample = sample::take(contender, scenario, &setting, &folder);
                let sample = sample
                    .map_err(|error| format!("{}, {}: {error}", contender.name, scenario.name))?;
                results.add(place, index, sample);
            }
        }
    }
    report(arguments, &results, &setting, rounds)
}

/// Returns the order of contenders in a round. Two successive rounds have opposite orders, and the
/// next two begin with another contender.
fn order(round: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |place| match round % 2 {
        0 => (place + round / 2) % count,
        _ => (2 * count - 1 - place + round / 2) % count,
    })
}

fn report(
    arguments: &Arguments,
    results: &Results<'_>,
    setting: &Setting,
    rounds: usize,
) -> Result<()> {
    let caption = format!("{}, {rounds} rounds", setting.describe());
    println!("{}\n{}", results.table(), document::wrapped(&caption));
    if arguments.detail {
        println!("{}", results.details());
    }
    if arguments.document {
        let table = results.documented() + "\n" + &caption + "\n";
        for file in ["BENCHMARKS.md", "bench/src/document/template.md"] {
            document::insert(file, "bench/streams", &table)?;
        }
        document::insert("README.md", "bench/streams", &results.summary())?;
    }
    if let Some(file) = &arguments.json {
        fs::write(file, results.json(&caption))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successive_rounds_have_opposite_orders() {
        let order = |round| order(round, 4).collect::<Vec<_>>();
        assert_eq!(order(0), [0, 1, 2, 3]);
        assert_eq!(order(1), [3, 2, 1, 0]);
        assert_eq!(order(2), [1, 2, 3, 0]);
        assert_eq!(order(3), [0, 3, 2, 1]);
    }
}
