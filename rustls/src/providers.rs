//! The providers that crate features select, and the default provider of the process.

use alloc::sync::Arc;

use rustls_core::provider::CryptoProvider;

/// The provider based on aws-lc-rs: feature `aws_lc_rs`.
#[cfg(feature = "aws_lc_rs")]
pub mod aws_lc_rs {
    // shadow the items that include TLS 1.2 suites
    #[cfg(not(feature = "tls12"))]
    pub use rustls_provider_aws_lc::tls13_only::{
        ALL_CIPHER_SUITES, DEFAULT_CIPHER_SUITES, cipher_suite, default_provider,
    };
    pub use rustls_provider_aws_lc::*;
}

/// The provider based on ring: feature `ring`.
#[cfg(feature = "ring")]
pub mod ring {
    // shadow the items that include TLS 1.2 suites
    #[cfg(not(feature = "tls12"))]
    pub use rustls_provider_ring::tls13_only::{
        ALL_CIPHER_SUITES, DEFAULT_CIPHER_SUITES, cipher_suite, default_provider,
    };
    pub use rustls_provider_ring::*;
}

/// Returns the process-wide default provider. Installs the one selected by crate features if there
/// is none.
///
/// # Panics
///
/// Panics if none is installed and the features do not select exactly one.
pub(crate) fn default_provider() -> &'static Arc<CryptoProvider> {
    if CryptoProvider::get_default().is_none() {
        if let Some(provider) = provider_from_crate_features() {
            // another thread may have installed one first, which is fine
            let _ = provider.install_default();
        }
    }
    CryptoProvider::get_default().expect(NO_DEFAULT_PROVIDER)
}

/// The panic message of rustls 0.23: tests of applications expect it.
const NO_DEFAULT_PROVIDER: &str = "
Could not automatically determine the process-level CryptoProvider from Rustls crate features.
Call CryptoProvider::install_default() before this point to select a provider manually, \
or make sure exactly one of the 'aws-lc-rs' and 'ring' features is enabled.
See the documentation of the CryptoProvider type for more information.
            ";

/// Returns the provider selected by the crate features, if they select exactly one.
fn provider_from_crate_features() -> Option<CryptoProvider> {
    #[cfg(all(
        feature = "aws_lc_rs",
        not(feature = "ring"),
        not(feature = "custom-provider")
    ))]
    return Some(aws_lc_rs::default_provider());

    #[cfg(all(
        feature = "ring",
        not(feature = "aws_lc_rs"),
        not(feature = "custom-provider")
    ))]
    return Some(ring::default_provider());

    #[allow(unreachable_code)] // depends on the features
    None
}

/// Returns any provider, for tests that work with each.
#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
pub(crate) fn any_provider() -> CryptoProvider {
    #[cfg(feature = "aws_lc_rs")]
    return aws_lc_rs::default_provider();
    #[cfg(not(feature = "aws_lc_rs"))]
    return ring::default_provider();
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::SupportedCipherSuite;

    #[test]
    fn tls12_feature_enables_its_suites() {
        let is_tls12 = |suite: &SupportedCipherSuite| suite.tls13().is_none();
        let mut suites = Vec::new();
        #[cfg(feature = "aws_lc_rs")]
        suites.extend([
            aws_lc_rs::default_provider().cipher_suites,
            aws_lc_rs::DEFAULT_CIPHER_SUITES.to_vec(),
            aws_lc_rs::ALL_CIPHER_SUITES.to_vec(),
        ]);
        #[cfg(feature = "ring")]
        suites.extend([
            ring::default_provider().cipher_suites,
            ring::DEFAULT_CIPHER_SUITES.to_vec(),
            ring::ALL_CIPHER_SUITES.to_vec(),
        ]);
        for suites in suites {
            assert_eq!(suites.iter().any(is_tls12), cfg!(feature = "tls12"));
        }
    }
}
