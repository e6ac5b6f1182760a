//! The interface of crypto providers, the built-in providers, and the selection between them.
//!
//! A [`CryptoProvider`] supplies the cryptography of a connection. Two providers are built in, each
//! behind the crate feature of the same name: [`aws_lc_rs`](mod@aws_lc_rs), the default, and
//! [`ring`](mod@ring). With both, [`fastest`] combines them. Others are separate crates. Pass the
//! provider to the configuration's builder, as in
//! [`ClientConfig::builder_with_provider`](crate::ClientConfig::builder_with_provider), or install
//! a process-wide default with [`CryptoProvider::install_default`].
//!
//! The traits of this module document what a provider must implement. Bulk encryption differs from
//! rustls 0.23: see [`cipher`]. [`blocks`] implements most of a provider on top of small traits
//! that wrap a crypto library.

pub use rustls_core::blocks;
pub use rustls_core::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, GetRandomFailed, KeyExchangeAlgorithm, KeyProvider,
    SecureRandom, SharedSecret, SupportedKxGroup, WebPkiSupportedAlgorithms, cipher, hash, hmac,
    hpke, tls12, tls13,
};
pub use rustls_core::provider::CryptoProvider;
pub use rustls_core::suites::CipherSuiteCommon;

pub use crate::config::webpki::{
    verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};
#[cfg(feature = "aws_lc_rs")]
pub use crate::providers::aws_lc_rs;
#[cfg(all(feature = "aws_lc_rs", feature = "ring"))]
pub use crate::providers::fastest;
#[cfg(feature = "ring")]
pub use crate::providers::ring;

/// Returns the provider that uses the FIPS 140-3 validated module of aws-lc (feature `fips`).
///
/// It is [`aws_lc_rs::default_provider`], which offers only approved algorithms with that feature.
/// Install it as the default for configurations that do not name a provider:
///
/// ```
/// rustls::crypto::default_fips_provider()
///     .install_default()
///     .expect("a provider was installed before");
/// ```
///
/// [`ClientConfig::fips`](crate::ClientConfig::fips) and
/// [`ServerConfig::fips`](crate::ServerConfig::fips) return true if connections with a
/// configuration run in FIPS-approved mode.
#[cfg(feature = "fips")]
pub fn default_fips_provider() -> CryptoProvider {
    aws_lc_rs::default_provider()
}
