//! The providers that crate features select, and the process-wide default provider.

use alloc::sync::Arc;

#[cfg(feature = "std")]
use rustls_core::error::Error;
use rustls_core::provider::CryptoProvider;

use crate::logging::debug;

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

/// With `fips`, `fastest` is just the aws-lc-rs provider.
#[cfg(all(feature = "fips", feature = "ring"))]
pub use aws_lc_rs as fastest;

/// The provider made of the fastest parts of aws-lc-rs and ring: feature `fastest`.
#[cfg(all(feature = "aws_lc_rs", feature = "ring", not(feature = "fips")))]
pub mod fastest;

/// Returns the process-wide default provider. If there is none, installs the one that crate
/// features select.
///
/// # Panics
///
/// Panics if no provider is installed and the features do not select one.
pub(crate) fn default_provider() -> &'static Arc<CryptoProvider> {
    find_default_provider().expect(NO_DEFAULT_PROVIDER)
}

/// Like [`default_provider`], for callers that return errors.
#[cfg(feature = "std")]
pub(crate) fn try_default_provider() -> Result<&'static Arc<CryptoProvider>, Error> {
    find_default_provider().ok_or_else(|| Error::General(NO_DEFAULT_PROVIDER.trim().into()))
}

fn find_default_provider() -> Option<&'static Arc<CryptoProvider>> {
    if CryptoProvider::get_default().is_none() {
        if let Some(provider) = provider_from_crate_features() {
            let libraries = provider.secure_random;
            // another thread may have installed one first, which is fine
            if provider.install_default().is_ok()
                && cfg!(all(feature = "aws_lc_rs", feature = "ring"))
            {
                debug!("default crypto provider, as none is installed: {libraries:?}");
            }
        }
    }
    CryptoProvider::get_default()
}

/// The panic message. It is that of rustls 0.23 because applications' tests expect it.
const NO_DEFAULT_PROVIDER: &str = "
Could not automatically determine the process-level CryptoProvider from Rustls crate features.
Call CryptoProvider::install_default() before this point to select a provider manually, \
or make sure exactly one of the 'aws-lc-rs' and 'ring' features is enabled.
See the documentation of the CryptoProvider type for more information.
            ";

/// Returns the provider selected by the crate features. With both libraries, this is `fastest`.
/// `custom-provider` selects nothing.
fn provider_from_crate_features() -> Option<CryptoProvider> {
    #[cfg(all(feature = "aws_lc_rs", feature = "ring"))]
    let selected = Some(fastest::default_provider());
    #[cfg(all(feature = "aws_lc_rs", not(feature = "ring")))]
    let selected = Some(aws_lc_rs::default_provider());
    #[cfg(all(feature = "ring", not(feature = "aws_lc_rs")))]
    let selected = Some(ring::default_provider());
    #[cfg(not(any(feature = "aws_lc_rs", feature = "ring")))]
    let selected = None;

    selected.filter(|_| cfg!(not(feature = "custom-provider")))
}

/// Returns any one provider, for tests that work with all of them.
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
    fn the_feature_tls12_enables_its_suites() {
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
