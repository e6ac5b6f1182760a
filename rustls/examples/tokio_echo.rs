//! Echoes the data of clients over TLS, on tokio with one task per connection.
//!
//! ```text
//! cargo run --example certificate -- /tmp/demo
//! cargo run --example tokio_echo -- /tmp/demo/server.pem /tmp/demo/server.key
//! openssl s_client -connect localhost:8443 -CAfile /tmp/demo/ca.pem
//! ```
//!
//! A program that needs a stream with `AsyncRead` and `AsyncWrite` should use the crate
//! tokio-rustls instead. It works on top of this library with the `[patch.crates-io]` section in
//! the README.

mod listen;
mod tokio_io;

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use listen::Listen;
use rustls::{ServerConfig, ServerConnection};
use tokio::net::TcpStream;
use tokio_io::{close, flush, handshake, read, serve_all};

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
    let serve = |socket| serve(config.clone(), socket);
    serve_all("tokio_echo", listen.bind()?, serve).await
}

/// Serves one client until it closes its side, and closes the connection.
async fn serve(config: Arc<ServerConfig>, socket: TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut conn = ServerConnection::new(config).map_err(io::Error::other)?;
    let outcome = echo(&mut conn, &socket).await;
    close(conn, socket).await;
    outcome
}

/// Echoes until the client sends a close_notify, which it answers.
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
                // Even without data there may be output, such as a KeyUpdate.
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

#[cfg(test)]
mod tests {
    use std::net::{Shutdown, TcpStream as StdStream};
    use std::thread;

    use harness::peers::configs::{self, ClientAuth, KeyType, Provider, server_name};
    use rustls::{ClientConnection, StreamOwned};
    use tokio::net::TcpListener;
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
