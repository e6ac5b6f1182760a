//! The command line: sub-commands, their options, and one-line answers to mistakes.

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::choices::{
    Allocator, Api, Choice, Cipher, ClientAuth, Group, KeyType, Provider, Several, Threads,
    Version, chosen, one, several,
};
use crate::suites;

/// Compares this TLS library with rustls 0.23 and the bare AEAD, over the same work in the same
/// run.
///
/// Figures are comparable within one run only. BENCHMARKS.md explains them.
#[derive(Debug, Parser)]
#[command(name = "bench", arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Throughput of an established connection
    Bulk(Bulk),

    /// Both ends over loopback TCP in one process, each on its own thread
    Tcp(Tcp),

    /// Sends and receives at once on two threads: with a split connection, or one behind a mutex
    Duplex(Duplex),

    /// Full handshakes, each side timed separately
    Handshake(Handshake),

    /// Handshakes that resume sessions stored by the server
    HandshakeResume(Handshake),

    /// Handshakes that resume sessions from tickets that only the server can open
    HandshakeTicket(Handshake),

    /// Heap bytes of idle connections and allocations per handshake
    Memory(Memory),

    /// The cryptographic operations of a handshake, called in the provider's library directly
    Primitives(Primitives),

    /// Certificate work with and without the caches that parse once and share
    Certificates(Certificates),

    /// Many connections and many handshakes
    #[command(subcommand)]
    Load(Load),

    /// All of the above, one after the other: bulk with records of 16 KiB and of 64 bytes, over
    /// TLS 1.2, and through memory on several threads; then tcp, duplex, memory, the three kinds
    /// of handshakes, primitives, certificates, load connections, and a tenth of load handshakes.
    /// Takes about 20 minutes
    All(All),

    /// List the cipher suites and the providers that have them
    ListSuites {
        /// Print one JSON object for each suite
        #[arg(long)]
        json: bool,
    },

    /// Write BENCHMARKS.md and docs/results.svg from the output of `all --json`
    Document {
        /// The output of `all --json`
        results: PathBuf,
    },

    /// Print a completion script for a shell
    Completions { shell: Shell },
}

impl Command {
    /// The options of a sub-command that measures.
    pub(crate) fn common(&self) -> Option<&Common> {
        Some(match self {
            Self::Bulk(args) => &args.common,
            Self::Tcp(args) => &args.common,
            Self::Duplex(args) => &args.common,
            Self::Handshake(args) | Self::HandshakeResume(args) | Self::HandshakeTicket(args) => {
                &args.common
            }
            Self::Memory(args) => &args.common,
            Self::Primitives(args) => &args.common,
            Self::Certificates(args) => &args.common,
            Self::Load(Load::Connections(args)) => &args.common,
            Self::Load(Load::Handshakes(args)) => &args.common,
            Self::All(args) => &args.common,
            Self::ListSuites { .. } | Self::Document { .. } | Self::Completions { .. } => {
                return None;
            }
        })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Load {
    /// Thousands of connections in one process: memory while idle and while data waits in all
    Connections(LoadConnections),

    /// A million handshakes of every kind; reports whether the heap grows
    Handshakes(LoadHandshakes),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Bulk {
    #[command(flatten)]
    pub(crate) connection: Connection,

    /// The API for passing data to the connection
    #[arg(long, value_parser = several::<Api>(), value_delimiter = ',', default_value = "all")]
    pub(crate) api: Vec<Several<Api>>,

    /// The number of threads, each with its own connections; throughputs are summed. `1..4` or
    /// `1,2,4` measures each number, and `--plot` draws curves
    #[arg(long, default_value = "1", value_name = "N")]
    pub(crate) threads: Threads,

    /// The bytes that the application writes at a time
    #[arg(long, default_value_t = 16384, value_name = "BYTES", value_parser = in_range(1..=16 << 20))]
    pub(crate) plaintext_size: usize,

    /// Bytes of plaintext for each thread, more than the last-level cache (64MiB, for example), so
    /// that memory bandwidth counts. By default, one write is repeated. Takes about six times this
    /// much memory
    #[arg(long, value_name = "BYTES")]
    pub(crate) working_set: Option<ByteSize>,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Tcp {
    #[command(flatten)]
    pub(crate) connection: Connection,

    /// The bytes that the sender writes at a time; several sizes may be separated by commas
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "1024,4096,16384,65536",
          value_parser = in_range(1..=1 << 20))]
    pub(crate) write_sizes: Vec<usize>,

    /// The bytes that the receiver asks for at a time
    #[arg(long, default_value_t = 65536, value_name = "BYTES", value_parser = in_range(1..=1 << 20))]
    pub(crate) read_size: usize,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Duplex {
    #[command(flatten)]
    pub(crate) connection: Connection,

    /// The bytes that the application writes at a time; several sizes may be separated by commas
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "16384",
          value_parser = in_range(1..=1 << 20))]
    pub(crate) write_sizes: Vec<usize>,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Handshake {
    /// The versions of TLS
    #[arg(long = "tls", value_parser = several::<Version>(), value_delimiter = ',', default_value = "all")]
    pub(crate) versions: Vec<Several<Version>>,

    /// The types of the keys in all certificates
    #[arg(long, value_parser = several::<KeyType>(), value_delimiter = ',', default_value = "ecdsa-p256")]
    pub(crate) key_type: Vec<Several<KeyType>>,

    /// The key exchange groups; groups that the provider or TLS 1.2 lacks are skipped
    #[arg(long, value_parser = several::<Group>(), value_delimiter = ',', ignore_case = true, default_value = "X25519")]
    pub(crate) group: Vec<Several<Group>>,

    /// Authenticate the client with a certificate, too
    #[arg(long, value_parser = several::<ClientAuth>(), value_delimiter = ',', default_value = "no")]
    pub(crate) client_auth: Vec<Several<ClientAuth>>,

    /// The AEAD of the cipher suite, which also selects the hash function
    #[arg(long, value_parser = one::<Cipher>(), default_value = "aes128-gcm")]
    pub(crate) cipher: Cipher,

    /// The number of tickets a TLS 1.3 server sends; default: none in full handshakes, the
    /// library's default in resumptions
    #[arg(long, value_name = "N", value_parser = in_range(0..=16))]
    pub(crate) tickets: Option<usize>,

    /// The number of threads, each with its own configurations; `1..4` or `1,2,4` measures each
    /// number
    #[arg(long, default_value = "1", value_name = "N")]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Memory {
    #[command(flatten)]
    pub(crate) connection: Connection,

    /// The number of connections of each role to establish at once
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = in_range(1..=1 << 16))]
    pub(crate) connections: usize,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Primitives {
    /// Run only the operations whose name contains this
    #[arg(default_value = "")]
    pub(crate) filter: String,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Certificates {
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct LoadConnections {
    #[command(flatten)]
    pub(crate) connection: Connection,

    /// The number of client-server pairs to establish at once
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = in_range(4..=1 << 20))]
    pub(crate) connections: usize,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct LoadHandshakes {
    /// The number of handshakes with each implementation and provider, all kinds together
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = in_range(1000..=1 << 40))]
    pub(crate) count: usize,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Clone, Debug)]
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

fn in_range(range: core::ops::RangeInclusive<u64>) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(range)
}

fn multiplier(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok();
    let number = number.filter(|number| (0.001..=1000.0).contains(number));
    number.ok_or("expected a number from 0.001 to 1000")
}

/// Parses the command line. Prints help, or one line about a mistake, and exits.
pub(crate) fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| match error.kind() {
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
    let is_short = valid.len() <= 8;
    meant.retain(|value| is_short || value.to_uppercase().starts_with(&given));
    for kind in [
        ContextKind::SuggestedValue,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
    ] {
        if meant.is_empty() {
            meant = texts(kind);
        }
    }
    if meant.is_empty() {
        meant = valid;
    }
    if meant.is_empty() {
        line.to_owned()
    } else {
        format!("{line}; try {}", meant.join(", "))
    }
}

/// The name of `choice` as an option's value.
pub(crate) fn option(name: &str, choices: &[impl Choice]) -> String {
    let names: Vec<_> = choices.iter().map(|choice| choice.name()).collect();
    format!("--{name}={}", names.join(","))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_main_job_needs_no_arguments() {
        let Command::Bulk(args) = Cli::try_parse_from(["bench", "bulk"]).unwrap().command else {
            panic!("another command");
        };
        assert_eq!(args.connection.suite, "TLS13_AES_128_GCM_SHA256");
        assert_eq!(chosen(&args.api), Api::ALL);
        assert_eq!(args.common.providers(), Provider::ALL);
        assert_eq!(args.common.allocators(), []);
        assert_eq!(args.threads, Threads(vec![1]));
        assert_eq!(args.plaintext_size, 16384);
    }

    #[test]
    fn lists_and_units_are_understood() {
        let line =
            "bench bulk --threads=1..3 --working-set=64MiB --api=in-place,buffered --allocator=all";
        let Command::Bulk(args) = Cli::try_parse_from(line.split(' ')).unwrap().command else {
            panic!("another command");
        };
        assert_eq!(args.threads, Threads(vec![1, 2, 3]));
        assert_eq!(args.working_set, Some(ByteSize::mib(64)));
        assert_eq!(chosen(&args.api), [Api::InPlace, Api::Buffered]);
        assert_eq!(args.common.allocators(), Allocator::ALL);
        assert_eq!("1,8".parse(), Ok(Threads(vec![1, 8])));
    }

    #[test]
    fn mistakes_are_explained_in_one_line() {
        for (arguments, expected) in [
            ("bulk --threads=0", "from 1 to 1024"),
            ("bulk --threads=3..2", "from 1 to 1024"),
            ("bulk --working-set=big", "big"),
            ("bulk --plaintext-size=0", "1..=16777216"),
            ("bulk --max-fragment-size=31", "32..=16389"),
            ("bulk --multiplier=NaN", "from 0.001 to 1000"),
            (
                "bulk TLS13_AES",
                "try TLS13_AES_256_GCM_SHA384, TLS13_AES_128_GCM_SHA256",
            ),
            (
                "bulk TLS13_AES_128_GCM_SHA265",
                "try TLS13_AES_128_GCM_SHA256",
            ),
            (
                "bulk --allocator=tcmalloc",
                "try system, jemalloc, mimalloc, all",
            ),
            ("handshake --group=x448", "X25519"),
            ("bulk --jason", "--json"),
            ("bluk", "bulk"),
        ] {
            let line = format!("bench {arguments}");
            let error = Cli::try_parse_from(line.split(' ')).unwrap_err();
            let answer = in_one_line(&error);
            assert!(answer.contains(expected), "{arguments}: {answer}");
            assert_eq!(answer.lines().count(), 1, "{answer}");
        }
    }
}
