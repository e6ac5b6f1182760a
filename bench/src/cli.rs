//! The command line: the sub-commands that do not measure, and one-line answers to mistakes.
//! [`crate::jobs`] adds the sub-commands that measure.

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Args, Command, Subcommand};
use itertools::Itertools;

use crate::arguments::Common;
use crate::choices::{Choice, Threads};
use crate::jobs;

/// Compares this TLS library with rustls 0.23 and the bare AEAD, over the same work in the same
/// run.
///
/// Figures are comparable within one run only. BENCHMARKS.md explains them.
#[derive(Subcommand)]
pub(crate) enum Tool {
    /// All of the above, one after the other; takes about 20 minutes
    #[command(after_help = jobs::runs())]
    All(All),

    /// List the cipher suites and the providers that have them
    ListSuites {
        /// Print one JSON object for each suite
        #[arg(long)]
        json: bool,
    },

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
    /// The numbers of threads for streaming data through memory; default: powers of two up to the
    /// number of processors
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<Threads>,

    /// The plaintext bytes that each of these threads cycles through
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

/// Parses the command line. Prints help, or one line about a mistake, and exits.
pub(crate) fn parse() -> ArgMatches {
    command()
        .try_get_matches()
        .unwrap_or_else(|error| match error.kind() {
            ErrorKind::InvalidValue
            | ErrorKind::ValueValidation
            | ErrorKind::UnknownArgument
            | ErrorKind::InvalidSubcommand => {
                eprintln!("bench: {}", in_one_line(&error));
                std::process::exit(2);
            }
            _ => error.exit(),
        })
}

/// The mistake, and the values that were probably meant.
fn in_one_line(error: &clap::Error) -> String {
    let texts = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    let line = line.trim_start_matches("error: ");
    let given = texts(ContextKind::InvalidValue).concat().to_uppercase();
    let valid = texts(ContextKind::ValidValue);
    let mut meant = valid.clone();
    meant.retain(|value| valid.len() <= 8 || value.to_uppercase().starts_with(&given));
    let suggested = [
        ContextKind::SuggestedValue,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
    ];
    let mut all = [meant]
        .into_iter()
        .chain(suggested.map(texts))
        .chain([valid]);
    let meant = all.find(|values| !values.is_empty());
    let advice = meant.map(|values| format!("; try {}", values.join(", ")));
    line.to_owned() + &advice.unwrap_or_default()
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
    use crate::choices::{Allocator, Api, Provider, chosen};
    use crate::jobs::bulk::Bulk;

    fn bulk(line: &str) -> (Bulk, Common) {
        let matches = command().try_get_matches_from(line.split(' ')).unwrap();
        let (_, matches) = matches.subcommand().unwrap();
        let bulk = Bulk::from_arg_matches(matches).unwrap();
        (bulk, Common::from_arg_matches(matches).unwrap())
    }

    #[test]
    fn the_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn the_main_job_needs_no_arguments() {
        let (args, common) = bulk("bench bulk");
        assert_eq!(args.connection.suite, "TLS13_AES_128_GCM_SHA256");
        assert_eq!(chosen(&args.api), Api::ALL);
        assert_eq!(common.providers(), Provider::ALL);
        assert_eq!(common.allocators(), []);
        assert_eq!(args.threads, Threads(vec![1]));
        assert_eq!(args.plaintext_size, 16384);
    }

    #[test]
    fn lists_and_units_are_understood() {
        let (args, common) = bulk(
            "bench bulk --threads=1..3 --working-set=64MiB --api=in-place,buffered --allocator=all",
        );
        assert_eq!(args.threads, Threads(vec![1, 2, 3]));
        assert_eq!(args.working_set, Some(ByteSize::mib(64)));
        assert_eq!(chosen(&args.api), [Api::InPlace, Api::Buffered]);
        assert_eq!(common.allocators(), Allocator::ALL);
        assert_eq!("1,8".parse(), Ok(Threads(vec![1, 8])));
    }
}
