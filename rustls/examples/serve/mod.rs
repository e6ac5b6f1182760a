//! The parts that the file servers share: the command line, the worker threads and HTTP. Each
//! example drives the TLS connection itself.

mod response;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
pub(crate) use response::Response;
use rustls::ServerConfig;

use crate::listen::ListenWithKey;

/// The time that a client has to send its request, and to receive each piece of the response.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serve a file over TLS
#[derive(Parser)]
pub(crate) struct Options {
    #[command(flatten)]
    server: ListenWithKey,

    /// The file to serve
    file: PathBuf,

    /// Number of connections to serve at the same time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..))]
    workers: u8,
}

/// The TLS configuration, and the file that is served.
pub(crate) struct Site {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) file: PathBuf,
}

/// Serves one client.
pub(crate) type Serve = fn(&Site, &mut Client) -> Result<(), Box<dyn Error>>;

impl Options {
    /// Runs the workers forever. Each serves one connection after another, and sends this number of
    /// `tickets` to each client.
    pub(crate) fn run(self, tickets: usize, serve: Serve) -> Result<(), Box<dyn Error>> {
        let mut config = self.server.config()?;
        config.send_tls13_tickets = tickets;
        let (config, file) = (Arc::new(config), self.file);
        File::open(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let site = Site { config, file };
        let listener = self.server.listen.bind()?;
        println!("serving https://{}/", listener.local_addr()?);
        let work = || {
            loop {
                match listener.accept().and_then(|(sock, _)| Client::new(sock)) {
                    Ok(mut client) => {
                        serve(&site, &mut client).unwrap_or_else(|error| eprintln!("{error}"));
                        client.close();
                    }
                    Err(error) => {
                        eprintln!("cannot accept a connection: {error}");
                        // Probably out of file descriptors: an immediate retry would fail too.
                        thread::sleep(PATIENCE / 100);
                    }
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.workers {
                scope.spawn(work);
            }
        });
        Ok(())
    }
}

/// The socket of an accepted connection, with a deadline for the client's request.
///
/// A socket timeout is not enough: a client that sends one byte at a time would occupy a worker
/// forever.
pub(crate) struct Client {
    sock: TcpStream,
    deadline: Instant,
}

impl Client {
    fn new(sock: TcpStream) -> io::Result<Self> {
        sock.set_nodelay(true)?;
        sock.set_read_timeout(Some(PATIENCE))?;
        sock.set_write_timeout(Some(PATIENCE))?;
        let deadline = Instant::now() + PATIENCE;
        Ok(Self { sock, deadline })
    }

    /// Closes this side, then waits briefly for the client to close its side.
    ///
    /// Closing a socket with unread input resets the connection. The client could lose data that it
    /// has not read yet. If the client has closed already, this is not an error.
    fn close(mut self) {
        let _ = self.sock.shutdown(Shutdown::Write);
        let _ = self.sock.set_read_timeout(Some(PATIENCE / 10));
        let mut unread = [0; 1024];
        for _ in 0..16 {
            if let Ok(0) | Err(_) = self.sock.read(&mut unread) {
                return;
            }
        }
    }
}

impl Read for Client {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if Instant::now() > self.deadline {
            let problem = "the client took too long to send its request";
            return Err(io::Error::new(io::ErrorKind::TimedOut, problem));
        }
        self.sock.read(out)
    }
}

impl Write for Client {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sock.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sock.flush()
    }
}
