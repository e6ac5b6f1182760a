//! Echoes the data of clients over TLS, on tokio with one task per connection.
//!
//! ```text
//! cargo run --example certificate -- /tmp/demo
//! cargo run --example tokio_echo -- /tmp/demo/server.pem /tmp/demo/server.key
//! openssl s_client -connect localhost:8443 -CAfile /tmp/demo/ca.pem
//! ```
//!
//! The connection never waits. A task waits until the socket is ready, then has the connection read
//! or write as much as it can:
//!
//! ```text
//!   socket ── readable ─► read_tls ─► process_new_packets ─► reader ─┐
//!                                                                    │ echo
//!   socket ◄─ writable ── write_tls ◄─────────────────────── writer ◄┘
//! ```
//!
//! A program that needs a stream with `AsyncRead` and `AsyncWrite` should use the crate
//! tokio-rustls instead. It works on top of this library with the `[patch.crates-io]` section in
//! the README.

mod listen;

use std::error::Error;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use listen::Listen;
use rustls::{ServerConfig, ServerConnection};
use tokio::io::{AsyncWriteExt, copy, sink};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// The longest time to wait for a client in each read and write, and for it to close its side.
const PATIENCE: Duration = Duration::from_secs(30);

/// The plaintext of a full record.
const CHUNK_LEN: usize = 16 * 1024;

/// Echo the data of clients over TLS, on tokio
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    listen: Listen,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Options::parse().listen).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tokio_echo: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(listen: &Listen) -> Result<(), Box<dyn Error>> {
    let config = Arc::new(listen.config()?);
    let listener = listen.bind()?;
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => {
                let config = config.clone();
                tokio::spawn(async move {
                    if let Err(error) = serve(config, socket).await {
                        eprintln!("tokio_echo: {peer}: {error}");
                    }
                });
            }
            Err(error) => {
                eprintln!("tokio_echo: cannot accept a connection: {error}");
                // Probably out of file descriptors: an immediate retry would fail too.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Serves one client until it closes its side, and closes the connection.
async fn serve(config: Arc<ServerConfig>, mut socket: TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut conn = ServerConnection::new(config).map_err(io::Error::other)?;
    let outcome = echo(&mut conn, &socket).await;
    // Sends the alert after a TLS error. If the client is gone, `outcome` has the reason.
    let _ = flush(&mut conn, &socket).await;
    let _ = socket.shutdown().await;
    // Closing a socket with unread input would reset the connection, and the client could lose the
    // alert. So read until the client has closed its side too.
    let _ = timeout(PATIENCE, copy(&mut socket, &mut sink())).await;
    outcome
}

/// Echoes until the client sends a close_notify, which it answers.
async fn echo(conn: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    let mut chunk = [0; CHUNK_LEN];
    loop {
        read(conn, socket).await?;
        conn.process_new_packets()
            .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        // Even without data there may be output: a part of the handshake or a KeyUpdate.
        flush(conn, socket).await?;
        loop {
            match conn.reader().read(&mut chunk) {
                // RFC 9846 §6.1: the client's close_notify ends one direction only. Everything has
                // been echoed by now, so the other direction ends as well.
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
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    // Without a close_notify, an attacker may have cut off the stream.
                    return Err(io::Error::new(error.kind(), "the connection was cut off"));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Waits for input and reads it into the connection.
async fn read(conn: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    loop {
        timeout(PATIENCE, socket.readable()).await??;
        match conn.read_tls(&mut Nonblocking(socket)) {
            // The socket may not be ready after all.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // At the end of the stream `Reader::read` says whether a close_notify was missing.
            read => return read.map(drop),
        }
    }
}

/// Writes all output of the connection.
async fn flush(conn: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    while conn.wants_write() {
        timeout(PATIENCE, socket.writable()).await??;
        match conn.write_tls(&mut Nonblocking(socket)) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            written => drop(written?),
        }
    }
    Ok(())
}

/// A socket that returns `WouldBlock` if it is not ready.
struct Nonblocking<'a>(&'a TcpStream);

impl Read for Nonblocking<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(out)
    }
}

impl Write for Nonblocking<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Shutdown, TcpStream as StdStream};
    use std::thread;

    use harness::peers::configs::{self, ClientAuth, KeyType, Provider, server_name};
    use rustls::{ClientConnection, StreamOwned};
    use tokio::runtime::Runtime;

    use super::*;

    type Client = StreamOwned<ClientConnection, StdStream>;

    /// Serves one connection while `client` runs. Returns the result of the server.
    fn serve_while(client: impl FnOnce(Client) + Send + 'static) -> io::Result<()> {
        let (provider, key) = (Provider::AwsLc.this(), KeyType::EcdsaP256);
        let server = configs::this::server(provider.clone(), key, ClientAuth::None);
        let config = Arc::new(configs::this::client(provider, key, ClientAuth::None));
        Runtime::new().unwrap().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let client = thread::spawn(move || {
                let conn = ClientConnection::new(config, server_name()).unwrap();
                client(StreamOwned::new(conn, StdStream::connect(address).unwrap()));
            });
            let (socket, _) = listener.accept().await.unwrap();
            let served = serve(Arc::new(server), socket).await;
            client.join().unwrap();
            served
        })
    }

    /// Completes the handshake.
    fn greet(client: &mut Client) {
        client.write_all(b"x").unwrap();
        client.read_exact(&mut [0]).unwrap();
    }

    #[test]
    fn data_is_echoed_until_a_close_notify() {
        let served = serve_while(|mut client| {
            greet(&mut client);
            for len in [1, 1000, 100_000] {
                client.conn.refresh_traffic_keys().unwrap();
                let data = vec![len as u8; len];
                client.write_all(&data).unwrap();
                let mut echo = vec![0; len];
                client.read_exact(&mut echo).unwrap();
                assert_eq!(echo, data);
            }
            client.conn.send_close_notify();
            client.flush().unwrap();
            // fails without the server's close_notify
            assert_eq!(client.read_to_end(&mut Vec::new()).unwrap(), 0);
        });
        served.unwrap();
    }

    /// The server may read the data together with the end of the handshake.
    #[test]
    fn data_sent_with_the_finished_is_echoed() {
        let served = serve_while(|mut client| {
            while client.conn.is_handshaking() {
                while client.conn.wants_write() {
                    client.conn.write_tls(&mut client.sock).unwrap();
                }
                client.conn.read_tls(&mut client.sock).unwrap();
                client.conn.process_new_packets().unwrap();
            }
            client.conn.writer().write_all(b"early bird").unwrap();
            let mut output = Vec::new();
            while client.conn.wants_write() {
                client.conn.write_tls(&mut output).unwrap();
            }
            client.sock.write_all(&output).unwrap();
            let mut echo = [0; 10];
            client.read_exact(&mut echo).unwrap();
            assert_eq!(&echo, b"early bird");
            client.conn.send_close_notify();
            client.flush().unwrap();
        });
        served.unwrap();
    }

    /// The echo of data that arrives together with the close_notify is complete.
    #[test]
    fn half_closed_connection_gets_the_rest_of_the_echo() {
        let served = serve_while(|mut client| {
            greet(&mut client);
            client.conn.writer().write_all(&[7; 40_000]).unwrap();
            client.conn.send_close_notify();
            client.flush().unwrap();
            client.sock.shutdown(Shutdown::Write).unwrap();
            let mut echo = Vec::new();
            client.read_to_end(&mut echo).unwrap();
            assert_eq!(echo, [7; 40_000]);
        });
        served.unwrap();
    }

    #[test]
    fn forged_record_is_answered_with_an_alert() {
        let served = serve_while(|mut client| {
            greet(&mut client);
            let forged = [&b"\x17\x03\x03\x00\x20"[..], &[0; 32]].concat();
            client.sock.write_all(&forged).unwrap();
            // more than socket buffers hold: this fails if the server does not read to the end
            client.sock.write_all(&vec![0; 20_000_000]).unwrap();
            let error = client.read(&mut [0]).unwrap_err();
            assert!(error.to_string().contains("BadRecordMac"), "{error}");
        });
        assert_eq!(served.unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn stream_without_close_notify_is_an_error() {
        for complete in [false, true] {
            let served = serve_while(move |mut client| {
                if complete {
                    greet(&mut client);
                }
                client.sock.shutdown(Shutdown::Write).unwrap();
                let _ = client.sock.read_to_end(&mut Vec::new());
            });
            assert_eq!(served.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        }
    }
}
