//! Identifiers of certificates in OCSP responses (CertID, RFC 6960 §4.1.1): hashes of the issuer's
//! name and key, and the serial number.

use pki_types::CertificateDer;
use rustls::certificates::{Certificate, PublicKey};
use rustls::crypto::CryptoProvider;
use rustls::crypto::hash::{Hash, HashAlgorithm};
use sha1::{Digest, Sha1};

/// A CertID, as read from an OCSP response.
pub(super) struct CertificateId<'a> {
    /// The contents of the object identifier of the hash algorithm.
    pub(super) hash_algorithm: &'a [u8],
    pub(super) issuer_name_hash: &'a [u8],
    pub(super) issuer_key_hash: &'a [u8],
    pub(super) serial_number: &'a [u8],
}

/// The certificate that needs a response.
pub(super) struct Subject<'a> {
    certificate: Certificate,
    /// The next certificate in the chain, if it belongs to the issuer.
    issuer: Option<Certificate>,
    provider: &'a CryptoProvider,
}

impl<'a> Subject<'a> {
    /// Creates the subject from the first certificate of `chain`. `provider` supplies all hash
    /// functions except SHA-1.
    pub(super) fn new(
        chain: &[CertificateDer<'static>],
        provider: &'a CryptoProvider,
    ) -> Option<Self> {
        let certificate = Certificate::new(chain.first()?.clone());
        let issuer = chain
            .get(1)
            .map(|issuer| Certificate::new(issuer.clone()))
            .filter(|issuer| match (issuer.subject(), certificate.issuer()) {
                (Ok(subject), Ok(issuer)) => subject == issuer,
                _ => false,
            });
        Some(Self {
            certificate,
            issuer,
            provider,
        })
    }

    /// True if `id` identifies this certificate. The issuer's key is compared only if the issuer's
    /// certificate is next in the chain.
    ///
    /// # Errors
    ///
    /// Returns a message for the user if a property or the hash function is missing.
    pub(super) fn is_named_by(&self, id: &CertificateId<'_>) -> Result<bool, &'static str> {
        let Ok(serial_number) = self.certificate.serial_number() else {
            return Err("the certificate has no serial number");
        };
        if id.serial_number != serial_number.as_bytes() {
            return Ok(false);
        }
        let Ok(issuer) = self.certificate.issuer() else {
            return Err("the certificate has no issuer");
        };
        if self.hash(id.hash_algorithm, issuer.der())? != id.issuer_name_hash {
            return Ok(false);
        }
        match self.issuer.as_ref().map(Certificate::public_key) {
            Some(Ok(key)) => {
                let hash = self.hash(id.hash_algorithm, PublicKey::key(key))?;
                Ok(hash == id.issuer_key_hash)
            }
            Some(Err(_)) => Err("the issuer's certificate has no public key"),
            None => Ok(true),
        }
    }

    /// Hashes `data`. Most responders use SHA-1. Its weakness does not matter here, because clients
    /// verify the response.
    fn hash(&self, algorithm: &[u8], data: &[u8]) -> Result<Vec<u8>, &'static str> {
        let algorithm = match algorithm {
            SHA1 => return Ok(Sha1::digest(data).to_vec()),
            SHA256 => HashAlgorithm::SHA256,
            SHA384 => HashAlgorithm::SHA384,
            SHA512 => HashAlgorithm::SHA512,
            _ => return Err(NO_HASH),
        };
        let hash = hash_of_suites(self.provider, algorithm).ok_or(NO_HASH)?;
        Ok(hash.hash(data).as_ref().to_vec())
    }
}

/// Returns a hash function from the cipher suites of `provider`.
fn hash_of_suites(
    provider: &CryptoProvider,
    algorithm: HashAlgorithm,
) -> Option<&'static dyn Hash> {
    let suites = provider.cipher_suites.iter();
    suites
        .map(|suite| suite.common().hash_provider)
        .find(|hash| hash.algorithm() == algorithm)
}

const NO_HASH: &str = "it names the certificate by a hash that the crypto provider does not have";

/// The object identifier of SHA-1: 1.3.14.3.2.26.
const SHA1: &[u8] = b"\x2b\x0e\x03\x02\x1a";
/// The object identifier of SHA-256: 2.16.840.1.101.3.4.2.1.
const SHA256: &[u8] = b"\x60\x86\x48\x01\x65\x03\x04\x02\x01";
/// The object identifier of SHA-384: 2.16.840.1.101.3.4.2.2.
const SHA384: &[u8] = b"\x60\x86\x48\x01\x65\x03\x04\x02\x02";
/// The object identifier of SHA-512: 2.16.840.1.101.3.4.2.3.
const SHA512: &[u8] = b"\x60\x86\x48\x01\x65\x03\x04\x02\x03";
