//! A server on tokio that greets each client, with a key that takes time to sign.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use rustls::{InconsistentKeys, ServerConfig, ServerConnection, SupportedProtocolVersion};
use tokio::net::TcpStream;

use crate::tokio_io::{close, flush, handshake};

/// Creates a configuration with the certificates in `cert_file` and `key`.
pub(crate) fn config(
    cert_file: &Path,
    key: Arc<dyn SigningKey>,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ServerConfig, Box<dyn Error>> {
    let chain: Vec<_> = CertificateDer::pem_file_iter(cert_file)
        .and_then(Iterator::collect)
        .map_err(|error| format!("cannot read {}: {error}", cert_file.display()))?;
    if chain.is_empty() {
        return Err(format!("no certificate in {}", cert_file.display()).into());
    }
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
        Err(error) => {
            let file = cert_file.display();
            return Err(
                format!("cannot use the certificate in {file} with the key: {error}").into(),
            );
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    Ok(config)
}

/// Greets one client.
pub(crate) async fn greet(config: Arc<ServerConfig>, socket: TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut conn = ServerConnection::new(config).map_err(io::Error::other)?;
    // Lets the handshake wait for its signature without the thread.
    conn.set_async(true);
    let outcome = say_hello(&mut conn, &socket).await;
    close(conn, socket).await;
    outcome
}

async fn say_hello(conn: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    handshake(conn, socket).await?;
    conn.writer().write_all(b"Hello\n")?;
    conn.send_close_notify();
    flush(conn, socket).await
}

/// Greets all clients, in the background. Returns the server's address.
#[cfg(test)]
pub(crate) async fn greet_all(config: ServerConfig) -> std::net::SocketAddr {
    let config = Arc::new(config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            // the client reports failures
            tokio::spawn(greet(config.clone(), socket));
        }
    });
    address
}
