//! The crypto-provider interface: the traits that a provider implements, and the code built on
//! them.
//!
//! This file has the traits for randomness and private-key loading, and the list of signature
//! verification algorithms. The submodules are mainly for key exchange, hashing, key derivation,
//! bulk encryption, QUIC and HPKE. Cipher suites ([`crate::suites`]) and the whole provider
//! ([`crate::provider`]) are made of these. The primitives come from the provider.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

pub use erased_stack::{with_deep_stack_erased, with_erased_stack};
pub use kx::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup};
use pki_types::{PrivateKeyDer, SignatureVerificationAlgorithm};

pub use crate::enums::KeyExchangeAlgorithm;
use crate::enums::SignatureScheme;
use crate::error::Error;
use crate::sign::SigningKey;

pub mod aead;
pub mod bulk_cipher;
pub mod cipher;
mod erased_stack;
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
    /// Fills all of `buf` with random bytes.
    ///
    /// # Errors
    ///
    /// Returns [`GetRandomFailed`] if the source fails. The content of `buf` must then not be used.
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed>;

    /// True if this source is FIPS-approved. The default is false.
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

/// Creates signing keys from encoded private keys.
pub trait KeyProvider: Send + Sync + fmt::Debug {
    /// Decodes and checks `key_der`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`], or another error of the provider's choice, if the key is
    /// malformed, invalid or not supported.
    fn load_private_key(
        &self,
        key_der: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn SigningKey>, Error>;

    /// True if every key that this provider loads signs in FIPS-approved mode. The default is
    /// false.
    fn fips(&self) -> bool {
        false
    }
}

/// The signature algorithms for verification, and their assignment to TLS schemes.
#[derive(Clone, Copy)]
pub struct WebPkiSupportedAlgorithms {
    /// All algorithms allowed for signatures of certificates and revocation lists.
    ///
    /// These signatures name their algorithm in X.509 terms, so this list need not match `mapping`.
    ///
    /// A verifier in this library relies on the result of another verifier only if their algorithms
    /// are equal, which is decided by identifiers, `fips` and [`Debug`](fmt::Debug) output. If two
    /// implementations accept different signatures under the same identifiers, their `Debug` output
    /// must differ. The output must be the same in every process.
    pub all: &'static [&'static dyn SignatureVerificationAlgorithm],

    /// The algorithms that can verify each TLS signature scheme, most preferred scheme first.
    ///
    /// A scheme may have several algorithms, because TLS 1.2 does not bind an ECDSA scheme to a
    /// curve. TLS 1.3 uses only the first of them (RFC 9846 §4.3.3).
    pub mapping: &'static [(
        SignatureScheme,
        &'static [&'static dyn SignatureVerificationAlgorithm],
    )],
}

impl WebPkiSupportedAlgorithms {
    /// Returns the schemes in `mapping`, in order, for `signature_algorithms`.
    pub fn supported_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes().collect()
    }

    /// True if every algorithm in either list is FIPS-approved.
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
    /// Prints the schemes, but not the algorithms.
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
