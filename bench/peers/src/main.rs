//! Compares this library with other TLS libraries, in ratios to rustls 0.23.46. README.md says what
//! it needs and how it measures.
//!
//! ```text
//!   main ──► contenders: builds and runs their processes
//!     └────► results ──► table, picture
//! ```

mod contenders;
mod picture;
mod results;
mod table;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use contenders::{BASELINE, Contender, Measured};
use driver::{certificates, document};
use kit::{Result, Scenario};
use results::Results;

/// Compares TLS libraries: bulk data, handshakes and memory, in ratios to rustls 0.23.46.
#[derive(Parser)]
struct Arguments {
    /// Number of rounds, in each of which every contender runs once
    #[arg(long, default_value_t = 21)]
    rounds: usize,
    /// CPU time of one process
    #[arg(long, default_value_t = 100, value_name = "MILLISECONDS")]
    time: u32,
    /// Measure only the scenarios whose name contains this, such as "bulk TLS 1.3"
    #[arg(long, default_value = "", value_name = "FILTER")]
    rows: String,
    /// Measure only these contenders, and rustls 0.23.46
    #[arg(long, value_delimiter = ',', value_parser = contenders::names())]
    only: Vec<String>,
    /// Run everything once, briefly, to see that it works
    #[arg(long)]
    smoke: bool,
    /// Write each value as a line of JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the table in Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Insert the table in BENCHMARKS.md and in its template
    #[arg(long)]
    document: bool,
    /// Draw the table
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let is_chosen = |contender: &&Contender| {
        let name = contender.name;
        let only = &arguments.only;
        name == BASELINE || only.is_empty() || only.iter().any(|chosen| chosen == name)
    };
    let contenders: Vec<_> = contenders::ALL.iter().filter(is_chosen).collect();
    let mut scenarios = Scenario::all();
    scenarios.retain(|scenario| scenario.name().contains(&arguments.rows));
    if scenarios.is_empty() {
        return Err(format!("no row contains {:?}", arguments.rows).into());
    }
    let (rounds, time) = if arguments.smoke {
        (1, 1)
    } else {
        (arguments.rounds.max(1), arguments.time)
    };

    contenders::build(&contenders)?;
    let folder = certificates::create("peers-certificates")?;
    let mut results = Results::new(&scenarios, &contenders);
    for round in 0..rounds {
        eprintln!("peers: round {} of {rounds}", round + 1);
        for (place, scenario) in scenarios.iter().enumerate() {
            let mut order: Vec<_> = (0..contenders.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for index in order {
                let contender = contenders[index];
                if !contender.measures(scenario) {
                    continue;
                }
                match contender.measure(scenario, time, &folder)? {
                    Measured::Values(values) => results.add(place, index, values),
                    Measured::Unsupported(reason) => results.note(scenario, contender, &reason),
                }
            }
        }
    }

    println!("{}", table::terminal(&results));
    if arguments.document {
        for file in ["BENCHMARKS.md", "bench/src/document/template.md"] {
            document::insert(file, "bench/peers", &table::documented(&results))?;
        }
    }
    let written = [
        (&arguments.json, results.json()),
        (&arguments.markdown, table::markdown(&results)),
        (&arguments.svg, picture::svg(&results)),
    ];
    for (file, content) in written {
        if let Some(file) = file {
            fs::write(file, content)
                .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        }
    }
    Ok(())
}
