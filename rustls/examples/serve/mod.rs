//! The parts that the file servers share: the command line, the worker threads, HTTP and the files.
//! Each example drives the TLS connection itself.

mod files;
mod request;
mod response;
mod status;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
pub(crate) use files::Files;
pub(crate) use request::RequestHead;
pub(crate) use response::Response;
use rustls::ServerConfig;

use crate::listen::Listen;

/// The time that a client has to send its request, and to receive each piece of the response.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serve the files of a folder over TLS
#[derive(Parser)]
pub(crate) struct Options {
    #[command(flatten)]
    listen: Listen,

    /// Folder to serve, without symbolic links and names that start with a dot; listed once at
    /// startup
    folder: PathBuf,

    /// Number of connections to serve at the same time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..))]
    workers: u8,
}

impl Options {
    pub(crate) fn config(&self) -> Result<ServerConfig, Box<dyn Error>> {
        self.listen.config()
    }

    pub(crate) fn files(&self) -> Result<Files, Box<dyn Error>> {
        Files::list(&self.folder)
            .map_err(|error| format!("cannot list {}: {error}", self.folder.display()).into())
    }

    /// Runs the workers forever. Each serves one connection after the other.
    ///
    /// `worker` is called once per thread. The function that it returns serves a connection, and
    /// owns the buffers that the connections of a thread share.
    pub(crate) fn serve<W>(&self, worker: impl Fn() -> W + Sync) -> Result<(), Box<dyn Error>>
    where
        W: FnMut(Client) -> Result<(), Box<dyn Error>>,
    {
        let listener = self.listen.bind()?;
        println!("serving https://{}/", listener.local_addr()?);
        thread::scope(|scope| {
            for _ in 0..self.workers {
                scope.spawn(|| {
                    let mut serve = worker();
                    loop {
                        match Client::accept(&listener) {
                            Ok(client) => {
                                serve(client).unwrap_or_else(|error| eprintln!("{error}"))
                            }
                            Err(error) => {
                                eprintln!("cannot accept a connection: {error}");
                                // Probably out of file descriptors: an immediate retry would fail
                                // too.
                                thread::sleep(PATIENCE / 100);
                            }
                        }
                    }
                });
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
    fn accept(listener: &TcpListener) -> io::Result<Self> {
        let (sock, _) = listener.accept()?;
        sock.set_nodelay(true)?;
        sock.set_read_timeout(Some(PATIENCE))?;
        sock.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            sock,
            deadline: Instant::now() + PATIENCE,
        })
    }

    /// Closes this side, then waits briefly for the client to close its side.
    ///
    /// Closing a socket with unread input resets the connection. The client could lose data that it
    /// has not read yet. It is no error if the client has closed already.
    pub(crate) fn close(mut self) {
        let closing = self
            .sock
            .shutdown(Shutdown::Write)
            .and_then(|()| self.sock.set_read_timeout(Some(PATIENCE / 10)));
        if closing.is_err() {
            return;
        }
        let mut unread = [0; 1024];
        for _ in 0..16 {
            match self.sock.read(&mut unread) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
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
