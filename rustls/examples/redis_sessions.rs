//! A server that keeps its sessions in Redis, so that clients can resume them on every server of a
//! fleet.
//!
//! ```text
//! cargo run --example certificate -- /tmp/demo
//! head -c 32 /dev/urandom > /tmp/demo/sessions.secret     # the same file on all servers
//! cargo run --example redis_sessions -- /tmp/demo/server.pem /tmp/demo/server.key \
//!     /tmp/demo/sessions.secret --redis 127.0.0.1:6379
//! ```
//!
//! It greets each client with the kind of its handshake, full or resumed. To see both, run
//! `openssl s_client -quiet -connect localhost:8443 -CAfile /tmp/demo/ca.pem` with `-sess_out FILE`
//! and then with `-sess_in FILE`.
//!
//! While a handshake waits for Redis, its thread serves other connections. If Redis is slow or
//! down, handshakes are full. Self-contained tickets (`Ticketer::for_fleet`) need no Redis.

mod exit;
mod greet;
mod listen;
mod redis_sessions {
    pub(crate) mod store;
    #[cfg(test)]
    mod tests;
}
mod tokio_io;

use std::error::Error;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use listen::ListenWithKey;
use redis_sessions::store::RedisSessions;
use zeroize::Zeroizing;

/// The longest time that a handshake waits for one command.
const PATIENCE: Duration = Duration::from_millis(100);

/// Keep TLS sessions in Redis, and report to clients whether they resumed one
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    server: ListenWithKey,

    /// File with at least 32 random bytes: all servers of a fleet seal their sessions with them
    secret_file: PathBuf,

    /// Address and port of Redis
    #[arg(long, default_value = "127.0.0.1:6379")]
    redis: SocketAddr,
}

#[tokio::main]
async fn main() {
    exit::on_error(run(&Options::parse()).await);
}

async fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut config = options.server.config()?;
    let secret = fs::read(&options.secret_file)
        .map_err(|error| format!("cannot read {}: {error}", options.secret_file.display()))?;
    let secret = Zeroizing::new(secret);
    config.session_storage = Arc::new(RedisSessions::new(options.redis, &secret, PATIENCE)?);
    greet::greet_all(config, options.server.listen.bind()?).await
}
