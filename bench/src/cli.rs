//! The command line: the sub-commands that do not measure. [`crate::jobs`] adds those that measure.

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::{Args, Command, Subcommand};
use itertools::Itertools;

use crate::arguments::Common;
use crate::choices::Choice;
use crate::jobs;

/// Compares this TLS library with rustls 0.23 and the bare AEAD, over the same work in the same
/// run.
///
/// Figures are comparable within one run only. BENCHMARKS.md explains them.
#[derive(Subcommand)]
pub(crate) enum Tool {
    /// All of the above, one after the other; takes about 20 minutes
    All(All),

    /// List the cipher suites and the providers that have them
    ListSuites,

    /// Write BENCHMARKS.md and docs/results.svg from the output of `all --json`, and insert the
    /// figures of BENCHMARKS.md in the other documents
    Document {
        /// The output of `all --json`; without it, BENCHMARKS.md stays as it is
        results: Option<PathBuf>,
    },
}

/// The arguments of `all`.
#[derive(Args)]
pub(crate) struct All {
    /// The plaintext bytes that each thread of `bulk` cycles through
    #[arg(long, value_name = "BYTES", default_value = "64MiB")]
    pub(crate) working_set: ByteSize,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// The definition of the whole command line.
pub(crate) fn command() -> Command {
    let bench = jobs::add_to(Command::new("bench"));
    let bench = Tool::augment_subcommands(bench);
    bench.subcommand_required(true).arg_required_else_help(true)
}

/// The name of `choice` as an option's value.
pub(crate) fn option(name: &str, choices: &[impl Choice]) -> String {
    let names = choices.iter().map(|choice| choice.name());
    format!("--{name}={}", names.format(","))
}

#[cfg(test)]
mod tests {
    use bytesize::ByteSize;
    use clap::FromArgMatches;

    use super::*;
    use crate::choices::{Allocator, Api, Provider};
    use crate::jobs::bulk::Bulk;

    fn bulk(line: &str) -> (Bulk, Common) {
        let matches = command().try_get_matches_from(line.split(' ')).unwrap();
        let (_, matches) = matches.subcommand().unwrap();
        let bulk = Bulk::from_arg_matches(matches).unwrap();
        (bulk, Common::from_arg_matches(matches).unwrap())
    }

    #[test]
    fn the_command_line_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn the_main_job_needs_no_arguments() {
        let (args, common) = bulk("bench bulk");
        assert_eq!(args.connection.suite, "TLS13_AES_128_GCM_SHA256");
        assert_eq!(args.apis, Api::ALL);
        assert_eq!(common.providers, Provider::ALL);
        assert_eq!(common.allocators, []);
        assert_eq!(args.threads, [1]);
        assert_eq!(args.plaintext_size, 16384);
    }

    #[test]
    fn lists_and_units_are_parsed() {
        let (args, common) = bulk(
            "bench bulk --threads=1,3 --working-set=64MiB --api=in-place,buffered --allocator=system",
        );
        assert_eq!(args.threads, [1, 3]);
        assert_eq!(args.working_set, Some(ByteSize::mib(64)));
        assert_eq!(args.apis, [Api::InPlace, Api::Buffered]);
        assert_eq!(common.allocators, [Allocator::System]);
    }
}
