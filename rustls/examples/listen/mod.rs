//! The command line that the servers share, and the TLS configuration that it describes.

use std::error::Error;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use rustls::{InconsistentKeys, ServerConfig, SupportedProtocolVersion};

/// The server's certificate, and the address to listen on.
#[derive(Args)]
pub(crate) struct Listen {
    /// PEM file with the server's certificate chain, the server's own certificate first
    pub(crate) cert_file: PathBuf,

    /// Address and port to listen on; port 0 picks a free port
    #[arg(long, default_value = "127.0.0.1:8443")]
    address: SocketAddr,
}

impl Listen {
    /// Creates a configuration with the certificates and `key`, without client authentication.
    pub(crate) fn config(
        &self,
        key: Arc<dyn SigningKey>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Result<ServerConfig, Box<dyn Error>> {
        let file = self.cert_file.display();
        let chain: Vec<_> = CertificateDer::pem_file_iter(&self.cert_file)
            .and_then(Iterator::collect)
            .map_err(|error| format!("cannot read {file}: {error}"))?;
        if chain.is_empty() {
            return Err(format!("no certificate in {file}").into());
        }
        let certified = CertifiedKey::new(chain, key);
        if let Err(error) = certified.keys_match()
            // A key need not know its public key.
            && error != InconsistentKeys::Unknown.into()
        {
            return Err(
                format!("cannot use the certificate in {file} with the key: {error}").into(),
            );
        }
        let builder = ServerConfig::builder_with_provider(default_provider().into())
            .with_protocol_versions(versions)?
            .with_no_client_auth();
        Ok(builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified))))
    }

    pub(crate) fn bind(&self) -> Result<TcpListener, String> {
        TcpListener::bind(self.address)
            .map_err(|error| format!("cannot listen on {}: {error}", self.address))
    }
}

/// [`Listen`], with the server's key in a file.
#[allow(dead_code, reason = "two servers have their key elsewhere")]
#[derive(Args)]
pub(crate) struct ListenWithKey {
    #[command(flatten)]
    pub(crate) listen: Listen,

    /// PEM file with the private key of the server's certificate
    key_file: PathBuf,
}

#[allow(dead_code, reason = "two servers have their key elsewhere")]
impl ListenWithKey {
    /// Creates a configuration, without client authentication.
    pub(crate) fn config(&self) -> Result<ServerConfig, Box<dyn Error>> {
        self.listen
            .config(load_key(&self.key_file)?, rustls::DEFAULT_VERSIONS)
    }
}

/// Loads a private key from a PEM file.
#[allow(dead_code, reason = "one server has no key in a file")]
pub(crate) fn load_key(file: &Path) -> Result<Arc<dyn SigningKey>, Box<dyn Error>> {
    // rustls-pki-types skips encrypted keys
    let key = PrivateKeyDer::from_pem_file(file)
        .map_err(|error| format!("no private key in {}: {error}", file.display()))?;
    Ok(default_provider().key_provider.load_private_key(key)?)
}
