//! The crypto-provider interface: what a provider of cryptography implements, and what is built on it.
//!
//! This file owns randomness, private-key loading and the list of signature verification algorithms.
//! Key exchange, hashing, key derivation, bulk encryption, QUIC and HPKE each have their own module
//! below. Cipher suites ([`crate::suites`]) and the provider as a whole ([`crate::provider`]) are made
//! of these. No cryptography is implemented here.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

pub use kx::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup};
use pki_types::{PrivateKeyDer, SignatureVerificationAlgorithm};

pub use crate::enums::KeyExchangeAlgorithm;
use crate::enums::SignatureScheme;
use crate::error::Error;
use crate::sign::SigningKey;

pub mod aead;
pub mod cipher;
pub mod hash;
pub mod hmac;
pub mod hpke;
mod kx;
pub mod quic;
mod secret_bytes;
pub mod tls12;
pub mod tls13;

/// A cryptographically secure source of random bytes.
pub trait SecureRandom: Send + Sync + fmt::Debug {
    /// Fills `buf` with random bytes, all of it.
    ///
    /// # Errors
    ///
    /// [`GetRandomFailed`] when the source has none to give; the content of `buf` must then not be
    /// used.
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed>;

    /// True when this source is FIPS-approved. False unless overridden.
    fn fips(&self) -> bool {
        false
    }
}

/// The source of randomness failed.
#[derive(Debug)]
pub struct GetRandomFailed;

impl From<GetRandomFailed> for Error {
    fn from(_: GetRandomFailed) -> Self {
        Self::FailedToGetRandomBytes
    }
}

/// Turns an encoded private key into one that can sign.
pub trait KeyProvider: Send + Sync + fmt::Debug {
    /// Decodes and checks `key_der`.
    ///
    /// # Errors
    ///
    /// [`Error::General`] or another error of the provider's choice when the encoding is wrong or the
    /// kind of key is not supported.
    fn load_private_key(
        &self,
        key_der: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn SigningKey>, Error>;

    /// True when every key that this loads signs in FIPS-approved mode. False unless overridden.
    fn fips(&self) -> bool {
        false
    }
}

/// The signature algorithms for verification, and which of them serve which TLS scheme.
#[derive(Clone, Copy)]
pub struct WebPkiSupportedAlgorithms {
    /// All algorithms allowed for the signatures of certificates and revocation lists.
    ///
    /// Those take their algorithm from X.509, so this list need not follow `mapping`.
    pub all: &'static [&'static dyn SignatureVerificationAlgorithm],

    /// For each TLS signature scheme, most preferred first, the algorithms that can verify it.
    ///
    /// One scheme may have several, since TLS 1.2 does not bind an ECDSA scheme to a curve. In
    /// TLS 1.3 only the first of them counts (RFC 9846 §4.3.3).
    pub mapping: &'static [(
        SignatureScheme,
        &'static [&'static dyn SignatureVerificationAlgorithm],
    )],
}

impl WebPkiSupportedAlgorithms {
    /// The schemes of `mapping` in its order, as sent in `signature_algorithms`.
    pub fn supported_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes().collect()
    }

    /// True when every algorithm in either list is FIPS-approved.
    pub fn fips(&self) -> bool {
        let mapped = self.mapping.iter().flat_map(|(_, algorithms)| *algorithms);
        self.all
            .iter()
            .chain(mapped)
            .all(|algorithm| algorithm.fips())
    }

    fn schemes(&self) -> impl Iterator<Item = SignatureScheme> {
        self.mapping.iter().map(|(scheme, _)| *scheme)
    }
}

impl fmt::Debug for WebPkiSupportedAlgorithms {
    /// Names the schemes; the algorithms have no names to print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Schemes<'a>(&'a WebPkiSupportedAlgorithms);

        impl fmt::Debug for Schemes<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.0.schemes()).finish()
            }
        }

        f.debug_struct("WebPkiSupportedAlgorithms")
            .field("all", &format_args!("[ .. ]"))
            .field("mapping", &Schemes(self))
            .finish()
    }
}

#[cfg(test)]
pub(crate) mod toy;

#[cfg(test)]
mod tests;
