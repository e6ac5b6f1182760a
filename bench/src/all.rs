//! `all`: every sub-command that measures, one after the other.

use std::ffi::OsString;

use clap::Parser;

use crate::choices::Threads;
use crate::cli::{All, Cli, option};
use crate::row::Row;
use crate::workload::Result;
use crate::{machine, report};

/// The values of `bench` in the rows.
#[cfg(test)]
pub(crate) const BENCHES: &str = "bulk tcp duplex memory handshake handshake-resume \
    handshake-ticket primitives certificates load-connections load-handshakes";

/// Runs all of them; returns their rows.
pub(crate) fn run(args: &All) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in lines(args) {
        let command = Cli::try_parse_from(["bench".into()].iter().chain(&line))?.command;
        if !args.common.json {
            report::print(&format!("# {}\n", line.join(" ")))?;
        }
        let line: Vec<_> = line.into_iter().map(OsString::from).collect();
        rows.extend(crate::run(&command, &line)?);
        if !args.common.json {
            report::print("")?;
        }
    }
    Ok(rows)
}

/// The command lines of the sub-commands.
fn lines(args: &All) -> Vec<Vec<String>> {
    let threads = args.threads.clone().unwrap_or_else(|| {
        let processors = machine::processors();
        let doubled = (0..).map(|power| 1 << power);
        let mut numbers: Vec<_> = doubled.take_while(|number| *number < processors).collect();
        numbers.push(processors);
        Threads(numbers)
    });
    let threads: Vec<_> = threads.0.iter().map(usize::to_string).collect();
    let streamed = format!(
        "bulk --allocator=system --working-set={}B --threads={}",
        args.working_set.as_u64(),
        threads.join(",")
    );
    let lines = [
        "bulk",
        "bulk --plaintext-size=64",
        "bulk TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        &streamed,
        "tcp",
        "duplex",
        "memory",
        "handshake",
        "handshake-resume",
        "handshake-ticket",
        "primitives",
        "certificates",
        "load connections",
        "load handshakes --count=100000",
    ];
    let common = &args.common;
    let mut options = vec![
        option("provider", &common.providers()),
        format!("--multiplier={}", common.multiplier),
    ];
    options.extend(common.json.then(|| "--json".to_owned()));
    options.extend(common.detail.then(|| "--detail".to_owned()));
    let allocators = common.allocators();
    let lines = lines.iter().map(|line| {
        let mut line: Vec<_> = line.split(' ').map(str::to_owned).collect();
        line.extend_from_slice(&options);
        if !allocators.is_empty() && !line.iter().any(|word| word.starts_with("--allocator")) {
            line.push(option("allocator", &allocators));
        }
        line
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Command;

    #[test]
    fn every_line_parses_and_has_the_options() {
        let line = "bench all --allocator=jemalloc --threads=1..3 --working-set=64MiB --json";
        let Command::All(args) = Cli::try_parse_from(line.split(' ')).unwrap().command else {
            panic!("another command");
        };
        let lines = lines(&args);
        for line in &lines {
            let command = Cli::try_parse_from(["bench".into()].iter().chain(line)).unwrap();
            assert!(command.command.common().unwrap().json);
        }
        let all = lines.concat();
        assert!(all.contains(&"--threads=1,2,3".to_owned()));
        assert!(all.contains(&"--working-set=67108864B".to_owned()));
        assert!(all.contains(&"--allocator=jemalloc".to_owned()));
    }
}
