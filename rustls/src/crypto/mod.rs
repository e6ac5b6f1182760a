//! The interface of crypto providers, the built-in providers, and the selection between them.
//!
//! A [`CryptoProvider`] supplies all the cryptography of a connection. Two are built in, each
//! behind the feature of its name: [`aws_lc_rs`](mod@aws_lc_rs), the default, and
//! [`ring`](mod@ring). Others are crates of their own. Pass the provider to
//! [`ClientConfig::builder_with_provider`](crate::ClientConfig::builder_with_provider), or install
//! a process-wide default with [`CryptoProvider::install_default`].
//!
//! The traits of this module document what a provider must implement. Bulk encryption differs from
//! rustls 0.23: see [`cipher`]. [`blocks`] implements most of a provider, over small traits for a
//! crypto library.

use alloc::sync::Arc;

pub use rustls_core::blocks;
pub use rustls_core::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, GetRandomFailed, KeyExchangeAlgorithm, KeyProvider,
    SecureRandom, SharedSecret, SupportedKxGroup, WebPkiSupportedAlgorithms, cipher, hash, hmac,
    hpke, tls12, tls13,
};
pub use rustls_core::provider::CryptoProvider;
pub use rustls_core::suites::CipherSuiteCommon;

pub use crate::webpki::{
    verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};

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

/// The provider based on the FIPS 140-3 validated module of aws-lc: feature `fips`.
///
/// It is [`aws_lc_rs::default_provider`], which offers only approved algorithms with that feature.
/// Install it as the default for configurations that name no provider:
///
/// ```
/// rustls::crypto::default_fips_provider()
///     .install_default()
///     .expect("a provider was installed before");
/// ```
///
/// [`ClientConfig::fips`](crate::ClientConfig::fips) and
/// [`ServerConfig::fips`](crate::ServerConfig::fips) return true if everything that a configuration
/// uses is approved.
#[cfg(feature = "fips")]
pub fn default_fips_provider() -> CryptoProvider {
    aws_lc_rs::default_provider()
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
