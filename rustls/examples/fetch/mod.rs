//! The parts that the client examples share: the command line, the TLS configuration, the HTTP
//! request and its response. Each example drives the connection itself.

mod response;

use std::error::Error;
use std::io::{self, BufRead, ErrorKind};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
pub(crate) use response::Response;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

/// The longest time to wait in each read and write.
const PATIENCE: Duration = Duration::from_secs(30);

/// Fetch a page over TLS and print it
#[derive(Parser)]
pub(crate) struct Options {
    /// DNS name or IP address of the server
    host: String,

    /// PEM file with the certificates of the trusted authorities
    ca_file: PathBuf,

    /// Path of the page, as it stands in a URL
    #[arg(default_value = "/")]
    path: String,

    /// TCP port of the server
    #[arg(long, default_value_t = 8443)]
    port: u16,
}

#[allow(dead_code, reason = "each client uses most of them")]
impl Options {
    pub(crate) fn config(&self) -> Result<ClientConfig, Box<dyn Error>> {
        let builder = ClientConfig::builder_with_provider(default_provider().into())
            .with_safe_default_protocol_versions()?;
        let builder = builder.with_root_certificates(self.roots()?);
        Ok(builder.with_no_client_auth())
    }

    /// Reads the trusted authorities.
    pub(crate) fn roots(&self) -> Result<RootCertStore, Box<dyn Error>> {
        let file = self.ca_file.display();
        let mut roots = RootCertStore::empty();
        let certificates: Vec<_> = CertificateDer::pem_file_iter(&self.ca_file)
            .and_then(Iterator::collect)
            .map_err(|error| format!("cannot read {file}: {error}"))?;
        for certificate in certificates {
            let added = roots.add(certificate);
            added.map_err(|error| format!("cannot use the certificates in {file}: {error}"))?;
        }
        match roots.is_empty() {
            true => Err(format!("no certificate in {file}").into()),
            false => Ok(roots),
        }
    }

    /// Returns the name that must be in the server's certificate.
    pub(crate) fn name(&self) -> Result<ServerName<'static>, String> {
        ServerName::try_from(self.host.clone())
            .map_err(|_| format!("`{}` is neither a DNS name nor an IP address", self.host))
    }

    pub(crate) fn connect(&self) -> Result<TcpStream, String> {
        let (host, port) = (&self.host[..], self.port);
        let connect = || {
            let sock = TcpStream::connect((host, port))?;
            sock.set_nodelay(true)?;
            sock.set_read_timeout(Some(PATIENCE))?;
            sock.set_write_timeout(Some(PATIENCE))?;
            Ok(sock)
        };
        connect()
            .map_err(|error: io::Error| format!("cannot connect to {host} port {port}: {error}"))
    }

    /// Returns an HTTP/1.0 request: the response is not chunked, and the server closes after it.
    pub(crate) fn request(&self) -> Vec<u8> {
        let (path, port) = (&self.path, self.port);
        // RFC 3986 §3.2.2: an IPv6 address is bracketed in a URI
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        format!("GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n").into()
    }

    /// Prints the page that arrives over `tls`.
    pub(crate) fn receive(&self, mut tls: impl BufRead) -> Result<(), Box<dyn Error>> {
        let mut response = Response::new();
        loop {
            // `Stream` returns the plaintext of a record in the receive buffer: it is not copied.
            let len = match tls.fill_buf() {
                Ok([]) => return response.finish(true),
                Ok(chunk) => {
                    response.receive(chunk)?;
                    chunk.len()
                }
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return response.finish(false);
                }
                Err(error) => return Err(error.into()),
            };
            tls.consume(len);
        }
    }
}

/// Replaces the system's text for a timeout, such as "Resource temporarily unavailable", by a clear
/// one.
pub(crate) fn explain(error: Box<dyn Error>) -> Box<dyn Error> {
    match error.downcast_ref().map(io::Error::kind) {
        Some(ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            format!("the server sent nothing for {} s", PATIENCE.as_secs()).into()
        }
        _ => error,
    }
}
