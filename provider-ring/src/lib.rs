//! The crypto-provider interface of rustls-inplace over [ring].
//!
//! `rustls` offers this crate as `rustls::crypto::ring`. Here are the public paths and the lists that
//! decide what is offered and in which order. What it is made of: `backend`, which is about ring
//! alone, and `shared`, which the provider over aws-lc-rs shares.

#![no_std]
#![cfg_attr(
    not(test),
    warn(clippy::alloc_instead_of_core, clippy::std_instead_of_core)
)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

use rustls_core::crypto::{SupportedKxGroup, WebPkiSupportedAlgorithms};
use rustls_core::enums::SignatureScheme;
use rustls_core::suites::SupportedCipherSuite;

use self::backend::webpki_algs;
pub use self::shared::provider::{ALL_CIPHER_SUITES, default_provider};
#[cfg(feature = "std")]
pub use self::shared::ticketer::Ticketer;
use self::shared::verify::{
    ED25519, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512,
};
pub use self::shared::{cipher_suite, sign};

mod backend;
// A link to the sources in the other provider; see build.rs.
#[cfg_attr(
    shared_is_no_directory,
    path = "../../provider-aws-lc/src/shared/mod.rs"
)]
mod shared;

/// The key exchange groups.
pub mod kx_group {
    pub use crate::shared::kx::{SECP256R1, SECP384R1, X25519};
}

/// The cipher suites that are offered unless others are chosen: [`ALL_CIPHER_SUITES`].
pub static DEFAULT_CIPHER_SUITES: &[SupportedCipherSuite] = ALL_CIPHER_SUITES;

/// The key exchange groups that are offered unless others are chosen: [`ALL_KX_GROUPS`].
pub static DEFAULT_KX_GROUPS: &[&dyn SupportedKxGroup] = ALL_KX_GROUPS;

/// All key exchange groups, most preferred first.
pub static ALL_KX_GROUPS: &[&dyn SupportedKxGroup] =
    &[kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1];

/// The signature algorithms that can be verified: RSA, ECDSA over P-256 and P-384, Ed25519.
pub static SUPPORTED_SIG_ALGS: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[
        webpki_algs::ECDSA_P256_SHA256,
        webpki_algs::ECDSA_P256_SHA384,
        webpki_algs::ECDSA_P384_SHA256,
        webpki_algs::ECDSA_P384_SHA384,
        webpki_algs::ED25519,
        webpki_algs::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
        webpki_algs::RSA_PSS_2048_8192_SHA384_LEGACY_KEY,
        webpki_algs::RSA_PSS_2048_8192_SHA512_LEGACY_KEY,
        webpki_algs::RSA_PKCS1_2048_8192_SHA256,
        webpki_algs::RSA_PKCS1_2048_8192_SHA384,
        webpki_algs::RSA_PKCS1_2048_8192_SHA512,
        webpki_algs::RSA_PKCS1_2048_8192_SHA256_ABSENT_PARAMS,
        webpki_algs::RSA_PKCS1_2048_8192_SHA384_ABSENT_PARAMS,
        webpki_algs::RSA_PKCS1_2048_8192_SHA512_ABSENT_PARAMS,
    ],
    // First in each ECDSA entry stands the curve that TLS 1.3 binds to the scheme (RFC 9846 §4.3.3).
    mapping: &[
        (
            SignatureScheme::ECDSA_NISTP384_SHA384,
            &[
                webpki_algs::ECDSA_P384_SHA384,
                webpki_algs::ECDSA_P256_SHA384,
            ],
        ),
        (
            SignatureScheme::ECDSA_NISTP256_SHA256,
            &[
                webpki_algs::ECDSA_P256_SHA256,
                webpki_algs::ECDSA_P384_SHA256,
            ],
        ),
        ED25519,
        RSA_PSS_SHA512,
        RSA_PSS_SHA384,
        RSA_PSS_SHA256,
        RSA_PKCS1_SHA512,
        RSA_PKCS1_SHA384,
        RSA_PKCS1_SHA256,
    ],
};
