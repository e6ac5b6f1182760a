//! The command line: what can be asked of the bench binary, and the checks on it that need no
//! measuring.

mod choices;
mod load;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};

pub(crate) use self::choices::*;
pub(crate) use self::load::*;

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

    /// Both directions of one end at once, on two threads: split halves beside a mutex and one direction alone
    Duplex(DuplexArgs),

    /// Full handshakes, each side's time apart
    Handshake(HandshakeArgs),

    /// Handshakes that resume sessions which the server has stored
    HandshakeResume(HandshakeArgs),

    /// Handshakes that resume sessions from tickets which only the server can open
    HandshakeTicket(HandshakeArgs),

    /// Heap bytes of idle connections, allocations of handshakes
    Memory(MemoryArgs),

    /// The cryptographic operations of handshakes alone, as the providers' libraries have them
    Primitives(PrimitivesArgs),

    /// What is parsed once, kept and shared of certificates, beside the same without
    Certificates(CertificatesArgs),

    /// Many connections, many handshakes, and peers that mean no good
    #[command(subcommand)]
    Load(Load),

    /// Whether the time that it takes to refuse a forgery tells where it is wrong
    Timing(TimingArgs),

    /// All but `load` and `timing`, one after the other
    All(AllArgs),

    /// The cipher suites, and which of them can be measured
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
            Self::Timing(args) => Some(&args.run.output),
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

    /// Which way of handing data to the connection to measure
    #[arg(long, value_enum, default_value_t = ApiChoice::All)]
    pub(crate) api: ApiChoice,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// How many threads do it at once, each with connections of its own; throughputs are summed. `1..4` or
    /// `1,2,4` measures each of them, and `--plot` draws curves
    #[arg(long, default_value = "1", value_name = "N")]
    pub(crate) threads: Threads,

    /// Bytes that the application hands over at a time
    #[arg(long, default_value_t = 16384, value_name = "BYTES", value_parser = in_range(1, 16 << 20))]
    pub(crate) plaintext_size: usize,

    /// How many bytes of plaintext each thread walks through before it comes back to the first, and writes to
    /// as much memory again (64MiB, for example): more than the last-level cache holds, so that memory
    /// bandwidth counts. Without it the same write is repeated. It takes about six times as much memory
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

    /// Bytes that the application hands over at a time, several separated by commas
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
    /// Which versions of TLS, several separated by commas
    #[arg(long = "tls", value_enum, value_delimiter = ',', default_values = ["1.3", "1.2"])]
    pub(crate) versions: Vec<Version>,

    /// Kinds of the keys in all certificates, several separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ecdsa-p256")]
    pub(crate) key_type: Vec<KeyType>,

    /// Groups to exchange keys in, several separated by commas; those that the provider or TLS 1.2 does not
    /// have are left out
    #[arg(long, value_enum, value_delimiter = ',', default_value = "x25519")]
    pub(crate) group: Vec<Group>,

    /// Whether the client has a certificate too; `no,yes` measures both
    #[arg(long, value_enum, value_delimiter = ',', default_value = "no")]
    pub(crate) client_auth: Vec<ClientAuth>,

    /// The AEAD of the cipher suite; its hash function comes with it
    #[arg(long, value_enum, default_value_t = Cipher::Aes128Gcm)]
    pub(crate) cipher: Cipher,

    /// Which API both sides use, several separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "buffered")]
    pub(crate) api: Vec<HandshakeApi>,

    /// How many tickets a TLS 1.3 server sends; by default none when no session is to be resumed, else as many
    /// as by default
    #[arg(long, value_name = "N", value_parser = in_range(0, 16))]
    pub(crate) tickets: Option<usize>,

    /// How many threads do it at once, each with configurations of its own; `1..4` or `1,2,4` measures each
    #[arg(long, default_value = "1", value_name = "N")]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
#[command(mut_arg("provider", |arg| arg.help("Whose cryptography")))]
pub(crate) struct PrimitivesArgs {
    /// Only those with this in their name
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
#[command(mut_arg("provider", |arg| arg.help("Whose cryptography")))]
pub(crate) struct TimingArgs {
    /// Only those with this in their name
    #[arg(default_value = "")]
    pub(crate) filter: String,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct AllArgs {
    /// Which cryptography to run over
    #[arg(long, value_enum, default_value_t = ProviderChoice::All)]
    pub(crate) provider: ProviderChoice,

    /// Which memory allocator to run on; by default each sub-command's own default
    #[arg(long, value_enum)]
    pub(crate) allocator: Option<AllocatorChoice>,

    /// The numbers of threads over which data is streamed through memory; by default 1, 2, 4 and so on, up to
    /// as many as there are processors
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<Threads>,

    /// How many bytes of plaintext each of these threads walks through
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "64MiB")]
    pub(crate) working_set: usize,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Clone, Debug)]
#[command(mut_arg("allocator", |arg| arg.help(
    "Which memory allocator to run on; the figures are bytes asked for and do not depend on it"
)))]
pub(crate) struct MemoryArgs {
    /// The cipher suite; `list-suites` lists them
    #[arg(default_value = "TLS13_AES_128_GCM_SHA256")]
    pub(crate) suite: String,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// How many connections of each role to establish at once
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

    /// Kind of the keys in all certificates; by default one that the suite can be used with
    #[arg(long, value_enum)]
    pub(crate) key_type: Option<KeyType>,
}

// What sub-commands have in common. No documentation on these: clap would show it as theirs.

#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// Which cryptography to run over
    #[arg(long, value_enum, default_value_t = ProviderChoice::All)]
    pub(crate) provider: ProviderChoice,

    /// Which memory allocator to run on; `all` starts one process for each
    #[arg(long, value_enum, default_value_t = AllocatorChoice::System, overrides_with = "allocator")]
    pub(crate) allocator: AllocatorChoice,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct TimeArgs {
    /// Scales how long is measured; 0.01 is a quick check that it works
    #[arg(long, env = "BENCH_MULTIPLIER", default_value = "1", value_parser = multiplier)]
    pub(crate) multiplier: f64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct OutputArgs {
    /// Print one JSON object for each row instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Also draw the rows, into this SVG file: bars, or curves over several numbers of threads
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,

    /// Measure on the allocator this process already runs on and print the rows for the process that
    /// started it
    #[arg(long, hide = true)]
    pub(crate) in_this_process: bool,
}

impl OutputArgs {
    /// Where a picture is to be drawn, if it is: not in the process that only measures.
    pub(crate) fn picture(&self) -> Option<&Path> {
        let file = self.plot.as_deref();
        file.filter(|_| !self.in_this_process)
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

/// A number of bytes, with or without a unit: 1000, 512KiB, 64MiB, 1GiB.
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
        // the process that measures is told its allocator behind what the user said
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
