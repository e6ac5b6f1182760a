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
//! It sends each client the kind of its handshake, full or resumed, and closes. To see both, run
//! `openssl s_client -quiet -connect localhost:8443 -CAfile /tmp/demo/ca.pem` with `-sess_out FILE`
//! and then with `-sess_in FILE`.
//!
//! While a handshake waits for Redis, its thread serves other connections. If Redis is slow or
//! down, handshakes are full ones. Self-contained tickets (`Ticketer::for_fleet`) need no Redis.

mod listen;
mod redis_sessions {
    pub(crate) mod store;
    #[cfg(test)]
    mod tests;
}
mod tokio_io;

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use listen::Listen;
use redis_sessions::store::RedisSessions;
use rustls::{ServerConfig, ServerConnection};
use tokio::net::TcpStream;
use tokio_io::{close, flush, handshake, serve_all};
use zeroize::Zeroizing;

/// The longest time that a handshake waits for one command.
const PATIENCE: Duration = Duration::from_millis(100);

/// Keep TLS sessions in Redis, and report to clients whether they resumed one
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    listen: Listen,

    /// File with at least 32 random bytes: all servers of a fleet seal their sessions with them
    secret_file: PathBuf,

    /// Address and port of Redis
    #[arg(long, default_value = "127.0.0.1:6379")]
    redis: SocketAddr,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("redis_sessions: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut config = options.listen.config()?;
    let secret = fs::read(&options.secret_file)
        .map_err(|error| format!("cannot read {}: {error}", options.secret_file.display()))?;
    let secret = Zeroizing::new(secret);
    config.session_storage = Arc::new(RedisSessions::new(options.redis, &secret, PATIENCE)?);
    let config = Arc::new(config);
    let serve = |socket| serve(config.clone(), socket);
    serve_all("redis_sessions", options.listen.bind()?, serve).await
}

/// Tells one client the kind of its handshake, and closes the connection.
async fn serve(config: Arc<ServerConfig>, socket: TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut conn = ServerConnection::new(config).map_err(io::Error::other)?;
    conn.set_async(true);
    let outcome = greet(&mut conn, &socket).await;
    close(conn, socket).await;
    outcome
}

async fn greet(conn: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    handshake(conn, socket).await?;
    let kind = conn.handshake_kind().ok_or(io::ErrorKind::InvalidData)?;
    writeln!(conn.writer(), "{kind:?}")?;
    conn.send_close_notify();
    flush(conn, socket).await
}
