//! A certificate chain with the private key that belongs to it: what a side authenticates with.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, PrivateKeyDer};
pub use rustls_core::sign::{Signer, SigningKey, public_key_to_spki};

#[cfg(feature = "x509")]
use crate::certificates::{Certificate, Kept, shared};
use crate::client::ResolvesClientCert;
use crate::crypto::CryptoProvider;
use crate::enums::SignatureScheme;
use crate::error::{Error, InconsistentKeys};
use crate::server::{ClientHello, ResolvesServerCert};
use crate::webpki::ParsedCertificate;

/// A certificate chain and the private key of its first certificate.
#[derive(Clone, Debug)]
pub struct CertifiedKey {
    /// The certificates, end entity first, each followed by its issuer.
    pub cert: Vec<CertificateDer<'static>>,

    /// The private key.
    pub key: Arc<dyn SigningKey>,

    /// An OCSP response for the end-entity certificate, which a server staples for clients that ask
    /// for it. It is passed on as it is, if it is not empty.
    pub ocsp: Option<Vec<u8>>,
}

impl CertifiedKey {
    /// Puts chain and key together as they are, without an OCSP response.
    pub fn new(cert: Vec<CertificateDer<'static>>, key: Arc<dyn SigningKey>) -> Self {
        Self {
            cert,
            key,
            ocsp: None,
        }
    }

    /// Loads `key` with `provider`, and checks that it belongs to the first certificate of `cert_chain`.
    ///
    /// A key that does not tell its public key is taken on trust.
    ///
    /// # Errors
    ///
    /// - those of [`KeyProvider::load_private_key`](crate::crypto::KeyProvider::load_private_key);
    /// - those of [`keys_match`](Self::keys_match), but for [`InconsistentKeys::Unknown`].
    pub fn from_der(
        cert_chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        provider: &CryptoProvider,
    ) -> Result<Self, Error> {
        let key = provider.key_provider.load_private_key(key)?;
        let certified_key = Self::new(cert_chain, key);
        match certified_key.keys_match() {
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified_key),
            Err(err) => Err(err),
        }
    }

    /// Checks that the private key belongs to the end-entity certificate, by their public keys.
    ///
    /// # Errors
    ///
    /// - [`InconsistentKeys::Unknown`] when the private key does not tell its public key;
    /// - [`Error::NoCertificatesPresented`] when the chain is empty;
    /// - [`Error::InvalidCertificate`] when the certificate cannot be parsed;
    /// - [`InconsistentKeys::KeyMismatch`] when the two are not a pair.
    pub fn keys_match(&self) -> Result<(), Error> {
        let Some(public_key) = self.key.public_key() else {
            return Err(InconsistentKeys::Unknown.into());
        };
        let cert = ParsedCertificate::try_from(self.end_entity_cert()?)?;
        if cert.subject_public_key_info() == public_key {
            Ok(())
        } else {
            Err(InconsistentKeys::KeyMismatch.into())
        }
    }

    /// The end-entity certificate, which tells what is in it.
    ///
    /// All keys of one process that have the same certificate share it, with what was read of it. As long as one of
    /// this library's resolvers has such a key, that is kept; otherwise, for as long as somebody has what this
    /// returns. Without the crate feature `std` each call returns another.
    ///
    /// No handshake reads its own side's certificate. This is for what goes along with them: when a certificate
    /// expires, what names it is for, which OCSP response belongs to it.
    ///
    /// Of a raw public key (RFC 7250) there is no property.
    ///
    /// # Errors
    ///
    /// [`Error::NoCertificatesPresented`] when the chain is empty.
    #[cfg(feature = "x509")]
    pub fn certificate(&self) -> Result<Arc<Certificate>, Error> {
        let end_entity = self.cert.first().ok_or(Error::NoCertificatesPresented)?;
        Ok(shared(end_entity))
    }

    /// What there is to staple. RFC 6066 §8: an OCSPResponse has at least one byte.
    pub(crate) fn ocsp_response(&self) -> Option<&[u8]> {
        self.ocsp.as_deref().filter(|response| !response.is_empty())
    }

    /// The end-entity certificate: the first of the chain.
    ///
    /// # Errors
    ///
    /// [`Error::NoCertificatesPresented`] when the chain is empty.
    pub fn end_entity_cert(&self) -> Result<&CertificateDer<'_>, Error> {
        self.cert.first().ok_or(Error::NoCertificatesPresented)
    }
}

/// Resolves to one [`CertifiedKey`], whoever asks.
#[derive(Debug)]
pub struct SingleCertAndKey {
    certified_key: Arc<CertifiedKey>,
    #[cfg(feature = "x509")]
    _kept: Kept,
}

impl ResolvesServerCert for SingleCertAndKey {
    fn resolve(&self, _client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.certified_key.clone())
    }
}

impl ResolvesClientCert for SingleCertAndKey {
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        _sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        Some(self.certified_key.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl From<Arc<CertifiedKey>> for SingleCertAndKey {
    fn from(certified_key: Arc<CertifiedKey>) -> Self {
        Self {
            #[cfg(feature = "x509")]
            _kept: Kept::of(&certified_key),
            certified_key,
        }
    }
}

impl From<CertifiedKey> for SingleCertAndKey {
    fn from(certified_key: CertifiedKey) -> Self {
        Arc::new(certified_key).into()
    }
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
