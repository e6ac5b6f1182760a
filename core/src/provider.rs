//! [`CryptoProvider`]: the cryptography that a configuration uses, and the process-wide default.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::crypto::{KeyProvider, SecureRandom, SupportedKxGroup, WebPkiSupportedAlgorithms};
use crate::suites::SupportedCipherSuite;

#[cfg(test)]
mod tests;

/// The cryptography that a configuration uses: cipher suites, key exchange groups, signature
/// verification, randomness and private-key loading.
///
/// To customise a provider, change the fields of an existing one: for example, drop cipher suites,
/// reorder groups, or keep private keys in hardware.
///
/// # The process-wide default
///
/// Configurations and verifiers built without a provider use the one given to
/// [`install_default`](Self::install_default). If there is none, building them installs the
/// provider that the features of `rustls` select, and panics or returns an error if they select
/// none. Installing succeeds only once per process, so only applications should install a provider:
/// a library that does so takes the choice away from its users.
#[derive(Clone, Debug)]
pub struct CryptoProvider {
    /// The supported cipher suites, most preferred first.
    ///
    /// Both protocol versions share this list. A configuration does not use a version without a
    /// suite, and building it fails if no version remains.
    pub cipher_suites: Vec<SupportedCipherSuite>,

    /// The supported key exchange groups, most preferred first.
    ///
    /// In its first ClientHello, a client with TLS 1.3 sends a key share for the group that the
    /// server chose earlier, or else for the first group usable in TLS 1.3 (RFC 9846 §4.3.8).
    /// Duplicates are ignored.
    pub kx_groups: Vec<&'static dyn SupportedKxGroup>,

    /// The signature algorithms for verifying certificates and handshake signatures.
    pub signature_verification_algorithms: WebPkiSupportedAlgorithms,

    /// The source of randomness.
    pub secure_random: &'static dyn SecureRandom,

    /// Loads encoded private keys as [`SigningKey`](crate::sign::SigningKey)s.
    pub key_provider: &'static dyn KeyProvider,
}

impl CryptoProvider {
    /// Makes this the provider of every later configuration that is built without one.
    ///
    /// # Errors
    ///
    /// Fails and returns `self` if a default is already installed, which stays in use.
    pub fn install_default(self) -> Result<(), Arc<Self>> {
        process_default::install(Arc::new(self))
    }

    /// Returns the process-wide default provider; `None` if none is installed.
    pub fn get_default() -> Option<&'static Arc<Self>> {
        process_default::get()
    }

    /// True if every part of this provider runs in FIPS-approved mode.
    ///
    /// This covers only the cryptography. Approval of a configuration also depends on protocol
    /// settings; see its `fips` method.
    pub fn fips(&self) -> bool {
        self.cipher_suites.iter().all(SupportedCipherSuite::fips)
            && self.kx_groups.iter().all(|group| group.fips())
            && self.signature_verification_algorithms.fips()
            && self.secure_random.fips()
            && self.key_provider.fips()
    }
}

#[cfg(feature = "std")]
mod process_default {
    use alloc::sync::Arc;
    use std::sync::OnceLock;

    use super::CryptoProvider;

    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();

    pub(super) fn install(provider: Arc<CryptoProvider>) -> Result<(), Arc<CryptoProvider>> {
        PROVIDER.set(provider)
    }

    pub(super) fn get() -> Option<&'static Arc<CryptoProvider>> {
        PROVIDER.get()
    }
}

#[cfg(not(feature = "std"))]
mod process_default {
    use alloc::boxed::Box;
    use alloc::sync::Arc;

    use once_cell::race::OnceBox;

    use super::CryptoProvider;

    static PROVIDER: OnceBox<Arc<CryptoProvider>> = OnceBox::new();

    pub(super) fn install(provider: Arc<CryptoProvider>) -> Result<(), Arc<CryptoProvider>> {
        PROVIDER.set(Box::new(provider)).map_err(|refused| *refused)
    }

    pub(super) fn get() -> Option<&'static Arc<CryptoProvider>> {
        PROVIDER.get()
    }
}
