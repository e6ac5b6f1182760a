//! `all`: every sub-command that measures, one after the other.

use std::ffi::OsString;
use std::thread;

use clap::{Parser, ValueEnum};

use crate::cli::{AllArgs, Cli};
use crate::plot::Chart;
use crate::report;
use crate::workload::Result;

/// Runs all of them; returns their charts.
pub(crate) fn run(args: &AllArgs) -> Result<Vec<Chart>> {
    let mut charts = Vec::new();
    for line in lines(args) {
        let command = Cli::try_parse_from(["bench".into()].iter().chain(&line))?.command;
        if !args.output.json {
            report::print(&format!("# {}\n\n", line.join(" ")))?;
        }
        let line: Vec<_> = line.into_iter().map(OsString::from).collect();
        charts.extend(crate::run(&command, &line)?);
        if !args.output.json {
            report::print("\n")?;
        }
    }
    Ok(charts)
}

/// The command lines of the sub-commands.
fn lines(args: &AllArgs) -> Vec<Vec<String>> {
    const TLS13: &str = "TLS13_AES_128_GCM_SHA256";
    const TLS12: &str = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
    let streamed = [
        "bulk".to_owned(),
        TLS13.to_owned(),
        format!("--working-set={}", args.working_set),
        format!("--threads={}", threads(args)),
    ];
    let fixed: [&[&str]; 13] = [
        &["bulk", TLS13],
        &["bulk", TLS13, "--plaintext-size=64"],
        &["bulk", TLS12],
        &["tcp"],
        &["duplex"],
        &["memory"],
        &["handshake"],
        &["handshake-resume"],
        &["handshake-ticket"],
        &["primitives"],
        &["certificates"],
        &["load", "connections"],
        &["load", "handshakes", "--count=100000"],
    ];
    let fixed = fixed.map(|line| line.iter().map(|&part| part.to_owned()).collect());
    let mut lines: Vec<Vec<String>> = fixed.into();
    lines.insert(3, streamed.into());
    for line in &mut lines {
        line.push(format!("--provider={}", name(args.provider)));
        if let Some(allocator) = args.allocator {
            line.push(format!("--allocator={}", name(allocator)));
        }
        // `memory` measures no time
        if line[0] != "memory" {
            line.push(format!("--multiplier={}", args.time.multiplier));
        }
        if args.output.json {
            line.push("--json".to_owned());
        }
    }
    lines
}

/// The numbers of threads to stream with, as a command-line argument.
fn threads(args: &AllArgs) -> String {
    let numbers = match &args.threads {
        Some(threads) => threads.0.clone(),
        None => {
            let processors = thread::available_parallelism().map_or(1, usize::from);
            let doubled = (0..).map(|power| 1 << power);
            let mut numbers: Vec<_> = doubled.take_while(|number| *number < processors).collect();
            numbers.push(processors);
            numbers
        }
    };
    let numbers: Vec<_> = numbers.iter().map(usize::to_string).collect();
    numbers.join(",")
}

/// The name of `choice` on the command line.
fn name(choice: impl ValueEnum) -> String {
    let value = choice.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Command;

    #[test]
    fn every_line_parses_and_every_job_is_included() {
        let line = [
            "bench",
            "all",
            "--allocator=jemalloc",
            "--threads=1..3",
            "--json",
        ];
        let Command::All(args) = Cli::try_parse_from(line).unwrap().command else {
            panic!("another command");
        };
        let mut seen = Vec::new();
        for line in lines(&args) {
            let command = Cli::try_parse_from(["bench".into()].iter().chain(&line)).unwrap();
            assert!(command.command.output().unwrap().json);
            assert!(line.contains(&"--allocator=jemalloc".to_owned()));
            seen.push(line);
        }
        for job in [
            "bulk",
            "tcp",
            "duplex",
            "memory",
            "handshake",
            "handshake-resume",
            "handshake-ticket",
            "primitives",
            "certificates",
            "load",
        ] {
            assert!(seen.iter().any(|line| line[0] == job), "{job}");
        }
        assert!(seen.iter().flatten().any(|part| part == "--threads=1,2,3"));
    }
}
