//! What `load` can be asked for.

use clap::{Args, Subcommand};

use super::{ConnectionArgs, HandshakeApi, KeyType, OutputArgs, RunArgs, TimeArgs, in_range};

#[derive(Debug, Subcommand)]
pub(crate) enum Load {
    /// Thousands of connections in one process, idle and while all of them move data
    Connections(LoadConnectionsArgs),

    /// A million handshakes of every kind, and whether the heap grows
    Handshakes(LoadHandshakesArgs),

    /// Hostile peers of every kind: what each makes a connection hold and do, how it ends, and what a thousand
    /// take from honest ones at the same server
    Hostile(LoadHostileArgs),
}

impl Load {
    pub(super) fn output(&self) -> &OutputArgs {
        match self {
            Self::Connections(args) => &args.run.output,
            Self::Handshakes(args) => &args.run.output,
            Self::Hostile(args) => &args.run.output,
        }
    }
}

#[derive(Args, Clone, Debug)]
pub(crate) struct LoadConnectionsArgs {
    /// The cipher suite; `list-suites` lists them
    #[arg(default_value = "TLS13_AES_128_GCM_SHA256")]
    pub(crate) suite: String,

    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// How many pairs of client and server to establish at once
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = in_range(4, 1 << 20))]
    pub(crate) connections: usize,

    /// Move data over loopback TCP: two sockets for each pair, of which a process may have so many. The
    /// buffered API alone
    #[arg(long)]
    pub(crate) tcp: bool,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct LoadHandshakesArgs {
    /// How many handshakes to make, of all kinds together, with each implementation and provider
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = in_range(1000, 1 << 40))]
    pub(crate) count: usize,

    /// Kind of the keys in all certificates
    #[arg(long, value_enum, default_value = "ecdsa-p256")]
    pub(crate) key_type: KeyType,

    /// Which API both sides use, several separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "buffered")]
    pub(crate) api: Vec<HandshakeApi>,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct LoadHostileArgs {
    /// Only kinds with this in their name
    #[arg(default_value = "")]
    pub(crate) filter: String,

    /// How many hostile clients to have at one server, of all kinds together
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = in_range(1, 1 << 16))]
    pub(crate) hostile: usize,

    /// How many honest clients to have beside them
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = in_range(1, 1 << 16))]
    pub(crate) honest: usize,

    /// How long to watch the honest clients, without the hostile ones and beside them
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    pub(crate) seconds: f64,

    /// How many times a hostile peer that is alone with a connection does what it does
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = in_range(40, 1 << 20))]
    pub(crate) steps: usize,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}
