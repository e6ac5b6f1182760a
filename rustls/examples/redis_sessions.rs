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
//! It sends each client the kind of its handshake, full or resumed, and closes. To see both:
//!
//! ```text
//! openssl s_client -quiet -connect localhost:8443 -CAfile /tmp/demo/ca.pem \
//!     -sess_out /tmp/demo/session
//! openssl s_client -quiet -connect localhost:8443 -CAfile /tmp/demo/ca.pem \
//!     -sess_in /tmp/demo/session
//! ```
//!
//! If Redis is slow or down, handshakes are full ones. None waits longer than [`store::PATIENCE`]
//! for a command.
//!
//! Copy [`store`] into your own program. Self-contained tickets (`Ticketer::for_fleet`) work
//! without Redis.

mod listen;
mod redis_sessions {
    pub(crate) mod breaker;
    pub(crate) mod connection;
    pub(crate) mod store;
    #[cfg(test)]
    mod tests;
}

use std::error::Error;
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use listen::Listen;
use redis_sessions::store;
use rustls::{ServerConfig, ServerConnection, Stream};

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

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("redis_sessions: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let config = Arc::new(config(options)?);
    let listener = options.listen.bind()?;
    println!("listening on {}", listener.local_addr()?);
    for client in listener.incoming() {
        if let Err(error) = client.map_err(Into::into).and_then(|c| greet(&config, c)) {
            eprintln!("redis_sessions: {error}");
        }
    }
    Ok(())
}

fn config(options: &Options) -> Result<ServerConfig, Box<dyn Error>> {
    let mut config = options.listen.config()?;
    let secret = fs::read(&options.secret_file)
        .map_err(|error| format!("cannot read {}: {error}", options.secret_file.display()))?;
    config.session_storage = Arc::new(store::RedisSessions::new(options.redis, &secret)?);
    Ok(config)
}

fn greet(config: &Arc<ServerConfig>, mut client: TcpStream) -> Result<(), Box<dyn Error>> {
    // Clients are served one at a time, which is enough to show sessions. None may block the
    // others.
    client.set_read_timeout(Some(Duration::from_secs(2)))?;
    client.set_write_timeout(Some(Duration::from_secs(2)))?;
    let mut conn = ServerConnection::new(config.clone())?;
    while conn.is_handshaking() {
        conn.complete_io(&mut client)?;
    }
    let kind = conn.handshake_kind().ok_or("the handshake is incomplete")?;
    let mut tls = Stream::new(&mut conn, &mut client);
    writeln!(tls, "{kind:?}")?;
    tls.conn.send_close_notify();
    Ok(tls.flush()?)
}
