//! The command line: the sub-commands that do not measure, the options that several share, and
//! one-line answers to mistakes. [`crate::jobs`] adds the sub-commands that measure.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Args, Command, Subcommand};
use clap_complete::Shell;
use itertools::Itertools;

use crate::all::All;
use crate::choices::{Allocator, Choice, KeyType, Provider, Several, chosen, one, several};
use crate::{all, jobs, suites};

/// Compares this TLS library with rustls 0.23 and the bare AEAD, over the same work in the same
/// run.
///
/// Figures are comparable within one run only. BENCHMARKS.md explains them.
#[derive(Subcommand)]
pub(crate) enum Tool {
    /// All of the above, one after the other; takes about 20 minutes
    #[command(after_help = all::runs())]
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

    /// Print a completion script for a shell
    Completions { shell: Shell },
}

/// The definition of the whole command line.
pub(crate) fn command() -> Command {
    let bench = jobs::add_to(Command::new("bench"));
    let bench = Tool::augment_subcommands(bench);
    bench.subcommand_required(true).arg_required_else_help(true)
}

// Arguments shared by sub-commands. Plain comments, because clap would print doc comments as help
// of the sub-command.

#[derive(Args, Clone, Debug)]
pub(crate) struct Connection {
    /// The cipher suite
    #[arg(default_value = "TLS13_AES_128_GCM_SHA256", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(suites::names()))]
    pub(crate) suite: String,

    /// `max_fragment_size` of both configurations: 32 to 16389
    #[arg(long, value_name = "BYTES", value_parser = in_range(32..=16389))]
    pub(crate) max_fragment_size: Option<usize>,

    /// The type of the keys in all certificates; default: one that works with the suite
    #[arg(long, value_parser = one::<KeyType>())]
    pub(crate) key_type: Option<KeyType>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Common {
    /// The cryptography provider
    #[arg(long, value_parser = several::<Provider>(), value_delimiter = ',', default_value = "all")]
    provider: Vec<Several<Provider>>,

    /// The memory allocator, each in a process of its own; default: `system`, and `all` for `bulk`
    /// with `--detail` or `--json`
    #[arg(long, value_parser = several::<Allocator>(), value_delimiter = ',')]
    allocator: Vec<Several<Allocator>>,

    /// Scale the measuring time; 0.01 is a quick check that everything works
    #[arg(long, env = "BENCH_MULTIPLIER", default_value = "1", value_parser = multiplier)]
    pub(crate) multiplier: f64,

    /// Print all figures, one line for each implementation, with p10–p90
    #[arg(long)]
    pub(crate) detail: bool,

    /// Print one JSON object per row instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Also draw the rows into this SVG file: bars, or curves over several numbers of threads
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,

    /// Also compare with the rows in this file, an earlier output of `--json`
    #[arg(long, value_name = "FILE.json")]
    pub(crate) compare: Option<PathBuf>,

    /// Measure on this process's allocator and print rows for the parent process
    #[arg(long, hide = true)]
    pub(crate) in_this_process: bool,
}

impl Common {
    pub(crate) fn providers(&self) -> Vec<Provider> {
        chosen(&self.provider)
    }

    /// The requested allocators, if any were.
    pub(crate) fn allocators(&self) -> Vec<Allocator> {
        chosen(&self.allocator)
    }
}

pub(crate) fn in_range(range: core::ops::RangeInclusive<u64>) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(range)
}

fn multiplier(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok();
    let number = number.filter(|number| (0.001..=1000.0).contains(number));
    number.ok_or("expected a number from 0.001 to 1000")
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
    use crate::choices::{Api, Threads};
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
