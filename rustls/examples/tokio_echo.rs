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
    use std::future::poll_fn;
    use std::net::{Shutdown, TcpStream as StdStream};
    use std::task::Poll;
    use std::thread;

    use harness::peers::configs::{self, ClientAuth, KeyType, Provider, server_name};
    use rustls::operation::BoxFuture;
    use rustls::server::{ClientHello, ResolvesServerCert};
    use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
    use rustls::{ClientConnection, SignatureAlgorithm, SignatureScheme, StreamOwned};
    use tokio::net::TcpListener;
    use tokio::runtime::Runtime;
    use tokio::sync::mpsc::{self, UnboundedSender};

    use super::*;

    type Client = StreamOwned<ClientConnection, StdStream>;

    /// Serves one connection while `client` runs. Returns the result of the server.
    fn serve_while(client: impl FnOnce(Client) + Send + 'static) -> io::Result<()> {
        let (provider, key) = (Provider::AwsLc.this(), KeyType::EcdsaP256);
        let config = Arc::new(configs::this::server(provider, key, ClientAuth::None));
        accept_while(client, |socket| serve(config, socket))
    }

    /// Calls `serve` with one connection while `client` runs. Returns its result.
    fn accept_while<F: Future<Output = io::Result<()>>>(
        client: impl FnOnce(Client) + Send + 'static,
        serve: impl FnOnce(TcpStream) -> F,
    ) -> io::Result<()> {
        let (provider, key) = (Provider::AwsLc.this(), KeyType::EcdsaP256);
        let config = Arc::new(configs::this::client(provider, key, ClientAuth::None));
        Runtime::new().unwrap().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let client = thread::spawn(move || {
                let conn = ClientConnection::new(config, server_name()).unwrap();
                client(StreamOwned::new(conn, StdStream::connect(address).unwrap()));
            });
            let (socket, _) = listener.accept().await.unwrap();
            let served = serve(socket).await;
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

    /// A search for a certificate, or a signature, that never ends. Reports its beginning and its
    /// end.
    #[derive(Clone, Debug)]
    struct Endless(UnboundedSender<&'static str>);

    impl Endless {
        fn operation<T>(&self) -> BoxFuture<T> {
            let guard = Guard(self.0.clone());
            Box::pin(poll_fn(move |_| {
                let _ = guard.0.send("begun");
                Poll::Pending
            }))
        }
    }

    struct Guard(UnboundedSender<&'static str>);

    impl Drop for Guard {
        fn drop(&mut self) {
            let _ = self.0.send("ended");
        }
    }

    impl ResolvesServerCert for Endless {
        fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
            None
        }

        fn resolve_async(
            &self,
            _: ClientHello<'_>,
        ) -> Option<BoxFuture<Option<Arc<CertifiedKey>>>> {
            Some(self.operation())
        }
    }

    impl SigningKey for Endless {
        fn choose_scheme(&self, _: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
            Some(Box::new(self.clone()))
        }

        fn algorithm(&self) -> SignatureAlgorithm {
            self.scheme().algorithm()
        }
    }

    impl Signer for Endless {
        fn sign(&self, _: &[u8]) -> Result<Vec<u8>, rustls::Error> {
            Err(rustls::Error::General("not asked".into()))
        }

        fn sign_async(&self, _: &[u8]) -> Option<BoxFuture<Result<Vec<u8>, rustls::Error>>> {
            Some(self.operation())
        }

        fn scheme(&self) -> SignatureScheme {
            SignatureScheme::ECDSA_NISTP256_SHA256
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Operation {
        Search,
        Signature,
    }

    /// Starts a handshake that waits for ever, then calls `leave` with the client. Returns the
    /// error of the handshake.
    fn handshake_left_by(operation: Operation, leave: fn(&mut Client)) -> io::Error {
        let (events, mut happened) = mpsc::unbounded_channel();
        let (provider, key_type) = (Provider::AwsLc.this(), KeyType::EcdsaP256);
        let mut config = configs::this::server(provider, key_type, ClientAuth::None);
        let endless = Arc::new(Endless(events));
        config.cert_resolver = match operation {
            Operation::Search => endless,
            Operation::Signature => {
                let chain = key_type.identities().server.chain.clone();
                Arc::new(SingleCertAndKey::from(CertifiedKey::new(chain, endless)))
            }
        };
        let result = accept_while(
            move |mut client| {
                client.conn.write_tls(&mut client.sock).unwrap();
                assert_eq!(happened.blocking_recv(), Some("begun"));
                leave(&mut client);
                while happened.blocking_recv().unwrap() != "ended" {}
            },
            async |socket| {
                let mut conn = ServerConnection::new(config.into()).unwrap();
                conn.set_async(true);
                let result = handshake(&mut conn, &socket).await;
                close(conn, socket).await;
                result
            },
        );
        result.unwrap_err()
    }

    #[test]
    fn client_that_leaves_ends_an_operation() {
        for operation in [Operation::Search, Operation::Signature] {
            let error = handshake_left_by(operation, |client| {
                client.sock.shutdown(Shutdown::Both).unwrap();
            });
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{operation:?}");

            // a part of a record is lost with its client
            let error = handshake_left_by(operation, |client| {
                client.sock.write_all(&[22, 3]).unwrap();
                client.sock.shutdown(Shutdown::Write).unwrap();
            });
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{operation:?}");
        }
    }

    #[test]
    fn client_that_closes_orderly_ends_an_operation() {
        let close = |client: &mut Client| {
            client.sock.write_all(&[21, 3, 3, 0, 2, 1, 0]).unwrap();
            client.sock.shutdown(Shutdown::Write).unwrap();
        };
        // the server has chosen TLS 1.3, which has no warnings
        for operation in [Operation::Search, Operation::Signature] {
            let error = handshake_left_by(operation, close);
            assert!(error.to_string().contains("CloseNotify"), "{error}");
        }
    }

    #[test]
    fn alert_ends_an_operation() {
        for operation in [Operation::Search, Operation::Signature] {
            let error = handshake_left_by(operation, |client| {
                client.sock.write_all(&[21, 3, 3, 0, 2, 2, 40]).unwrap();
                // the server closes its side too
                client.sock.read_to_end(&mut Vec::new()).unwrap();
            });
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            assert!(error.to_string().contains("HandshakeFailure"), "{error}");
        }
    }
}
