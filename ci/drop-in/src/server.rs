//! A server on a thread for one connection, over rustls' own blocking `StreamOwned`.

use std::io::{self, BufRead, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustls::{ServerConnection, StreamOwned};

use crate::{Credentials, page};

/// The server's side of a connection.
pub type ServerStream = StreamOwned<ServerConnection, TcpStream>;

/// A server for `localhost` and one connection.
pub struct Server {
    /// The address it listens on.
    pub address: SocketAddr,
    /// The credentials of the server.
    pub credentials: Credentials,
    thread: JoinHandle<io::Result<()>>,
}

impl Server {
    /// Starts the server. `serve` gets the connection.
    pub fn start(serve: impl FnOnce(&mut ServerStream) -> io::Result<()> + Send + 'static) -> Self {
        let credentials = Credentials::new();
        let config = credentials.server_config();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let (sock, _) = listener.accept()?;
            let conn = ServerConnection::new(Arc::new(config)).map_err(io::Error::other)?;
            let mut stream = StreamOwned::new(conn, sock);
            serve(&mut stream)?;
            stream.conn.send_close_notify();
            stream.flush()
        });
        Self {
            address,
            credentials,
            thread,
        }
    }

    /// Returns the server's URL with `scheme`.
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://localhost:{}/", self.address.port())
    }

    /// Waits for the connection to end.
    pub fn join(self) -> io::Result<()> {
        self.thread.join().unwrap()
    }
}

/// Answers one HTTP/1.1 request with [`page`] and closes the connection.
pub fn answer(stream: &mut ServerStream) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_until(b'\n', &mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    assert!(head.starts_with(b"GET / HTTP/1.1\r\n"));
    let page = page();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        page.len()
    )?;
    stream.write_all(&page)
}
