//! A crypto provider for rustls-inplace, based on [aws-lc-rs](aws_lc_rs).
//!
//! `rustls` re-exports this crate as `rustls::crypto::aws_lc_rs`. This file re-exports the public
//! items and lists the suites and groups in order of preference. The lists of suites follow from
//! the table in [`cipher_suite`]. Most other modules implement traits of [`rustls_core`] with
//! aws-lc-rs.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(test),
    warn(clippy::alloc_instead_of_core, clippy::std_instead_of_core)
)]

extern crate alloc;
#[cfg(any(test, feature = "fips"))]
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
#[cfg(feature = "fips")]
mod fips;
mod hash;
#[cfg(any(test, not(feature = "fips")))]
mod hmac;
pub mod hpke;
#[cfg(any(test, feature = "fips"))]
mod key_derivation;
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
    pub use crate::kx::{
        MLKEM768, MLKEM1024, SECP256R1, SECP256R1MLKEM768, SECP384R1, X25519, X25519MLKEM768,
    };
}

/// The default cipher suites, most preferred first.
///
/// These are [`ALL_CIPHER_SUITES`], or with feature `fips`, those that FIPS approves.
pub static DEFAULT_CIPHER_SUITES: &[SupportedCipherSuite] = cipher_suite::DEFAULT;

/// The default key exchange groups, most preferred first.
///
/// X25519MLKEM768 is first with feature `prefer-post-quantum`, otherwise last. With feature `fips`,
/// X25519 is left out, because FIPS does not approve it alone.
pub static DEFAULT_KX_GROUPS: &[&dyn SupportedKxGroup] = &[
    #[cfg(feature = "prefer-post-quantum")]
    kx_group::X25519MLKEM768,
    #[cfg(not(feature = "fips"))]
    kx_group::X25519,
    kx_group::SECP256R1,
    kx_group::SECP384R1,
    #[cfg(not(feature = "prefer-post-quantum"))]
    kx_group::X25519MLKEM768,
];

/// All key exchange groups, most preferred first.
///
/// The hybrid groups are first with feature `prefer-post-quantum`, otherwise after the classical
/// ones.
pub static ALL_KX_GROUPS: &[&dyn SupportedKxGroup] = &[
    #[cfg(feature = "prefer-post-quantum")]
    kx_group::X25519MLKEM768,
    #[cfg(feature = "prefer-post-quantum")]
    kx_group::SECP256R1MLKEM768,
    kx_group::X25519,
    kx_group::SECP256R1,
    kx_group::SECP384R1,
    #[cfg(not(feature = "prefer-post-quantum"))]
    kx_group::X25519MLKEM768,
    #[cfg(not(feature = "prefer-post-quantum"))]
    kx_group::SECP256R1MLKEM768,
    kx_group::MLKEM768,
    kx_group::MLKEM1024,
];

/// All cipher suites, most preferred first.
pub static ALL_CIPHER_SUITES: &[SupportedCipherSuite] = cipher_suite::ALL;

/// True with feature `fips`, which packages other than `rustls` can also enable.
#[doc(hidden)]
pub const IS_FIPS_BUILD: bool = cfg!(feature = "fips");

/// True if aws-lc-rs runs as a FIPS module, which requires feature `fips`.
fn is_fips_module() -> bool {
    cfg!(feature = "fips") && aws_lc_rs::try_fips_mode().is_ok()
}
