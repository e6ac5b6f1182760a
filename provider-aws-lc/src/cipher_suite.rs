//! The cipher suites.

#[cfg(feature = "tls12")]
use rustls_core::blocks::Tls12Suite;
use rustls_core::blocks::{Aes128Gcm, Aes256Gcm, Chacha20Poly1305, Tls13Suite};
use rustls_core::suites::SupportedCipherSuite;

#[cfg(feature = "tls12")]
use self::gcm::Tls12Gcm;
use self::gcm::Tls13Gcm;
use crate::aead::AwsLc;
use crate::hash::{Sha256, Sha384};

/// What protects records and packets in AES-GCM suites.
#[cfg(not(feature = "fips"))]
mod gcm {
    pub(super) use crate::aead::AwsLc as Tls13Gcm;
    #[cfg(feature = "tls12")]
    pub(super) use crate::aead::AwsLc as Tls12Gcm;
}

/// What protects records and packets in AES-GCM suites.
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
#[cfg(feature = "tls12")]
pub static TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: SupportedCipherSuite =
    Tls12Suite::<Tls12Gcm<Aes128Gcm>, Sha256>::ECDHE_ECDSA;

/// TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 (0xC02C).
#[cfg(feature = "tls12")]
pub static TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: SupportedCipherSuite =
    Tls12Suite::<Tls12Gcm<Aes256Gcm>, Sha384>::ECDHE_ECDSA;

/// TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA9).
#[cfg(feature = "tls12")]
pub static TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
    Tls12Suite::<AwsLc<Chacha20Poly1305>, Sha256>::ECDHE_ECDSA;

/// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 (0xC02F).
#[cfg(feature = "tls12")]
pub static TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: SupportedCipherSuite =
    Tls12Suite::<Tls12Gcm<Aes128Gcm>, Sha256>::ECDHE_RSA;

/// TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 (0xC030).
#[cfg(feature = "tls12")]
pub static TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: SupportedCipherSuite =
    Tls12Suite::<Tls12Gcm<Aes256Gcm>, Sha384>::ECDHE_RSA;

/// TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA8).
#[cfg(feature = "tls12")]
pub static TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
    Tls12Suite::<AwsLc<Chacha20Poly1305>, Sha256>::ECDHE_RSA;
