//! The arguments of `load`.

use clap::{Args, Subcommand};

use super::{ConnectionArgs, HandshakeApi, KeyType, OutputArgs, RunArgs, TimeArgs, in_range};

#[derive(Debug, Subcommand)]
pub(crate) enum Load {
    /// Thousands of connections in one process: memory while idle, throughput while all move data
    Connections(LoadConnectionsArgs),

    /// A million handshakes of every kind; reports whether the heap grows
    Handshakes(LoadHandshakesArgs),
}

impl Load {
    pub(super) fn output(&self) -> &OutputArgs {
        match self {
            Self::Connections(args) => &args.run.output,
            Self::Handshakes(args) => &args.run.output,
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
