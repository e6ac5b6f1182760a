//! An authority, a certificate for `localhost` signed by it, and configurations of both sides.

use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// A certificate for `localhost` and its authority.
pub struct Credentials {
    /// The authority.
    pub authority: CertificateDer<'static>,
    /// The authority in PEM.
    pub authority_pem: String,
    /// The certificate in PEM.
    pub certificate_pem: String,
    /// The certificate's key in PEM.
    pub key_pem: String,
    certificate: Certificate,
    key: KeyPair,
    issuer: Issuer<'static, KeyPair>,
}

impl Credentials {
    /// Creates them, and installs aws-lc-rs as the default provider.
    #[allow(clippy::new_without_default, reason = "each value differs")]
    pub fn new() -> Self {
        // both providers are compiled in, as is common with several dependencies
        let _ = aws_lc_rs::default_provider().install_default();

        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap();
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(["localhost".to_owned()])
            .and_then(|params| params.signed_by(&key, &issuer))
            .unwrap();
        Self {
            authority: authority.der().clone(),
            authority_pem: authority.pem(),
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            certificate,
            key,
            issuer,
        }
    }

    /// Returns the configuration of a server with the certificate.
    pub fn server_config(&self) -> ServerConfig {
        self.server_config_over(aws_lc_rs::default_provider())
    }

    /// Returns the configuration of a server with the certificate, over `provider`.
    pub fn server_config_over(&self, provider: CryptoProvider) -> ServerConfig {
        ServerConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![self.certificate.der().clone()],
                PrivateKeyDer::try_from(self.key.serialize_der()).unwrap(),
            )
            .unwrap()
    }

    /// Returns the configuration of a client that only trusts the authority.
    pub fn client_config(&self) -> ClientConfig {
        self.client_config_over(aws_lc_rs::default_provider())
    }

    /// Returns the configuration of a client that only trusts the authority, over `provider`.
    pub fn client_config_over(&self, provider: CryptoProvider) -> ClientConfig {
        ClientConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots())
            .with_no_client_auth()
    }

    /// Returns a root store with the authority.
    pub fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone()).unwrap();
        roots
    }

    /// Issues another certificate with the common name `name`, for a client. Returns it and its
    /// key.
    pub fn client_pem(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}
