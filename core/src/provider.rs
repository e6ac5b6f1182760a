//! [`CryptoProvider`]: all the cryptography of a configuration in one value, and the process-wide default.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::crypto::{KeyProvider, SecureRandom, SupportedKxGroup, WebPkiSupportedAlgorithms};
use crate::suites::SupportedCipherSuite;

#[cfg(test)]
mod tests;

/// The cryptography that a configuration uses: cipher suites, key exchange groups, signature
/// verification, randomness and private-key loading.
///
/// Fields are independent of each other, so a provider is customised by changing fields of an existing one:
/// drop cipher suites, reorder groups, keep private keys in hardware.
///
/// # The process-wide default
///
/// A configuration built without naming a provider takes the one given to
/// [`install_default`](Self::install_default). That can be done once in a process, so only an application
/// should do it: a library that does it takes the choice away from its user.
#[derive(Clone, Debug)]
pub struct CryptoProvider {
    /// The supported cipher suites, most preferred first.
    ///
    /// Both protocol versions share this list. A configuration without a suite for a version that it
    /// enables is refused when it is built.
    pub cipher_suites: Vec<SupportedCipherSuite>,

    /// The supported key exchange groups, most preferred first.
    ///
    /// The first one usable for TLS 1.3 is the one a client guesses in its first ClientHello
    /// (RFC 9846 §4.3.8). A group that is named twice counts once.
    pub kx_groups: Vec<&'static dyn SupportedKxGroup>,

    /// The signature algorithms for verifying certificates and handshake signatures.
    pub signature_verification_algorithms: WebPkiSupportedAlgorithms,

    /// The source of randomness.
    pub secure_random: &'static dyn SecureRandom,

    /// Turns encoded private keys into [`SigningKey`](crate::sign::SigningKey)s.
    pub key_provider: &'static dyn KeyProvider,
}

impl CryptoProvider {
    /// Makes this the provider of every later configuration that names none.
    ///
    /// # Errors
    ///
    /// A default is in place already; it stays, and the error holds the provider that was refused.
    pub fn install_default(self) -> Result<(), Arc<Self>> {
        process_default::install(Arc::new(self))
    }

    /// The process-wide default provider, or `None` while none is installed.
    pub fn get_default() -> Option<&'static Arc<Self>> {
        process_default::get()
    }

    /// True when every part of this provider runs in FIPS-approved mode.
    ///
    /// That covers the cryptography only. Whether a configuration as a whole is approved also depends
    /// on protocol settings; the `fips` method of the configuration answers that.
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
