//! The cipher suites.

use rustls_core::blocks::{Aes128Gcm, Aes256Gcm, Chacha20Poly1305, Tls12Suite, Tls13Suite};
use rustls_core::suites::SupportedCipherSuite;

use self::gcm::{Tls12Gcm, Tls13Gcm};
use crate::aead::AwsLc;
use crate::hash::{Sha256, Sha384};

/// Record and packet protection for AES-GCM suites.
#[cfg(not(feature = "fips"))]
mod gcm {
    pub(super) use crate::aead::{AwsLc as Tls13Gcm, AwsLc as Tls12Gcm};
}

/// Record and packet protection for AES-GCM suites.
#[cfg(feature = "fips")]
use crate::fips as gcm;

/// TLS_AES_128_GCM_SHA256 (0x1301).
pub static TLS13_AES_128_GCM_SHA256: SupportedCipherSuite =
    Tls13Suite::<Tls13Gcm<Aes128Gcm>, Sha256>::WITH_QUIC;

/// TLS_AES_256_GCM_SHA384 (0x1302).
pub static TLS13_AES_256_GCM_SHA384: SupportedCipherSuite =
    Tls13Suite::<Tls13Gcm<Aes256Gcm>, Sha384>::WITH_QUIC;

/// TLS_CHACHA20_POLY1305_SHA256 (0x1303).
pub static TLS13_CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
    Tls13Suite::<AwsLc<Chacha20Poly1305>, Sha256>::WITH_QUIC;

/// TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (0xC02B).
pub static TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: SupportedCipherSuite =
    Tls12Suite::<Tls12Gcm<Aes128Gcm>, Sha256>::ECDHE_ECDSA;

/// TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 (0xC02C).
pub static TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: SupportedCipherSuite =
    Tls12Suite::<Tls12Gcm<Aes256Gcm>, Sha384>::ECDHE_ECDSA;

/// TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA9).
pub static TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
    Tls12Suite::<AwsLc<Chacha20Poly1305>, Sha256>::ECDHE_ECDSA;

/// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 (0xC02F).
pub static TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: SupportedCipherSuite =
    Tls12Suite::<Tls12Gcm<Aes128Gcm>, Sha256>::ECDHE_RSA;

/// TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 (0xC030).
pub static TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: SupportedCipherSuite =
    Tls12Suite::<Tls12Gcm<Aes256Gcm>, Sha384>::ECDHE_RSA;

/// TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA8).
pub static TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
    Tls12Suite::<AwsLc<Chacha20Poly1305>, Sha256>::ECDHE_RSA;
