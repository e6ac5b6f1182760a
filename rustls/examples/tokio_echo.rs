//! Echoes the data of clients over TLS, on tokio with one task per connection.
//!
//! ```text
//! cargo run --example certificate -- /tmp/demo
//! cargo run --example tokio_echo -- /tmp/demo/server.pem /tmp/demo/server.key
//! openssl s_client -connect localhost:8443 -CAfile /tmp/demo/ca.pem
//! ```
//!
//! A program that needs a stream with `AsyncRead` and `AsyncWrite` should use the crate
//! tokio-rustls instead, which the package in `tokio` replaces: see the `[patch.crates-io]` section
//! in the README.

#[cfg(test)]
mod echo_tests;
mod exit;
mod listen;
mod tokio_io;

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use clap::Parser;
use listen::ListenWithKey;
use rustls::{ServerConfig, ServerConnection};
use tokio::net::TcpStream;
use tokio_io::{close, flush, handshake, read, serve_all};

/// The plaintext of a full record.
const CHUNK_LEN: usize = 16 * 1024;

/// Echo the data of clients over TLS, on tokio
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    server: ListenWithKey,
}

#[tokio::main]
async fn main() {
    exit::on_error(run(&Options::parse().server).await);
}

async fn run(server: &ListenWithKey) -> Result<(), Box<dyn Error>> {
    let config = Arc::new(server.config()?);
    let serve = |socket| serve(config.clone(), socket);
    serve_all(server.listen.bind()?, serve).await
}

/// Serves one client until it closes its side, and closes the connection.
async fn serve(config: Arc<ServerConfig>, socket: TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut conn = ServerConnection::new(config).map_err(io::Error::other)?;
    // Lets the handshake wait without blocking the thread, if the configuration has asynchronous
    // callbacks.
    conn.set_async(true);
    let outcome = echo(&mut conn, &socket).await;
    close(conn, socket).await;
    outcome
}

/// Echoes until the client sends a close_notify, and answers that.
async fn echo(conn: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    handshake(conn, socket).await?;
    let mut chunk = [0; CHUNK_LEN];
    loop {
        match conn.reader().read(&mut chunk) {
            // RFC 9846 §6.1: the client's close_notify ends one direction only. Everything has been
            // echoed by now, so the other direction ends as well.
            Ok(0) => {
                conn.send_close_notify();
                return flush(conn, socket).await;
            }
            // Flushing before the next chunk bounds the memory, and stops reading from a client
            // that does not read the echo.
            Ok(len) => {
                conn.writer().write_all(&chunk[..len])?;
                flush(conn, socket).await?;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                read(conn, socket).await?;
                // Even without data there may be output, such as the warning that rejects a
                // renegotiation.
                flush(conn, socket).await?;
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                // Without a close_notify, an attacker may have cut off the stream.
                return Err(io::Error::new(error.kind(), "the connection was cut off"));
            }
            Err(error) => return Err(error),
        }
    }
}

/// The number of bytes that test clients send after a forged record.
#[cfg(test)]
const UNREAD: u64 = 20_000_000;

/// Serves one client of a test. The configuration may have asynchronous callbacks.
#[cfg(test)]
#[tokio::main]
async fn echo_one(config: Arc<ServerConfig>, socket: std::net::TcpStream) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    serve(config, TcpStream::from_std(socket)?).await
}

#[cfg(test)]
mod tests {
    use std::net::Shutdown;
    use std::thread::yield_now;

    use harness::operations::{Plan, When, slow_server};

    use super::*;
    use crate::echo_tests::client_of;

    /// Starts a handshake that waits forever. Then the client sends `bytes` and shuts down its
    /// socket. Returns the error of the handshake.
    fn end_operation(operation: &'static str, bytes: &[u8], how: Option<Shutdown>) -> io::Error {
        let plan = Arc::new(Plan::new(When::Never).only(operation));
        let (mut client, served) = client_of(|config| slow_server(config, &plan));
        client.conn.write_tls(&mut client.sock).unwrap();
        while plan.futures().is_empty() {
            yield_now();
        }
        client.sock.write_all(bytes).unwrap();
        match how {
            Some(how) => client.sock.shutdown(how).unwrap(),
            // the server closes its side too
            None => drop(client.sock.read_to_end(&mut Vec::new()).unwrap()),
        }
        while plan.dropped() == 0 {
            yield_now();
        }
        drop(client);
        served.join().unwrap().unwrap_err()
    }

    #[test]
    fn a_client_that_disconnects_or_sends_an_alert_ends_an_operation() {
        let close_notify = b"\x15\x03\x03\0\x02\x01\0";
        let ways: [(&[u8], _, _); 4] = [
            // only its own direction: otherwise a late write of the server fails with another error
            (b"", Some(Shutdown::Write), "closed the connection"),
            // part of a record does not change that
            (b"\x16\x03", Some(Shutdown::Write), "closed the connection"),
            // the server has chosen TLS 1.3, in which this close_notify is an error
            (close_notify, Some(Shutdown::Write), "CloseNotify"),
            (b"\x15\x03\x03\0\x02\x02\x28", None, "HandshakeFailure"),
        ];
        for operation in ["resolve", "sign"] {
            for (bytes, how, expected) in ways {
                let error = end_operation(operation, bytes, how).to_string();
                assert!(error.contains(expected), "{operation}: {error}");
            }
        }
    }
}
