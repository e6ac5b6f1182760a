//! The command line: what can be asked of the bench binary, and the checks on it that need no
//! measuring.

use std::path::PathBuf;

use bench_allocator::Kind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use harness::configs;

/// Measures this TLS library beside rustls 0.23 and the bare AEAD, over the same work in the same run.
///
/// Figures compare within one run only.
#[derive(Debug, Parser)]
#[command(name = "bench", arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Throughput of an established connection: `bulk TLS13_AES_128_GCM_SHA256`
    Bulk(BulkArgs),

    /// Both ends over loopback TCP in one process, each on a thread of its own
    Tcp(TcpArgs),

    /// Heap bytes of idle connections, allocations of handshakes
    Memory(MemoryArgs),

    /// The cipher suites, and which of them can be measured
    ListSuites {
        /// Print one JSON object for each suite
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args, Clone, Debug)]
pub(crate) struct BulkArgs {
    /// The cipher suite; `list-suites` lists them
    pub(crate) suite: String,

    /// Which memory allocator to run on; `all` starts one process for each
    #[arg(long, value_enum, default_value_t = AllocatorChoice::All, overrides_with = "allocator")]
    pub(crate) allocator: AllocatorChoice,

    /// Which way of handing data to the connection to measure
    #[arg(long, value_enum, default_value_t = ApiChoice::All)]
    pub(crate) api: ApiChoice,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// How many threads do it at once, each with connections of its own; throughputs are summed
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = in_range(1, 1024))]
    pub(crate) threads: usize,

    /// Bytes that the application hands over at a time
    #[arg(long, default_value_t = 16384, value_name = "BYTES", value_parser = in_range(1, 16 << 20))]
    pub(crate) plaintext_size: usize,

    /// Scales how long is measured; 0.01 is a quick check that it works
    #[arg(long, env = "BENCH_MULTIPLIER", default_value = "1", value_parser = multiplier)]
    pub(crate) multiplier: f64,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct TcpArgs {
    /// The cipher suite; `list-suites` lists them
    #[arg(default_value = "TLS13_AES_128_GCM_SHA256")]
    pub(crate) suite: String,

    /// Which memory allocator to run on; `all` starts one process for each
    #[arg(long, value_enum, default_value_t = AllocatorChoice::System, overrides_with = "allocator")]
    pub(crate) allocator: AllocatorChoice,

    /// How the two applications use their connections
    #[arg(long, value_enum, default_value_t = TcpApiChoice::All)]
    pub(crate) api: TcpApiChoice,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// Bytes that the sending application hands over at a time, several separated by commas
    #[arg(
        long,
        value_name = "BYTES",
        value_delimiter = ',',
        default_value = "1024,4096,16384,65536",
        value_parser = in_range(1, 1 << 20)
    )]
    pub(crate) write_sizes: Vec<usize>,

    /// Bytes that the receiving application asks for at a time
    #[arg(long, default_value_t = 65536, value_name = "BYTES", value_parser = in_range(1, 1 << 20))]
    pub(crate) read_size: usize,

    /// Scales how long is measured; 0.01 is a quick check that it works
    #[arg(long, env = "BENCH_MULTIPLIER", default_value = "1", value_parser = multiplier)]
    pub(crate) multiplier: f64,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct MemoryArgs {
    /// The cipher suite; `list-suites` lists them
    #[arg(default_value = "TLS13_AES_128_GCM_SHA256")]
    pub(crate) suite: String,

    /// Which memory allocator to run on; the figures are bytes asked for and do not depend on it
    #[arg(long, value_enum, default_value_t = AllocatorChoice::System, overrides_with = "allocator")]
    pub(crate) allocator: AllocatorChoice,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// How many connections of each role to establish at once
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = in_range(1, 1 << 16))]
    pub(crate) connections: usize,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ConnectionArgs {
    /// Which cryptography to run over
    #[arg(long, value_enum, default_value_t = ProviderChoice::All)]
    pub(crate) provider: ProviderChoice,

    /// `max_fragment_size` of both configurations: 32 to 16389
    #[arg(long, value_name = "BYTES", value_parser = in_range(32, 16389))]
    pub(crate) max_fragment_size: Option<usize>,

    /// Kind of the server certificate's key
    #[arg(long, value_enum, default_value_t = KeyType::EcdsaP256)]
    pub(crate) key_type: KeyType,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct OutputArgs {
    /// Print one JSON object for each row instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Also draw the rows as bars, into this SVG file
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,

    /// Measure on the allocator this process already runs on and print the rows for the process that
    /// started it
    #[arg(long, hide = true)]
    pub(crate) in_this_process: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AllocatorChoice {
    System,
    Jemalloc,
    Mimalloc,
    All,
}

impl AllocatorChoice {
    pub(crate) fn kinds(self) -> Vec<Kind> {
        match self {
            Self::System => vec![Kind::System],
            Self::Jemalloc => vec![Kind::Jemalloc],
            Self::Mimalloc => vec![Kind::Mimalloc],
            Self::All => Kind::ALL.to_vec(),
        }
    }
}

/// A way of handing data to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Buffered,
    /// Buffered, without the copy out to the application.
    FillBuf,
    Unbuffered,
    InPlace,
}

impl Api {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::FillBuf => "fill-buf",
            Self::Unbuffered => "unbuffered",
            Self::InPlace => "in-place",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApiChoice {
    Buffered,
    FillBuf,
    Unbuffered,
    InPlace,
    All,
}

impl ApiChoice {
    pub(crate) fn apis(self) -> Vec<Api> {
        match self {
            Self::Buffered => vec![Api::Buffered],
            Self::FillBuf => vec![Api::FillBuf],
            Self::Unbuffered => vec![Api::Unbuffered],
            Self::InPlace => vec![Api::InPlace],
            Self::All => vec![Api::Buffered, Api::FillBuf, Api::Unbuffered, Api::InPlace],
        }
    }
}

/// How an application uses a connection over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TcpApi {
    /// `Stream`.
    Stream,
    /// `writer`, `write_tls`; `read_tls`, `process_new_packets`, `reader`.
    Calls,
}

impl TcpApi {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Calls => "calls",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TcpApiChoice {
    Stream,
    Calls,
    All,
}

impl TcpApiChoice {
    pub(crate) fn apis(self) -> Vec<TcpApi> {
        match self {
            Self::Stream => vec![TcpApi::Stream],
            Self::Calls => vec![TcpApi::Calls],
            Self::All => vec![TcpApi::Stream, TcpApi::Calls],
        }
    }
}

/// A crypto provider that both implementations have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    AwsLcRs,
    Ring,
}

impl Provider {
    pub(crate) const ALL: [Self; 2] = [Self::AwsLcRs, Self::Ring];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AwsLcRs => "aws-lc-rs",
            Self::Ring => "ring",
        }
    }

    pub(crate) const fn in_harness(self) -> configs::Provider {
        match self {
            Self::AwsLcRs => configs::Provider::AwsLc,
            Self::Ring => configs::Provider::Ring,
        }
    }
}

/// Kind of the server certificate's key. The root's is of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyType {
    EcdsaP256,
    EcdsaP384,
    Ed25519,
    #[value(name = "rsa-2048")]
    Rsa2048,
}

impl KeyType {
    /// The certificates, the same in the whole process.
    pub(crate) fn identities(self) -> &'static configs::Identities {
        let key_type = match self {
            Self::EcdsaP256 => configs::KeyType::EcdsaP256,
            Self::EcdsaP384 => configs::KeyType::EcdsaP384,
            Self::Ed25519 => configs::KeyType::Ed25519,
            Self::Rsa2048 => configs::KeyType::Rsa2048,
        };
        key_type.identities()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderChoice {
    AwsLcRs,
    Ring,
    All,
}

impl ProviderChoice {
    pub(crate) fn providers(self) -> Vec<Provider> {
        match self {
            Self::AwsLcRs => vec![Provider::AwsLcRs],
            Self::Ring => vec![Provider::Ring],
            Self::All => Provider::ALL.to_vec(),
        }
    }
}

/// A parser of whole numbers from `least` to `most`.
fn in_range(
    least: usize,
    most: usize,
) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync {
    move |text| {
        text.parse()
            .ok()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| format!("expected a whole number from {least} to {most}"))
    }
}

fn multiplier(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number| (0.001..=1000.0).contains(number))
        .ok_or_else(|| "expected a number from 0.001 to 1000".to_owned())
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
    fn the_main_job_needs_no_flags() {
        let cli = Cli::try_parse_from(["bench", "bulk", "TLS13_AES_128_GCM_SHA256"]).unwrap();
        let Command::Bulk(args) = cli.command else {
            panic!("{cli:?}");
        };
        assert_eq!(args.allocator.kinds(), Kind::ALL);
        assert_eq!(args.api.apis().len(), 4);
        assert_eq!(args.connection.provider.providers(), Provider::ALL);
        assert_eq!((args.threads, args.plaintext_size), (1, 16384));
    }

    #[test]
    fn the_last_allocator_counts() {
        // the process that measures is told its allocator behind what the user said
        for command in ["bulk", "tcp", "memory"] {
            let line = [
                "bench",
                command,
                "X",
                "--allocator=all",
                "--allocator=mimalloc",
            ];
            let allocator = match Cli::try_parse_from(line).unwrap().command {
                Command::Bulk(args) => args.allocator,
                Command::Tcp(args) => args.allocator,
                Command::Memory(args) => args.allocator,
                other => panic!("{other:?}"),
            };
            assert_eq!(allocator, AllocatorChoice::Mimalloc);
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_the_range() {
        let cases = [
            ("--threads", "0", "from 1 to 1024"),
            ("--plaintext-size", "0", "from 1 to 16777216"),
            ("--plaintext-size", "x", "from 1 to 16777216"),
            ("--max-fragment-size", "31", "from 32 to 16389"),
            ("--multiplier", "-1", "from 0.001 to 1000"),
            ("--multiplier", "NaN", "from 0.001 to 1000"),
        ];
        for (flag, value, range) in cases {
            let flag = format!("{flag}={value}");
            let error = Cli::try_parse_from(["bench", "bulk", "X", &flag]).unwrap_err();
            assert!(error.to_string().contains(range), "{flag}: {error}");
        }
    }
}
