//! The arguments that several sub-commands share. The structs have no doc comments, because clap
//! would print them as the help of the sub-command.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};

use crate::choices::{Allocator, Provider, names, one};
use crate::suites;

#[derive(Args, Clone, Debug)]
pub(crate) struct Connection {
    /// The cipher suite
    #[arg(default_value = "TLS13_AES_128_GCM_SHA256", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(suites::names()))]
    pub(crate) suite: String,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Common {
    /// The cryptography providers
    #[arg(long = "provider", value_parser = one::<Provider>(), value_delimiter = ',',
          default_values = names::<Provider>())]
    pub(crate) providers: Vec<Provider>,

    /// The memory allocators, each in its own process; default: all for `bulk`, otherwise `system`
    #[arg(long = "allocator", value_parser = one::<Allocator>(), value_delimiter = ',')]
    pub(crate) allocators: Vec<Allocator>,

    /// Scale the measuring time; 0.01 is a quick check that everything works
    #[arg(long, env = "BENCH_MULTIPLIER", default_value = "1", value_parser = multiplier)]
    pub(crate) multiplier: f64,

    /// Print all figures with p10–p90, in a table for each line of the usual one
    #[arg(long)]
    pub(crate) detail: bool,

    /// Print one JSON object per row instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Also draw the rows as bars into this SVG file, and into further ones if a page is too short
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,

    /// Also compare with the rows in this file, an earlier output of `--json`
    #[arg(long, value_name = "FILE.json")]
    pub(crate) compare: Option<PathBuf>,

    /// Measure on this process's allocator and print rows for the parent process
    #[arg(long, hide = true)]
    pub(crate) in_this_process: bool,
}

pub(crate) fn in_range(range: core::ops::RangeInclusive<u64>) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(range)
}

fn multiplier(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok();
    let number = number.filter(|number| (0.001..=1000.0).contains(number));
    number.ok_or("expected a number from 0.001 to 1000")
}
