//! A certificate chain with its private key: the credentials of one side.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, PrivateKeyDer};
use rustls_core::provider::CryptoProvider;
pub use rustls_core::sign::{Signer, SigningKey, public_key_to_spki};

use crate::certificates::ParsedCertificate;
#[cfg(feature = "x509")]
use crate::certificates::{Certificate, ParsedEndEntity, shared};
use crate::error::{Error, InconsistentKeys};

/// A certificate chain, the private key of its first certificate, and an OCSP response, if any.
#[derive(Clone, Debug)]
pub struct CertifiedKey {
    /// The certificates, end entity first, then those of the issuers. For raw public keys (RFC
    /// 7250), a single `SubjectPublicKeyInfo`.
    pub cert: Vec<CertificateDer<'static>>,

    /// The private key. It may be outside this process: see [`SigningKey`].
    pub key: Arc<dyn SigningKey>,

    /// An OCSP response for the end-entity certificate. A server staples it for clients that ask
    /// for one. It is sent unchanged, and omitted if empty.
    pub ocsp: Option<Vec<u8>>,
}

impl CertifiedKey {
    /// Creates the pair without an OCSP response. Nothing is checked.
    pub fn new(cert: Vec<CertificateDer<'static>>, key: Arc<dyn SigningKey>) -> Self {
        Self {
            cert,
            key,
            ocsp: None,
        }
    }

    /// Loads `key` with `provider`, and checks that it belongs to the first certificate of
    /// `cert_chain`.
    ///
    /// If the private key cannot return its public key, the check is skipped.
    ///
    /// # Errors
    ///
    /// - the errors of
    ///   [`KeyProvider::load_private_key`](crate::crypto::KeyProvider::load_private_key);
    /// - the errors of [`keys_match`](Self::keys_match), except [`InconsistentKeys::Unknown`].
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

    /// Checks that the private key belongs to the end-entity certificate by comparing public keys.
    ///
    /// # Errors
    ///
    /// - [`InconsistentKeys::Unknown`] if the private key cannot return its public key;
    /// - [`Error::NoCertificatesPresented`] if the chain is empty;
    /// - [`Error::InvalidCertificate`] if the certificate cannot be parsed;
    /// - [`InconsistentKeys::KeyMismatch`] if the keys differ.
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

    /// Returns the end-entity certificate, whose properties can be queried.
    ///
    /// Keys in the process with the same certificate share one object and its parsed properties. It
    /// lives while the caller keeps the returned `Arc`, or while a resolver such as
    /// [`SingleCertAndKey`] holds such a key. Without the crate feature `std`, each call returns a
    /// new object.
    ///
    /// Handshakes do not use this object. It is for related tasks, such as monitoring a
    /// certificate's expiry, its names or its OCSP response.
    ///
    /// A raw public key (RFC 7250) has no properties.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoCertificatesPresented`] if the chain is empty.
    #[cfg(feature = "x509")]
    pub fn certificate(&self) -> Result<Arc<Certificate>, Error> {
        let end_entity = self.cert.first().ok_or(Error::NoCertificatesPresented)?;
        Ok(shared(end_entity))
    }

    /// Returns the OCSP response to staple. RFC 6066 §8: an OCSPResponse has at least one byte.
    pub(crate) fn ocsp_response(&self) -> Option<&[u8]> {
        self.ocsp.as_deref().filter(|response| !response.is_empty())
    }

    /// Returns the end-entity certificate: the first of the chain.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoCertificatesPresented`] if the chain is empty.
    pub fn end_entity_cert(&self) -> Result<&CertificateDer<'_>, Error> {
        self.cert.first().ok_or(Error::NoCertificatesPresented)
    }
}

/// A resolver that always returns the same [`CertifiedKey`]. For several names, use
/// [`ResolvesServerCertUsingSni`](crate::server::ResolvesServerCertUsingSni).
#[derive(Debug)]
pub struct SingleCertAndKey {
    certified_key: Arc<CertifiedKey>,
    #[cfg(feature = "x509")]
    _end_entity: ParsedEndEntity,
}

impl SingleCertAndKey {
    pub(crate) fn certified_key(&self) -> &Arc<CertifiedKey> {
        &self.certified_key
    }
}

impl From<Arc<CertifiedKey>> for SingleCertAndKey {
    fn from(certified_key: Arc<CertifiedKey>) -> Self {
        Self {
            #[cfg(feature = "x509")]
            _end_entity: ParsedEndEntity::of(&certified_key.cert),
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
