//! What the two servers have in common: the command line, the TLS configuration, the threads that
//! wait for connections, HTTP and the files. The TLS connection itself is in the examples.

mod files;
mod request;
mod response;
mod status;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
pub(crate) use files::Files;
pub(crate) use request::RequestHead;
pub(crate) use response::Response;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// How long a client may take to send its request, and to take in each piece of the response.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves the files of a folder over TLS
#[derive(Parser)]
pub(crate) struct Options {
    /// A file of PEM certificates: the server's, and behind it those that lead to its authority
    cert_file: PathBuf,

    /// A file with the PEM private key of the server's certificate
    key_file: PathBuf,

    /// The folder; what is in it now is served, but for names that begin with a dot, and symbolic links
    folder: PathBuf,

    /// Where to wait for connections; port 0 chooses a free one
    #[arg(long, default_value = "127.0.0.1:4443")]
    address: SocketAddr,

    /// How many connections to serve at once
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..))]
    workers: u8,
}

impl Options {
    pub(crate) fn config(&self) -> Result<ServerConfig, Box<dyn Error>> {
        let cannot_read =
            |path: &PathBuf, error| format!("cannot read {}: {error}", path.display());
        let chain = CertificateDer::pem_file_iter(&self.cert_file)
            .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
            .map_err(|error| cannot_read(&self.cert_file, error))?;
        let key = PrivateKeyDer::from_pem_file(&self.key_file)
            .map_err(|error| cannot_read(&self.key_file, error))?;

        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| {
                format!(
                    "cannot use the certificate of {} with the key of {}: {error}",
                    self.cert_file.display(),
                    self.key_file.display()
                )
                .into()
            })
    }

    pub(crate) fn files(&self) -> Result<Files, Box<dyn Error>> {
        Files::list(&self.folder)
            .map_err(|error| format!("cannot list {}: {error}", self.folder.display()).into())
    }

    /// Runs the workers, each of which serves one connection after the other, for ever. `worker` makes the
    /// function that serves them, with the buffers that they share.
    pub(crate) fn serve<W>(&self, worker: impl Fn() -> W + Sync) -> Result<(), Box<dyn Error>>
    where
        W: FnMut(Client) -> Result<(), Box<dyn Error>>,
    {
        let listener = TcpListener::bind(self.address)
            .map_err(|error| format!("cannot listen on {}: {error}", self.address))?;
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
                                // most likely out of descriptors: trying again at once would not help
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

/// The socket of an accepted connection, and the time by which the client must have sent its request.
///
/// A timeout of the socket is not enough: a client that sends a byte now and then would keep a worker for
/// ever.
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

    /// Closes this side and waits a little for the client to close its own: closing a socket with unread
    /// input resets the connection, and the client may lose what it has not read yet. A client that has gone
    /// already is no error.
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
