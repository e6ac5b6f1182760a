//! The crypto-provider interface of rustls-inplace over [aws-lc-rs](aws_lc_rs).
//!
//! `rustls` offers this crate as `rustls::crypto::aws_lc_rs`. Here are the public paths and the lists
//! that decide what is offered and in which order. What it is made of: `backend` and `kx`, which
//! are about aws-lc-rs alone, and `shared`, which the provider over ring shares.

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
#[cfg(feature = "fips")]
mod fips;
mod kx;
mod shared;

/// The key exchange groups.
pub mod kx_group {
    pub use crate::kx::{MLKEM768, MLKEM1024, SECP256R1MLKEM768, X25519MLKEM768};
    pub use crate::shared::kx::{SECP256R1, SECP384R1, X25519};
}

/// The cipher suites that are offered unless others are chosen, most preferred first.
///
/// These are [`ALL_CIPHER_SUITES`]; with feature `fips`, those that FIPS approves.
#[cfg(not(feature = "fips"))]
pub static DEFAULT_CIPHER_SUITES: &[SupportedCipherSuite] = ALL_CIPHER_SUITES;

/// The cipher suites that are offered unless others are chosen, most preferred first.
///
/// These are the ones of [`ALL_CIPHER_SUITES`] that FIPS approves.
#[cfg(feature = "fips")]
pub static DEFAULT_CIPHER_SUITES: &[SupportedCipherSuite] = &[
    cipher_suite::TLS13_AES_256_GCM_SHA384,
    cipher_suite::TLS13_AES_128_GCM_SHA256,
    #[cfg(feature = "tls12")]
    cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    #[cfg(feature = "tls12")]
    cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    #[cfg(feature = "tls12")]
    cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    #[cfg(feature = "tls12")]
    cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
];

/// The key exchange groups that are offered unless others are chosen, most preferred first.
///
/// X25519MLKEM768 comes first with feature `prefer-post-quantum`, otherwise last. X25519 is left out
/// with feature `fips`, since FIPS does not approve it alone.
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
/// The hybrid ones come first with feature `prefer-post-quantum`, otherwise after the classical ones.
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

/// The signature algorithms that can be verified: RSA, ECDSA over P-256, P-384 and P-521, Ed25519,
/// ML-DSA.
pub static SUPPORTED_SIG_ALGS: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[
        webpki_algs::ECDSA_P256_SHA256,
        webpki_algs::ECDSA_P256_SHA384,
        webpki_algs::ECDSA_P256_SHA512,
        webpki_algs::ECDSA_P384_SHA256,
        webpki_algs::ECDSA_P384_SHA384,
        webpki_algs::ECDSA_P384_SHA512,
        webpki_algs::ECDSA_P521_SHA256,
        webpki_algs::ECDSA_P521_SHA384,
        webpki_algs::ECDSA_P521_SHA512,
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
        webpki_algs::ML_DSA_44,
        webpki_algs::ML_DSA_65,
        webpki_algs::ML_DSA_87,
    ],
    // First in each ECDSA entry stands the curve that TLS 1.3 binds to the scheme (RFC 9846 §4.3.3).
    mapping: &[
        (
            SignatureScheme::ECDSA_NISTP384_SHA384,
            &[
                webpki_algs::ECDSA_P384_SHA384,
                webpki_algs::ECDSA_P256_SHA384,
                webpki_algs::ECDSA_P521_SHA384,
            ],
        ),
        (
            SignatureScheme::ECDSA_NISTP256_SHA256,
            &[
                webpki_algs::ECDSA_P256_SHA256,
                webpki_algs::ECDSA_P384_SHA256,
                webpki_algs::ECDSA_P521_SHA256,
            ],
        ),
        (
            SignatureScheme::ECDSA_NISTP521_SHA512,
            &[
                webpki_algs::ECDSA_P521_SHA512,
                webpki_algs::ECDSA_P384_SHA512,
                webpki_algs::ECDSA_P256_SHA512,
            ],
        ),
        ED25519,
        RSA_PSS_SHA512,
        RSA_PSS_SHA384,
        RSA_PSS_SHA256,
        RSA_PKCS1_SHA512,
        RSA_PKCS1_SHA384,
        RSA_PKCS1_SHA256,
        (SignatureScheme::ML_DSA_44, &[webpki_algs::ML_DSA_44]),
        (SignatureScheme::ML_DSA_65, &[webpki_algs::ML_DSA_65]),
        (SignatureScheme::ML_DSA_87, &[webpki_algs::ML_DSA_87]),
    ],
};
