//! A crypto provider for rustls-inplace, based on [ring].
//!
//! `rustls` re-exports this crate as `rustls::crypto::ring`. This file re-exports the public items
//! and lists the suites and groups in order of preference. The lists of suites follow from the
//! table in [`cipher_suite`]. Most other modules implement traits of [`rustls_core`] with ring.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(test),
    warn(clippy::alloc_instead_of_core, clippy::std_instead_of_core)
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

use rustls_core::blocks::KeyLoader;
use rustls_core::crypto::SupportedKxGroup;
use rustls_core::provider::CryptoProvider;
use rustls_core::suites::SupportedCipherSuite;

#[doc(hidden)]
pub use self::random::Random;
#[allow(unreachable_pub, unused_imports)]
// empty without core's feature `std`
pub use self::ticketer::*;
pub use self::verify::SUPPORTED_SIG_ALGS;

mod aead;
pub mod cipher_suite;
mod hash;
mod kx;
mod random;
pub mod sign;
#[cfg(test)]
mod tests;
mod ticketer;
#[doc(hidden)]
pub mod tls13_only;
mod verify;

/// Returns a provider with [`DEFAULT_CIPHER_SUITES`], [`DEFAULT_KX_GROUPS`], and this crate's
/// signature verification, randomness and loading of private keys.
pub fn default_provider() -> CryptoProvider {
    provider_of(DEFAULT_CIPHER_SUITES)
}

fn provider_of(cipher_suites: &[SupportedCipherSuite]) -> CryptoProvider {
    CryptoProvider {
        cipher_suites: cipher_suites.to_vec(),
        kx_groups: DEFAULT_KX_GROUPS.to_vec(),
        signature_verification_algorithms: SUPPORTED_SIG_ALGS,
        secure_random: &Random,
        key_provider: &KeyLoader::<sign::KeyPair>::NEW,
    }
}

/// The key exchange groups, one static for each.
pub mod kx_group {
    pub use crate::kx::{SECP256R1, SECP384R1, X25519};
}

/// The default cipher suites: [`ALL_CIPHER_SUITES`].
pub static DEFAULT_CIPHER_SUITES: &[SupportedCipherSuite] = cipher_suite::DEFAULT;

/// The default key exchange groups: [`ALL_KX_GROUPS`].
pub static DEFAULT_KX_GROUPS: &[&dyn SupportedKxGroup] = ALL_KX_GROUPS;

/// All key exchange groups, most preferred first.
pub static ALL_KX_GROUPS: &[&dyn SupportedKxGroup] =
    &[kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1];

/// All cipher suites, most preferred first.
pub static ALL_CIPHER_SUITES: &[SupportedCipherSuite] = cipher_suite::ALL;
