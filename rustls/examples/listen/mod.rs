//! The command line that all server examples share, and the TLS configuration that it describes.

use std::error::Error;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The server's certificate, its key and the address to listen on.
#[derive(Args)]
pub(crate) struct Listen {
    /// PEM file with the server's certificate chain, the server's own certificate first
    pub(crate) cert_file: PathBuf,

    /// PEM file with the private key of the server's certificate
    pub(crate) key_file: PathBuf,

    /// Address and port to listen on; port 0 picks a free port
    #[arg(long, default_value = "127.0.0.1:8443")]
    pub(crate) address: SocketAddr,
}

impl Listen {
    /// Creates a configuration with the certificate and the key, without client authentication.
    pub(crate) fn config(&self) -> Result<ServerConfig, Box<dyn Error>> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(self.chain()?, self.key()?)
            .map_err(|error| {
                let [cert_file, key_file] = [&self.cert_file, &self.key_file].map(|f| f.display());
                format!(
                    "cannot use the certificate in {cert_file} with the key in {key_file}: {error}"
                )
                .into()
            })
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        let file = self.cert_file.display();
        let chain: Vec<_> = CertificateDer::pem_file_iter(&self.cert_file)
            .and_then(Iterator::collect)
            .map_err(|error| format!("cannot read {file}: {error}"))?;
        if chain.is_empty() {
            return Err(format!("no certificate in {file}"));
        }
        Ok(chain)
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, String> {
        let file = self.key_file.display();
        PrivateKeyDer::from_pem_file(&self.key_file).map_err(|error| match error {
            // rustls-pki-types skips encrypted keys
            pem::Error::NoItemsFound => {
                format!("no private key in {file} (an encrypted key cannot be used)")
            }
            error => format!("cannot read {file}: {error}"),
        })
    }

    pub(crate) fn bind(&self) -> Result<TcpListener, String> {
        TcpListener::bind(self.address)
            .map_err(|error| format!("cannot listen on {}: {error}", self.address))
    }
}
