//! TLS connections over the sockets of tokio, for servers with one task per connection.
//!
//! The connection itself never waits. A task waits until the socket is ready; then the connection
//! reads or writes as much as it can. During the handshake, it may also wait for an operation of
//! the application, such as a signature or a session storage. While it waits, it also watches the
//! socket, so that the operation ends if the client disconnects:
//!
//! ```text
//!   socket ── readable ─► read_tls ─► process_new_packets ──┐ is_waiting?
//!                            ▲                              ▼
//!                            └── while it waits ◄── poll_operation ◄── signer, verifier, storage
//!                                                           │
//!   socket ◄─ writable ── write_tls ◄───────────────────────┘
//! ```

use std::error::Error;
use std::fmt::Debug;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustls::ServerConnection;
use tokio::io::{AsyncWriteExt, ReadBuf, copy, sink};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// The longest time for the handshake with its operations, for each read and write afterwards, and
/// for the end of the connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// The number of connections that are served at the same time. Others wait in the queue of the
/// listener.
const MAX_CONNECTIONS: usize = 1000;

/// Serves the connections of a TCP listener, as [`accept_all`] does.
pub(crate) async fn serve_all<F: Future<Output = io::Result<()>> + Send + 'static>(
    listener: StdListener,
    serve: impl Fn(TcpStream) -> F,
) -> Result<(), Box<dyn Error>> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    println!("listening on {}", listener.local_addr()?);
    accept_all(|task| listener.poll_accept(task), serve).await
}

/// Accepts connections, and calls `serve` for each in a separate task. Prints errors.
pub(crate) async fn accept_all<S, A: Debug + Send + 'static, F>(
    mut accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<(S, A)>>,
    serve: impl Fn(S) -> F,
) -> !
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let permit = permits.clone().acquire_owned().await;
        match poll_fn(|task| accept(task)).await {
            Ok((socket, peer)) => {
                let served = serve(socket);
                tokio::spawn(async move {
                    if let Err(error) = served.await {
                        eprintln!("{}: {peer:?}: {error}", env!("CARGO_CRATE_NAME"));
                    }
                    drop(permit);
                });
            }
            Err(error) => {
                eprintln!("cannot accept a connection: {error}");
                // Probably out of file descriptors: an immediate retry would fail too.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Completes the handshake. While it waits for an operation, the thread runs other tasks.
///
/// `conn` waits only with [`set_async`](rustls::CommonState::set_async). Fails if the client
/// disconnects, or after [`PATIENCE`]. After an error, call [`close`].
pub(crate) async fn handshake(conn: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    // One limit applies to all messages together, because otherwise each could arrive in time and
    // the last one never.
    timeout(PATIENCE, advance(conn, socket)).await?
}

async fn advance(conn: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    loop {
        flush(conn, socket).await?;
        if conn.is_waiting() {
            poll_fn(|task| poll_operation(conn, socket, task)).await?;
        } else if !conn.is_handshaking() {
            return Ok(());
        } else if read(conn, socket).await? == 0 {
            return Err(cut_off());
        }
    }
}

/// Polls the operation that the handshake waits for, and the socket, because the client may
/// disconnect or send an alert. After an error of the socket, the operation remains until the
/// connection is dropped.
fn poll_operation(
    conn: &mut ServerConnection,
    socket: &TcpStream,
    task: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    if let Poll::Ready(result) = conn.poll_operation(task) {
        return Poll::Ready(result.map_err(invalid_data));
    }
    while conn.wants_read() {
        ready!(socket.poll_read_ready(task))?;
        match conn.read_tls(&mut Nonblocking(socket)) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Ok(0) => return Poll::Ready(Err(cut_off())),
            read => drop(read?),
        }
        conn.process_new_packets().map_err(invalid_data)?;
    }
    // A record has arrived and waits. If the stream ends after it, the handshake may still
    // complete, unless the server has not chosen a version yet.
    if conn.protocol_version().is_none() {
        let len = ready!(socket.poll_peek(task, &mut ReadBuf::new(&mut [0])))?;
        if len == 0 {
            return Poll::Ready(Err(cut_off()));
        }
    }
    Poll::Pending
}

fn cut_off() -> io::Error {
    let error = "the client closed the connection during the handshake";
    io::Error::new(ErrorKind::UnexpectedEof, error)
}

/// Waits for input, reads it into the connection and processes it. Returns the number of bytes
/// read: zero at the end of the stream.
pub(crate) async fn read(conn: &mut ServerConnection, socket: &TcpStream) -> io::Result<usize> {
    loop {
        timeout(PATIENCE, socket.readable()).await??;
        match conn.read_tls(&mut Nonblocking(socket)) {
            // The socket may not be ready after all.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            read => {
                let len = read?;
                conn.process_new_packets().map_err(invalid_data)?;
                return Ok(len);
            }
        }
    }
}

/// Writes all output of the connection.
pub(crate) async fn flush(conn: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    while conn.wants_write() {
        timeout(PATIENCE, socket.writable()).await??;
        match conn.write_tls(&mut Nonblocking(socket)) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            written => drop(written?),
        }
    }
    Ok(())
}

/// Writes the last output, such as the alert after an error, and closes the connection.
pub(crate) async fn close(mut conn: ServerConnection, mut socket: TcpStream) {
    let end = async {
        // If the client has disconnected, an earlier error states the reason.
        let _ = flush(&mut conn, &socket).await;
        // Ends an operation for which nobody waits any more.
        drop(conn);
        let _ = socket.shutdown().await;
        // Closing a socket with unread input would reset the connection, and the client could lose
        // the alert. So read until the client has closed its side too.
        let _ = copy(&mut socket, &mut sink()).await;
    };
    let _ = timeout(PATIENCE, end).await;
}

fn invalid_data(error: rustls::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
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

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
