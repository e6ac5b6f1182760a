//! `all`: every sub-command that measures, one after the other.

use std::ffi::OsString;

use itertools::Itertools;

use crate::cli::{All, command, option};
use crate::jobs::{JOBS, chosen};
use crate::processes::print;
use crate::row::Row;
use crate::workload::Result;
use crate::{machine, report};

/// Runs all of them; returns their rows.
pub(crate) fn run(args: &All) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in lines(args) {
        if !args.common.json {
            print(&format!("# {}\n", line.join(" ")))?;
        }
        let line = line.into_iter().map(OsString::from).collect_vec();
        let matches = command().try_get_matches_from(["bench".into()].iter().chain(&line))?;
        if let Some((job, run)) = chosen(&matches)? {
            rows.extend(report::run(&*job, &run, &line)?);
        }
        if !args.common.json {
            print("")?;
        }
    }
    Ok(rows)
}

/// The command lines of all jobs.
fn lines(args: &All) -> Vec<Vec<String>> {
    let processors = machine::processors();
    let doubled = (0..).map(|power| 1 << power);
    let doubled = doubled.take_while(|number| *number < processors);
    let threads = doubled.chain([processors]).join(",");
    let working_set = format!("{}B", args.working_set.as_u64());
    let common = &args.common;
    let (allocators, multiplier) = (&common.allocators, common.multiplier);
    let jobs = JOBS.iter();
    let runs = jobs.flat_map(|job| job.in_all.iter().map(|run| (job.name, run)));
    let lines = runs.map(|(name, run)| {
        let run = run
            .replace("WORKING_SET", &working_set)
            .replace("THREADS", &threads);
        let words = name.split(' ').chain(run.split_whitespace());
        let mut line = words.map(str::to_owned).collect_vec();
        line.push(option("provider", &common.providers));
        line.push(format!("--multiplier={multiplier}"));
        line.extend(common.json.then(|| "--json".to_owned()));
        line.extend(common.detail.then(|| "--detail".to_owned()));
        if !allocators.is_empty() && !run.contains("--allocator") {
            line.push(option("allocator", allocators));
        }
        line
    });
    lines.collect()
}
