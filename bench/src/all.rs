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
        let line = line.into_iter().map(OsString::from).collect_vec();
        let matches = command().try_get_matches_from(["bench".into()].iter().chain(&line))?;
        if let Some(chosen) = Chosen::of(&matches)? {
            rows.extend(report::run(&chosen, &line)?);
        }
        if !args.common.json {
            report::print("")?;
        }
    }
    Ok(rows)
}

/// The help on the runs: one line for each, which begins with the job's name.
pub(crate) fn runs() -> String {
    let runs = JOBS.iter().flat_map(|job| {
        let run = |run: &&str| format!("\n  {} {run}", job.name).trim_end().to_owned();
        job.in_all.iter().map(run)
    });
    format!("Runs:{}", runs.format(""))
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
