//! The arguments of `load`.

use clap::{Args, Subcommand};

use super::{ConnectionArgs, HandshakeApi, KeyType, OutputArgs, RunArgs, TimeArgs, in_range};

#[derive(Debug, Subcommand)]
pub(crate) enum Load {
    /// Thousands of connections in one process: memory while idle, throughput while all move data
    Connections(LoadConnectionsArgs),

    /// A million handshakes of every kind; reports whether the heap grows
    Handshakes(LoadHandshakesArgs),

    /// Hostile peers of every kind: the memory and CPU that each costs, and how they slow down
    /// honest clients
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

    /// The number of client-server pairs to establish at once
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = in_range(4, 1 << 20))]
    pub(crate) connections: usize,

    /// Move data over loopback TCP, with two sockets for each pair (raise the limit on open files
    /// for this). Buffered API only
    #[arg(long)]
    pub(crate) tcp: bool,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct LoadHandshakesArgs {
    /// The number of handshakes with each implementation and provider, all kinds together
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = in_range(1000, 1 << 40))]
    pub(crate) count: usize,

    /// The type of the keys in all certificates
    #[arg(long, value_enum, default_value = "ecdsa-p256")]
    pub(crate) key_type: KeyType,

    /// The API that both sides use; several may be separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "buffered")]
    pub(crate) api: Vec<HandshakeApi>,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct LoadHostileArgs {
    /// Run only the kinds whose name contains this
    #[arg(default_value = "")]
    pub(crate) filter: String,

    /// The number of hostile clients at one server, all kinds together
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = in_range(1, 1 << 16))]
    pub(crate) hostile: usize,

    /// The number of honest clients at the same server
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = in_range(1, 1 << 16))]
    pub(crate) honest: usize,

    /// The time to measure the honest clients, once with and once without the hostile ones
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    pub(crate) seconds: f64,

    /// The number of times that a hostile peer, alone on its connection, repeats its attack
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = in_range(40, 1 << 20))]
    pub(crate) steps: usize,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}
