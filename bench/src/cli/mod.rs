//! The command line: the options of the bench binary, and the checks on them that need no
//! measuring.

mod choices;
mod load;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};

pub(crate) use self::choices::*;
pub(crate) use self::load::*;

/// Compares this TLS library with rustls 0.23 and the bare AEAD, over the same work in the same
/// run.
///
/// Figures are comparable within one run only.
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

    /// Both ends over loopback TCP in one process, each on its own thread
    Tcp(TcpArgs),

    /// Both directions of one end at once, on two threads: split halves, a mutex, or one direction
    /// only
    Duplex(DuplexArgs),

    /// Full handshakes, each side timed separately
    Handshake(HandshakeArgs),

    /// Handshakes that resume sessions stored by the server
    HandshakeResume(HandshakeArgs),

    /// Handshakes that resume sessions from tickets that only the server can open
    HandshakeTicket(HandshakeArgs),

    /// Heap bytes of idle connections and allocations per handshake
    Memory(MemoryArgs),

    /// The cryptographic operations of a handshake, called in the provider's library directly
    Primitives(PrimitivesArgs),

    /// Certificate work with and without the caches that parse once and share
    Certificates(CertificatesArgs),

    /// Many connections and many handshakes
    #[command(subcommand)]
    Load(Load),

    /// All sub-commands, one after the other
    All(AllArgs),

    /// List the cipher suites and say which can be measured
    ListSuites {
        /// Print one JSON object for each suite
        #[arg(long)]
        json: bool,
    },
}

impl Command {
    pub(crate) fn output(&self) -> Option<&OutputArgs> {
        match self {
            Self::Bulk(args) => Some(&args.run.output),
            Self::Tcp(args) => Some(&args.run.output),
            Self::Duplex(args) => Some(&args.run.output),
            Self::Handshake(args) | Self::HandshakeResume(args) | Self::HandshakeTicket(args) => {
                Some(&args.run.output)
            }
            Self::Memory(args) => Some(&args.run.output),
            Self::Primitives(args) => Some(&args.run.output),
            Self::Certificates(args) => Some(&args.run.output),
            Self::Load(load) => Some(load.output()),
            Self::All(args) => Some(&args.output),
            Self::ListSuites { .. } => None,
        }
    }
}

#[derive(Args, Clone, Debug)]
#[command(mut_arg("allocator", |arg| arg.default_value("all")))]
pub(crate) struct BulkArgs {
    /// The cipher suite; `list-suites` lists them
    pub(crate) suite: String,

    /// The API for passing data to the connection
    #[arg(long, value_enum, default_value_t = ApiChoice::All)]
    pub(crate) api: ApiChoice,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// The number of threads, each with its own connections; throughputs are summed. `1..4` or
    /// `1,2,4` measures each number, and `--plot` draws curves
    #[arg(long, default_value = "1", value_name = "N")]
    pub(crate) threads: Threads,

    /// The bytes that the application writes at a time
    #[arg(long, default_value_t = 16384, value_name = "BYTES", value_parser = in_range(1, 16 << 20))]
    pub(crate) plaintext_size: usize,

    /// The plaintext bytes that each thread cycles through, with as much output memory (64MiB, for
    /// example). Choose more than the last-level cache, so that memory bandwidth counts. Without it
    /// the same write is repeated. Takes about six times as much memory
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) working_set: Option<usize>,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct TcpArgs {
    /// The cipher suite; `list-suites` lists them
    #[arg(default_value = "TLS13_AES_128_GCM_SHA256")]
    pub(crate) suite: String,

    /// The API that the two applications use
    #[arg(long, value_enum, default_value_t = TcpApiChoice::All)]
    pub(crate) api: TcpApiChoice,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// The bytes that the sender writes at a time; several sizes may be separated by commas
    #[arg(
        long,
        value_name = "BYTES",
        value_delimiter = ',',
        default_value = "1024,4096,16384,65536",
        value_parser = in_range(1, 1 << 20)
    )]
    pub(crate) write_sizes: Vec<usize>,

    /// The bytes that the receiver asks for at a time
    #[arg(long, default_value_t = 65536, value_name = "BYTES", value_parser = in_range(1, 1 << 20))]
    pub(crate) read_size: usize,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct DuplexArgs {
    /// The cipher suite; `list-suites` lists them
    #[arg(default_value = "TLS13_AES_128_GCM_SHA256")]
    pub(crate) suite: String,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// The bytes that the application writes at a time; several sizes may be separated by commas
    #[arg(
        long,
        value_name = "BYTES",
        value_delimiter = ',',
        default_value = "16384",
        value_parser = in_range(1, 1 << 20)
    )]
    pub(crate) write_sizes: Vec<usize>,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct HandshakeArgs {
    /// The versions of TLS, separated by commas
    #[arg(long = "tls", value_enum, value_delimiter = ',', default_values = ["1.3", "1.2"])]
    pub(crate) versions: Vec<Version>,

    /// The types of the keys in all certificates, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ecdsa-p256")]
    pub(crate) key_type: Vec<KeyType>,

    /// The key exchange groups, separated by commas; groups that the provider or TLS 1.2 lacks are
    /// skipped
    #[arg(long, value_enum, value_delimiter = ',', default_value = "x25519")]
    pub(crate) group: Vec<Group>,

    /// Authenticate the client with a certificate, too; `no,yes` measures both
    #[arg(long, value_enum, value_delimiter = ',', default_value = "no")]
    pub(crate) client_auth: Vec<ClientAuth>,

    /// The AEAD of the cipher suite, which also selects the hash function
    #[arg(long, value_enum, default_value_t = Cipher::Aes128Gcm)]
    pub(crate) cipher: Cipher,

    /// The API that both sides use; several may be separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "buffered")]
    pub(crate) api: Vec<HandshakeApi>,

    /// The number of tickets a TLS 1.3 server sends; default: none in full handshakes, the
    /// library's default in resumptions
    #[arg(long, value_name = "N", value_parser = in_range(0, 16))]
    pub(crate) tickets: Option<usize>,

    /// The number of threads, each with its own configurations; `1..4` or `1,2,4` measures each
    /// number
    #[arg(long, default_value = "1", value_name = "N")]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
#[command(mut_arg("provider", |arg| arg.help("The cryptography provider")))]
pub(crate) struct PrimitivesArgs {
    /// Run only the operations whose name contains this
    #[arg(default_value = "")]
    pub(crate) filter: String,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CertificatesArgs {
    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct AllArgs {
    /// The cryptography provider
    #[arg(long, value_enum, default_value_t = ProviderChoice::All)]
    pub(crate) provider: ProviderChoice,

    /// The memory allocator; default: the default of each sub-command
    #[arg(long, value_enum)]
    pub(crate) allocator: Option<AllocatorChoice>,

    /// The numbers of threads for streaming data through memory; default: powers of two up to the
    /// number of processors
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<Threads>,

    /// The plaintext bytes that each of these threads cycles through
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "64MiB")]
    pub(crate) working_set: usize,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Clone, Debug)]
#[command(mut_arg("allocator", |arg| arg.help(
    "The memory allocator; the figures are bytes requested, which do not depend on it"
)))]
pub(crate) struct MemoryArgs {
    /// The cipher suite; `list-suites` lists them
    #[arg(default_value = "TLS13_AES_128_GCM_SHA256")]
    pub(crate) suite: String,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// The number of connections of each role to establish at once
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = in_range(1, 1 << 16))]
    pub(crate) connections: usize,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ConnectionArgs {
    /// `max_fragment_size` of both configurations: 32 to 16389
    #[arg(long, value_name = "BYTES", value_parser = in_range(32, 16389))]
    pub(crate) max_fragment_size: Option<usize>,

    /// The type of the keys in all certificates; default: one that works with the suite
    #[arg(long, value_enum)]
    pub(crate) key_type: Option<KeyType>,
}

// Arguments shared by sub-commands. Plain comments, because clap would print doc comments as help
// of the sub-command.

#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// The cryptography provider
    #[arg(long, value_enum, default_value_t = ProviderChoice::All)]
    pub(crate) provider: ProviderChoice,

    /// The memory allocator; `all` starts one process for each
    #[arg(long, value_enum, default_value_t = AllocatorChoice::System, overrides_with = "allocator")]
    pub(crate) allocator: AllocatorChoice,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct TimeArgs {
    /// Scale the measuring time; 0.01 is a quick check that everything works
    #[arg(long, env = "BENCH_MULTIPLIER", default_value = "1", value_parser = multiplier)]
    pub(crate) multiplier: f64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct OutputArgs {
    /// Print one JSON object per row instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Also draw the rows into this SVG file: bars, or curves over several numbers of threads
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,

    /// Measure on this process's allocator and print rows for the parent process
    #[arg(long, hide = true)]
    pub(crate) in_this_process: bool,
}

impl OutputArgs {
    /// The file to draw a picture to. `None` in a process that only measures.
    pub(crate) fn picture(&self) -> Option<&Path> {
        let file = self.plot.as_deref();
        file.filter(|_| !self.in_this_process)
    }
}

/// Returns a parser of whole numbers from `least` to `most`.
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

/// Parses a number of bytes with an optional unit: 1000, 512KiB, 64MiB, 1GiB.
fn bytes(text: &str) -> Result<usize, String> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let with_unit = units
        .iter()
        .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let (digits, unit) = with_unit.unwrap_or((text, 1));
    let number = digits.trim().parse::<usize>().ok();
    number
        .and_then(|number| number.checked_mul(unit))
        .filter(|bytes| (1..=1 << 40).contains(bytes))
        .ok_or_else(|| "expected a number of bytes, as in 1000, 512KiB or 64MiB".to_owned())
}

fn multiplier(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number| (0.001..=1000.0).contains(number))
        .ok_or_else(|| "expected a number from 0.001 to 1000".to_owned())
}

#[cfg(test)]
mod tests {
    use bench_allocator::Kind;
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
        assert_eq!(args.run.allocator.kinds(), Kind::ALL);
        assert_eq!(args.api.apis().len(), 4);
        assert_eq!(args.run.provider.providers(), Provider::ALL);
        assert_eq!(
            (&args.threads.0[..], args.plaintext_size),
            (&[1][..], 16384)
        );
    }

    #[test]
    fn the_last_allocator_counts() {
        // the parent appends the allocator of a measuring process to the user's arguments
        for command in [
            "bulk X",
            "tcp X",
            "memory X",
            "handshake",
            "primitives",
            "certificates",
        ] {
            let mut line: Vec<_> = ["bench"].into_iter().chain(command.split(' ')).collect();
            line.extend(["--allocator=all", "--allocator=mimalloc"]);
            let allocator = match Cli::try_parse_from(line).unwrap().command {
                Command::Bulk(args) => args.run.allocator,
                Command::Tcp(args) => args.run.allocator,
                Command::Memory(args) => args.run.allocator,
                Command::Handshake(args) => args.run.allocator,
                Command::Primitives(args) => args.run.allocator,
                Command::Certificates(args) => args.run.allocator,
                other => panic!("{other:?}"),
            };
            assert_eq!(allocator, AllocatorChoice::Mimalloc);
        }
    }

    #[test]
    fn lists_and_units_are_understood() {
        let line = [
            "bench",
            "bulk",
            "X",
            "--threads=1..3",
            "--working-set=64MiB",
        ];
        let Command::Bulk(args) = Cli::try_parse_from(line).unwrap().command else {
            panic!("another command");
        };
        assert_eq!(args.threads, Threads(vec![1, 2, 3]));
        assert_eq!(args.working_set, Some(64 << 20));
        assert_eq!("1,8".parse(), Ok(Threads(vec![1, 8])));
        assert_eq!(bytes("17"), Ok(17));
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_the_range() {
        let cases = [
            ("--threads", "0", "from 1 to 1024"),
            ("--threads", "1..", "from 1 to 1024"),
            ("--threads", "3..2", "from 1 to 1024"),
            ("--working-set", "0", "512KiB"),
            ("--working-set", "1 MB", "512KiB"),
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
