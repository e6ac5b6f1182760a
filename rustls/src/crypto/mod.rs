//! The crypto-provider interface, the providers that come with this crate, and the choice between them.
//!
//! A [`CryptoProvider`] brings all the cryptography of a connection. Two come with this crate, each
//! behind the feature of its name: [`aws_lc_rs`](mod@aws_lc_rs), the default, and [`ring`](mod@ring).
//! Others are crates of their own. A configuration is told which one to use
//! ([`ClientConfig::builder_with_provider`](crate::ClientConfig::builder_with_provider)), or uses the
//! one that the process has installed ([`CryptoProvider::install_default`]).
//!
//! What a provider implements is documented with the traits here; bulk encryption, which differs from rustls
//! 0.23, in [`cipher`]. [`blocks`] has most of it ready-made, over small traits for what a crypto library
//! brings.

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

/// The provider over aws-lc-rs: feature `aws_lc_rs`.
#[cfg(feature = "aws_lc_rs")]
pub mod aws_lc_rs {
    // in the place of those with suites of TLS 1.2
    #[cfg(not(feature = "tls12"))]
    pub use rustls_provider_aws_lc::tls13_only::{
        ALL_CIPHER_SUITES, DEFAULT_CIPHER_SUITES, cipher_suite, default_provider,
    };
    pub use rustls_provider_aws_lc::*;
}

/// The provider over ring: feature `ring`.
#[cfg(feature = "ring")]
pub mod ring {
    // in the place of those with suites of TLS 1.2
    #[cfg(not(feature = "tls12"))]
    pub use rustls_provider_ring::tls13_only::{
        ALL_CIPHER_SUITES, DEFAULT_CIPHER_SUITES, cipher_suite, default_provider,
    };
    pub use rustls_provider_ring::*;
}

/// The provider over aws-lc's module that is validated for FIPS 140-3: feature `fips`.
///
/// It is [`aws_lc_rs::default_provider`], which with that feature offers what is approved and nothing else. A process
/// uses it where configurations are not told of another once it is installed:
///
/// ```
/// rustls::crypto::default_fips_provider()
///     .install_default()
///     .expect("a provider was installed before");
/// ```
///
/// Whether all that a configuration uses is approved, [`ClientConfig::fips`](crate::ClientConfig::fips) and
/// [`ServerConfig::fips`](crate::ServerConfig::fips) tell.
#[cfg(feature = "fips")]
pub fn default_fips_provider() -> CryptoProvider {
    aws_lc_rs::default_provider()
}

/// The process-wide default provider; installs the one that the crate's features name if there is none.
///
/// # Panics
///
/// When none is installed, and the features name none or more than one.
pub(crate) fn default_provider() -> &'static Arc<CryptoProvider> {
    if CryptoProvider::get_default().is_none() {
        if let Some(provider) = provider_from_crate_features() {
            // losing a race here is fine: there is a provider either way
            let _ = provider.install_default();
        }
    }
    CryptoProvider::get_default().expect(NO_DEFAULT_PROVIDER)
}

/// The text that 0.23 panics with: tests of programs expect it.
const NO_DEFAULT_PROVIDER: &str = "
Could not automatically determine the process-level CryptoProvider from Rustls crate features.
Call CryptoProvider::install_default() before this point to select a provider manually, \
or make sure exactly one of the 'aws-lc-rs' and 'ring' features is enabled.
See the documentation of the CryptoProvider type for more information.
            ";

/// The provider that the crate's features select; `None` when they do not select exactly one.
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

    #[allow(unreachable_code)] // by the features
    None
}

/// A provider for tests that do not care which.
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
    fn suites_of_tls12_come_with_its_feature() {
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
