//! This provider without TLS 1.2: what `rustls` offers in the place of the items of the same names if it has no feature
//! `tls12`.
//!
//! Nothing here names a suite of TLS 1.2, so no linker keeps their code. A feature of this crate would do the same. But
//! the feature of `rustls` would have to name it weakly, which puts this crate into every program's lockfile.

use rustls_core::provider::CryptoProvider;
use rustls_core::suites::SupportedCipherSuite;

/// The cipher suites.
pub mod cipher_suite {
    pub use crate::cipher_suite::{
        TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
    };
}

/// A provider of [`DEFAULT_CIPHER_SUITES`] and all else that [the other one](crate::default_provider) has.
pub fn default_provider() -> CryptoProvider {
    crate::provider_of(DEFAULT_CIPHER_SUITES)
}

/// The cipher suites that are offered unless others are chosen, most preferred first.
///
/// These are [`ALL_CIPHER_SUITES`]; with feature `fips`, those that FIPS approves.
pub static DEFAULT_CIPHER_SUITES: &[SupportedCipherSuite] = &[
    cipher_suite::TLS13_AES_256_GCM_SHA384,
    cipher_suite::TLS13_AES_128_GCM_SHA256,
    #[cfg(not(feature = "fips"))]
    cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
];

/// All cipher suites, most preferred first.
pub static ALL_CIPHER_SUITES: &[SupportedCipherSuite] = &[
    cipher_suite::TLS13_AES_256_GCM_SHA384,
    cipher_suite::TLS13_AES_128_GCM_SHA256,
    cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
];
