//! The sub-commands that measure. [`JOBS`] is the only list of them. Each has these parts:
//!
//! 1. A file in `jobs`: name, help, arguments, columns, its runs in `all`, and the measurements.
//!    Work with connections is in `connection`, whose modules `connection/connection.rs` lists; its
//!    parameters and memory are in `workload`.
//! 2. A line of [`JOBS`]. `subject_keys` in `row.rs`: keys that no other job has. `title` in
//!    `tables.rs`: headings and units that are not the words of the key.
//! 3. `report/every_job.rs`: the number of jobs, and a sample of its rows, for the tests of tables
//!    and pictures.
//! 4. `document/template.md`: its section of BENCHMARKS.md, which needs the rows of a complete run
//!    of `all`. `cli.rs` says how long that takes.
//! 5. `tests/commands.rs`: the number of jobs, and the properties of its figures, if any.

pub(crate) mod bulk;
mod certificates;
mod duplex;
mod handshake;
mod job;
mod load_connections;
mod load_handshakes;
mod memory;
mod offload;
mod primitives;
mod tcp;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use job::Entry;
pub(crate) use job::{Job, Run};

use crate::arguments::Common;
use crate::row::Row;
use crate::tables::View;

/// All sub-commands that measure, in the order of the help and of `all`.
pub(crate) static JOBS: &[Entry] = &[
    bulk::ENTRY,
    tcp::ENTRY,
    duplex::ENTRY,
    memory::ENTRY,
    handshake::ENTRY,
    handshake::RESUME,
    handshake::TICKET,
    offload::ENTRY,
    primitives::ENTRY,
    certificates::ENTRY,
    load_connections::ENTRY,
    load_handshakes::ENTRY,
];

/// The help of the sub-commands whose names have two words.
const LOAD: &str = "Many connections and many handshakes";

/// Adds all jobs to `command`.
pub(crate) fn add_to(command: Command) -> Command {
    JOBS.iter().fold(command, |command, entry| {
        let (group, word) = entry.name.split_once(' ').unwrap_or(("", entry.name));
        let job = Common::augment_args((entry.arguments)(Command::new(word)));
        let job = entry.help.into_iter().fold(job, Command::about);
        if group.is_empty() {
            command.subcommand(job)
        } else if command.find_subcommand(group).is_some() {
            command.mut_subcommand(group, |group| group.subcommand(job))
        } else {
            let group = Command::new(group).about(LOAD).subcommand(job);
            command.subcommand(group.subcommand_required(true).arg_required_else_help(true))
        }
    })
}

/// Returns the job that the command line `matches` requests, unless another sub-command was chosen.
pub(crate) fn chosen(mut matches: &ArgMatches) -> clap::error::Result<Option<(Box<dyn Job>, Run)>> {
    let mut words = Vec::new();
    while let Some((word, inner)) = matches.subcommand() {
        words.push(word);
        matches = inner;
    }
    let Some(entry) = JOBS.iter().find(|entry| entry.name == words.join(" ")) else {
        return Ok(None);
    };
    let common = Common::from_arg_matches(matches)?;
    let (job, bench) = ((entry.job)(matches)?, entry.bench());
    Ok(Some((job, Run { bench, common })))
}

/// The view of `rows`, which are of one job.
pub(crate) fn view_of(rows: &[Row]) -> View {
    let bench = rows.first().map_or("", |row| row.text("bench"));
    let job = JOBS.iter().find(|job| job.bench() == bench);
    job.map_or(View::GENERAL, |job| job.view)
}
