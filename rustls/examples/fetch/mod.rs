//! What the clients have in common: the command line, the TLS configuration, the HTTP request and its
//! response. The connection itself is in the examples.

mod response;

use std::error::Error;
use std::fmt::Display;
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

/// How long to wait for the server: to accept the connection, and then each time for it to send.
const PATIENCE: Duration = Duration::from_secs(30);

/// Fetches a page over TLS and prints it
#[derive(Parser)]
pub(crate) struct Options {
    /// The server: a DNS name or an IP address
    host: String,

    /// Its TCP port, 443 for the web
    port: u16,

    /// A file of PEM certificates: the authorities that are trusted
    ca_file: PathBuf,

    /// Which page
    #[arg(default_value = "/", value_parser = parse_path)]
    path: String,
}

/// Checks what goes into the request line: a line break would end it early.
fn parse_path(path: &str) -> Result<String, &'static str> {
    if path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(path.to_owned())
    } else {
        Err("a path begins with / and has no spaces, control or non-ASCII characters")
    }
}

impl Options {
    #[allow(dead_code, reason = "one of the examples needs another")]
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, Box<dyn Error>> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(self.roots()?)
            .with_no_client_auth();
        Ok(Arc::new(config))
    }

    /// The authorities that are trusted.
    pub(crate) fn roots(&self) -> Result<RootCertStore, Box<dyn Error>> {
        let cannot_read = |error: &dyn Display| {
            format!(
                "cannot read certificates from {}: {error}",
                self.ca_file.display()
            )
        };
        let mut roots = RootCertStore::empty();
        let certificates =
            CertificateDer::pem_file_iter(&self.ca_file).map_err(|error| cannot_read(&error))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| cannot_read(&error))?;
            roots
                .add(certificate)
                .map_err(|error| cannot_read(&error))?;
        }
        if roots.is_empty() {
            return Err(cannot_read(&"there is none in it").into());
        }
        Ok(roots)
    }

    /// The name that the server's certificate must have.
    pub(crate) fn server_name(&self) -> Result<ServerName<'static>, Box<dyn Error>> {
        ServerName::try_from(self.host.clone())
            .map_err(|_| format!("`{}` is neither a DNS name nor an IP address", self.host).into())
    }

    /// A connection to the first of the host's addresses that accepts one.
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
        let mut failure = io::Error::other("the name has no address");
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

    /// HTTP/1.0, so that the response comes in one piece and the server closes after it.
    pub(crate) fn request(&self) -> Vec<u8> {
        let Self {
            host, port, path, ..
        } = self;
        // an IPv6 address is bracketed in a URI, RFC 3986 §3.2.2
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

    /// What `error` means for somebody who has typed a command.
    pub(crate) fn explain(&self, error: &(dyn Error + 'static)) -> String {
        use rustls::Error::{InvalidCertificate, InvalidMessage};

        let io_error = error.downcast_ref::<io::Error>();
        let kind = io_error.map(io::Error::kind);
        if let Some(ErrorKind::WouldBlock | ErrorKind::TimedOut) = kind {
            return format!("the server was silent for {} s", PATIENCE.as_secs());
        }
        // `Stream` reports TLS errors inside I/O errors
        let tls_error = match io_error.and_then(io::Error::get_ref) {
            Some(inner) => inner.downcast_ref(),
            None => error.downcast_ref(),
        };
        let advice = match tls_error {
            Some(InvalidCertificate(CertificateError::UnknownIssuer)) => format!(
                "; no authority in {} has signed the server's certificate",
                self.ca_file.display()
            ),
            Some(InvalidMessage(rustls::InvalidMessage::InvalidContentType)) => format!(
                "; what listens on port {} does not seem to speak TLS",
                self.port
            ),
            _ => String::new(),
        };
        format!("{error}{advice}")
    }
}
