//! This provider without TLS 1.2. `rustls` re-exports these items under the usual names if its
//! feature `tls12` is disabled.
//!
//! Nothing here refers to a TLS 1.2 suite, so the linker drops the code for those suites. A feature
//! of this crate could do the same, but `rustls` would have to enable it as a weak dependency
//! feature, which would add this crate to every program's lockfile.

use rustls_core::provider::CryptoProvider;
use rustls_core::suites::SupportedCipherSuite;

/// The TLS 1.3 cipher suites, one static for each.
pub mod cipher_suite {
    pub use crate::cipher_suite::tls13_only::*;
}

/// Returns a provider with [`DEFAULT_CIPHER_SUITES`]. The rest is as in
/// [`crate::default_provider`].
pub fn default_provider() -> CryptoProvider {
    crate::provider_of(DEFAULT_CIPHER_SUITES)
}

/// The default cipher suites: [`ALL_CIPHER_SUITES`].
pub static DEFAULT_CIPHER_SUITES: &[SupportedCipherSuite] = cipher_suite::DEFAULT;

/// All cipher suites, most preferred first.
pub static ALL_CIPHER_SUITES: &[SupportedCipherSuite] = cipher_suite::ALL;
