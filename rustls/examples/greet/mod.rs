//! A server on tokio that greets each client. Its handshakes may wait for asynchronous operations.

use std::error::Error;
use std::io::{self, Write};
use std::net::TcpListener;
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};
use tokio::net::TcpStream;

use crate::tokio_io::{close, flush, handshake, serve_all};

/// Greets all clients of a TCP listener.
pub(crate) async fn greet_all(
    config: ServerConfig,
    listener: TcpListener,
) -> Result<(), Box<dyn Error>> {
    let config = Arc::new(config);
    serve_all(listener, |socket| greet(config.clone(), socket)).await
}

/// Tells one client the kind of its handshake, and closes the connection.
async fn greet(config: Arc<ServerConfig>, socket: TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut conn = ServerConnection::new(config).map_err(io::Error::other)?;
    // Lets the handshake wait without blocking the thread.
    conn.set_async(true);
    let outcome = async {
        handshake(&mut conn, &socket).await?;
        let kind = conn.handshake_kind().ok_or(io::ErrorKind::InvalidData)?;
        writeln!(conn.writer(), "Hello after a handshake: {kind:?}")?;
        conn.send_close_notify();
        flush(&mut conn, &socket).await
    }
    .await;
    close(conn, socket).await;
    outcome
}

#[cfg(test)]
pub(crate) mod testing {
    use std::net::{SocketAddr, TcpStream};

    use rustls::{ClientConfig, ClientConnection, StreamOwned};
    use tokio::task::{JoinHandle, spawn_blocking};

    use super::*;

    /// The name in the certificates of tests.
    pub(crate) const NAME: &str = "server.example";

    pub(crate) const FULL: &str = "Hello after a handshake: Full\n";

    /// Greets all clients in the background. Returns the server's address.
    pub(crate) fn serve(config: ServerConfig) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async { greet_all(config, listener).await.unwrap() });
        address
    }

    /// Connects a client. Returns the greeting or the error.
    pub(crate) fn greeting(
        config: &Arc<ClientConfig>,
        address: SocketAddr,
    ) -> JoinHandle<io::Result<String>> {
        let config = config.clone();
        spawn_blocking(move || {
            let conn = ClientConnection::new(config, NAME.try_into().unwrap()).unwrap();
            io::read_to_string(StreamOwned::new(conn, TcpStream::connect(address)?))
        })
    }
}
