//! A TLS server whose private key is in another process.
//!
//! ```text
//! cargo run --example certificate -- /tmp/demo
//! cargo run --example remote_key -- keep /tmp/demo/server.key /tmp/demo/key.socket
//! cargo run --example remote_key -- serve /tmp/demo/server.pem /tmp/demo/key.socket
//! openssl s_client -quiet -connect localhost:8443 -CAfile /tmp/demo/ca.pem
//! ```
//!
//! The keeper has the key, and nothing else. The server, which is exposed to clients, requests one
//! signature from it per full handshake. A defect in the server then cannot reveal the key:
//!
//! ```text
//!   clients ◄── TLS ──► serve ── scheme, message ──► keep
//!                             ◄── signature ────────
//!                             a connection to its Unix socket for each
//! ```
//!
//! While a handshake waits for its signature, the thread serves other connections. The same works
//! for a key in a cloud service: implement `Signer::sign_async` as in `remote_key/key.rs`.
//!
//! The keeper signs only what TLS 1.3 servers sign. Any process that may write to its socket can
//! impersonate the server while the keeper runs, so choose the folder's permissions with care.

#![cfg_attr(not(unix), allow(dead_code, reason = "it needs Unix sockets"))]

mod exit;
mod greet;
mod listen;
#[cfg(unix)]
mod remote_key {
    pub(crate) mod keeper;
    pub(crate) mod key;
    #[cfg(test)]
    mod tests;
}
mod tokio_io;

use std::error::Error;
use std::path::PathBuf;

use clap::Parser;
use listen::Listen;

/// Serve TLS with a private key in another process
#[derive(Parser)]
enum Options {
    /// Hold the key, and sign for servers
    Keep {
        /// PEM file with the private key
        key_file: PathBuf,

        /// The Unix socket to listen on; an existing one is replaced
        socket: PathBuf,
    },

    /// Greet clients over TLS
    Serve {
        #[command(flatten)]
        listen: Listen,

        /// The Unix socket of the keeper
        socket: PathBuf,
    },
}

#[tokio::main]
async fn main() {
    exit::on_error(run(Options::parse()).await);
}

#[cfg(unix)]
async fn run(options: Options) -> Result<(), Box<dyn Error>> {
    use std::sync::Arc;

    use remote_key::{keeper, key};

    match options {
        Options::Keep { key_file, socket } => {
            let key = listen::load_key(&key_file)?;
            let listener = keeper::bind(&socket)?;
            println!("keeping the key behind {}", socket.display());
            keeper::keep(key, listener).await
        }
        Options::Serve { listen, socket } => {
            let key = key::RemoteKey::connect(&socket, key::PATIENCE).await?;
            let config = listen.config(Arc::new(key), &[&rustls::version::TLS13])?;
            greet::greet_all(config, listen.bind()?).await
        }
    }
}

#[cfg(not(unix))]
async fn run(_: Options) -> Result<(), Box<dyn Error>> {
    Err("this example needs Unix sockets".into())
}
