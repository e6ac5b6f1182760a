//! The cipher suites.

use rustls_core::enums::CipherSuite;
use rustls_core::suites::CipherSuiteCommon;

#[cfg(feature = "tls12")]
pub use self::tls12::{
    TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
};
pub use self::tls13::{
    TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
};
use super::hash::{SHA256, SHA384};

#[cfg(feature = "tls12")]
mod tls12;
mod tls13;

/// RFC 9846 §5.5: up to 2^24.5 full-size records under one key.
const AES_GCM_CONFIDENTIALITY_LIMIT: u64 = 1 << 24;

/// RFC 9846 §5.5: for ChaCha20-Poly1305 the sequence number ends before the AEAD wears out.
const NO_CONFIDENTIALITY_LIMIT: u64 = u64::MAX;

const fn sha256_suite(suite: CipherSuite, confidentiality_limit: u64) -> CipherSuiteCommon {
    CipherSuiteCommon {
        suite,
        hash_provider: &SHA256,
        confidentiality_limit,
    }
}

const fn sha384_suite(suite: CipherSuite, confidentiality_limit: u64) -> CipherSuiteCommon {
    CipherSuiteCommon {
        suite,
        hash_provider: &SHA384,
        confidentiality_limit,
    }
}
