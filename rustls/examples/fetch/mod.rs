//! The parts that the client examples share: the command line, the TLS configuration, the HTTP
//! request and its response. Each example drives the connection itself.

mod response;

use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
pub(crate) use response::Response;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};

/// The longest time to wait for the server to accept the connection, and for each read and write.
const PATIENCE: Duration = Duration::from_secs(30);

/// Fetch a page over TLS and print it
#[derive(Parser)]
pub(crate) struct Options {
    /// DNS name or IP address of the server
    host: String,

    /// PEM file with the certificates of the trusted authorities
    ca_file: PathBuf,

    /// Path of the page
    #[arg(default_value = "/", value_parser = parse_path)]
    path: String,

    /// TCP port of the server
    #[arg(long, default_value_t = 8443)]
    port: u16,
}

/// Rejects paths that would break the request line.
fn parse_path(path: &str) -> Result<String, &'static str> {
    if path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(path.to_owned())
    } else {
        Err("a path starts with / and has no spaces, control characters or non-ASCII characters")
    }
}

impl Options {
    #[allow(dead_code, reason = "ech_client makes its own configuration")]
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, Box<dyn Error>> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(self.roots()?)
            .with_no_client_auth();
        Ok(Arc::new(config))
    }

    /// Reads the trusted authorities.
    pub(crate) fn roots(&self) -> Result<RootCertStore, Box<dyn Error>> {
        let file = self.ca_file.display();
        let certificates: Vec<_> = CertificateDer::pem_file_iter(&self.ca_file)
            .and_then(Iterator::collect)
            .map_err(|error| format!("cannot read {file}: {error}"))?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates {
            roots
                .add(certificate)
                .map_err(|error| format!("cannot use the certificates in {file}: {error}"))?;
        }
        if roots.is_empty() {
            return Err(format!("no certificate in {file}").into());
        }
        Ok(roots)
    }

    /// Returns the name that must be in the server's certificate.
    pub(crate) fn server_name(&self) -> Result<ServerName<'static>, Box<dyn Error>> {
        ServerName::try_from(self.host.clone())
            .map_err(|_| format!("`{}` is neither a DNS name nor an IP address", self.host).into())
    }

    /// Connects to the first address of the host that accepts the connection.
    pub(crate) fn connect(&self) -> Result<TcpStream, Box<dyn Error>> {
        let cannot_connect = |error| {
            format!(
                "cannot connect to {} port {}: {error}",
                self.host, self.port
            )
        };
        let addresses = (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(cannot_connect)?;
        let mut failure = io::Error::other("the host has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(sock) => {
                    sock.set_nodelay(true)?;
                    sock.set_read_timeout(Some(PATIENCE))?;
                    sock.set_write_timeout(Some(PATIENCE))?;
                    return Ok(sock);
                }
                Err(error) => failure = error,
            }
        }
        Err(cannot_connect(failure).into())
    }

    /// Returns an HTTP/1.0 request: the response is not chunked, and the server closes after it.
    pub(crate) fn request(&self) -> Vec<u8> {
        let Self {
            host, port, path, ..
        } = self;
        // RFC 3986 §3.2.2: an IPv6 address is bracketed in a URI
        let (open, close) = if host.contains(':') {
            ("[", "]")
        } else {
            ("", "")
        };
        format!(
            "GET {path} HTTP/1.0\r\nHost: {open}{host}{close}:{port}\r\nConnection: close\r\n\r\n"
        )
        .into_bytes()
    }

    /// Turns `error` into a message for the user of the command line.
    pub(crate) fn explain(&self, error: &(dyn Error + 'static)) -> String {
        use rustls::Error::{InvalidCertificate, InvalidMessage};

        let io_error = error.downcast_ref::<io::Error>();
        let kind = io_error.map(io::Error::kind);
        if let Some(ErrorKind::WouldBlock | ErrorKind::TimedOut) = kind {
            return format!("the server sent nothing for {} s", PATIENCE.as_secs());
        }
        // `Stream` wraps TLS errors in I/O errors
        let tls_error = match io_error.and_then(io::Error::get_ref) {
            Some(inner) => inner.downcast_ref(),
            None => error.downcast_ref(),
        };
        let advice = match tls_error {
            Some(InvalidCertificate(CertificateError::UnknownIssuer)) => format!(
                "; no authority in {} issued the server's certificate",
                self.ca_file.display()
            ),
            Some(InvalidMessage(rustls::InvalidMessage::InvalidContentType)) => format!(
                "; the server on port {} does not seem to speak TLS",
                self.port
            ),
            _ => String::new(),
        };
        format!("{error}{advice}")
    }
}
