//! `all`: every sub-command that measures, one after the other.

use std::ffi::OsString;

use bytesize::ByteSize;
use clap::Args;
use itertools::Itertools;

use crate::choices::Threads;
use crate::cli::{Common, command, option};
use crate::jobs::{Chosen, JOBS};
use crate::row::Row;
use crate::workload::Result;
use crate::{machine, report};

/// The arguments of `all`.
#[derive(Args)]
pub(crate) struct All {
    /// The numbers of threads for streaming data through memory; default: powers of two up to the
    /// number of processors
    #[arg(long, value_name = "N")]
    threads: Option<Threads>,

    /// The plaintext bytes that each of these threads cycles through
    #[arg(long, value_name = "BYTES", default_value = "64MiB")]
    working_set: ByteSize,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Runs all of them; returns their rows.
pub(crate) fn run(args: &All) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in lines(args) {
        if !args.common.json {
            report::print(&format!("# {}\n", line.join(" ")))?;
        }
        if let Some(chosen) = parsed(&line)? {
            let line = line.into_iter().map(OsString::from).collect_vec();
            rows.extend(report::run(&chosen, &line)?);
        }
        if !args.common.json {
            report::print("")?;
        }
    }
    Ok(rows)
}

/// Parses the command line of a job.
fn parsed(line: &[String]) -> Result<Option<Chosen>> {
    let program = "bench".to_owned();
    let matches = command().try_get_matches_from([&program].into_iter().chain(line))?;
    Ok(Chosen::of(&matches)?)
}

/// The command lines of all jobs.
fn lines(args: &All) -> Vec<Vec<String>> {
    let threads = args.threads.clone().unwrap_or_else(|| {
        let processors = machine::processors();
        let doubled = (0..).map(|power| 1 << power);
        let doubled = doubled.take_while(|number| *number < processors);
        Threads(doubled.chain([processors]).collect())
    });
    let working_set = format!("{}B", args.working_set.as_u64());
    let common = &args.common;
    let (allocators, multiplier) = (common.allocators(), common.multiplier);
    let runs = JOBS
        .iter()
        .flat_map(|job| job.in_all.iter().map(|run| (job.name, run)));
    let lines = runs.map(|(name, run)| {
        let run = run
            .replace("WORKING_SET", &working_set)
            .replace("THREADS", &threads.0.iter().join(","));
        let words = name.split(' ').chain(run.split_whitespace());
        let mut line = words.map(str::to_owned).collect_vec();
        line.push(option("provider", &common.providers()));
        line.push(format!("--multiplier={multiplier}"));
        line.extend(common.json.then(|| "--json".to_owned()));
        line.extend(common.detail.then(|| "--detail".to_owned()));
        if !allocators.is_empty() && !run.contains("--allocator") {
            line.push(option("allocator", &allocators));
        }
        line
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    #[test]
    fn every_line_parses_and_has_the_options() {
        let line = "bench all --allocator=jemalloc --threads=1..3 --working-set=64MiB --json";
        let matches = command().try_get_matches_from(line.split(' ')).unwrap();
        let args = All::from_arg_matches(matches.subcommand().unwrap().1).unwrap();
        let lines = lines(&args);
        for line in &lines {
            assert!(parsed(line).unwrap().unwrap().run.common.json);
        }
        let all = lines.concat();
        for option in [
            "--threads=1,2,3",
            "--working-set=67108864B",
            "--allocator=jemalloc",
        ] {
            assert!(all.contains(&option.to_owned()), "{option}");
        }
    }
}
