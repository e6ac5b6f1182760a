//! A server whose sessions are in Redis, so that a client can resume at any server of a fleet what it began at
//! another.
//!
//! ```text
//! head -c 32 /dev/urandom > /tmp/demo/sessions.secret     # the same file for all servers
//! cargo run --example redis_sessions -- CERT_FILE KEY_FILE /tmp/demo/sessions.secret \
//!     [--redis 127.0.0.1:6379] [--address 127.0.0.1:4443]
//! ```
//!
//! It says to each client whether the handshake was a full one or resumed a session, and closes. `openssl
//! s_client` with `-sess_out FILE`, and then with `-sess_in FILE`, shows both. If Redis is slow or down,
//! handshakes are full ones, and none of them waits for it longer than [`store::PATIENCE`].
//!
//! What is to be copied from here is in [`store`]. Tickets that hold the session themselves need no Redis:
//! `Ticketer::for_fleet`.

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
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use redis_sessions::store;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

/// Tells clients whether they resumed a session, which is kept in Redis
#[derive(Parser)]
struct Options {
    /// A file of PEM certificates: the server's, and behind it those that lead to its authority
    cert_file: PathBuf,

    /// A file with the PEM private key of the server's certificate
    key_file: PathBuf,

    /// A file of 32 random bytes or more, by which all servers protect what they leave with Redis
    secret_file: PathBuf,

    /// Where Redis is
    #[arg(long, default_value = "127.0.0.1:6379")]
    redis: SocketAddr,

    /// Where to wait for connections
    #[arg(long, default_value = "127.0.0.1:4443")]
    address: SocketAddr,
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
    let listener = TcpListener::bind(options.address)?;
    println!("waiting at {}", listener.local_addr()?);
    for client in listener.incoming() {
        if let Err(error) = client.map_err(Into::into).and_then(|c| greet(&config, c)) {
            eprintln!("redis_sessions: {error}");
        }
    }
    Ok(())
}

fn config(options: &Options) -> Result<ServerConfig, Box<dyn Error>> {
    let chain =
        CertificateDer::pem_file_iter(&options.cert_file)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(&options.key_file)?;
    let secret = fs::read(&options.secret_file)?;

    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.session_storage = Arc::new(store::RedisSessions::new(options.redis, &secret)?);
    Ok(config)
}

fn greet(config: &Arc<ServerConfig>, mut client: TcpStream) -> Result<(), Box<dyn Error>> {
    // one client at a time is enough to show sessions; none may hold up the others for long
    client.set_read_timeout(Some(Duration::from_secs(2)))?;
    client.set_write_timeout(Some(Duration::from_secs(2)))?;
    let mut conn = ServerConnection::new(config.clone())?;
    while conn.is_handshaking() {
        conn.complete_io(&mut client)?;
    }
    let kind = conn.handshake_kind();
    let mut tls = Stream::new(&mut conn, &mut client);
    writeln!(tls, "{kind:?}")?;
    tls.conn.send_close_notify();
    Ok(tls.flush()?)
}
