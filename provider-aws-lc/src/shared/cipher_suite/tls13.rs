//! The cipher suites of TLS 1.3 (RFC 9846 §B.4).

use rustls_core::enums::CipherSuite;
use rustls_core::record::framing::Tls13Framing;
use rustls_core::suites::{SupportedCipherSuite, Tls13CipherSuite};

use super::{AES_GCM_CONFIDENTIALITY_LIMIT, NO_CONFIDENTIALITY_LIMIT, sha256_suite, sha384_suite};
use crate::backend::records::tls13::{Aes128Gcm, Aes256Gcm};
use crate::shared::aead::Chacha20Poly1305;
use crate::shared::hmac::{HMAC_SHA256, HMAC_SHA384};
use crate::shared::quic;

/// TLS_AES_128_GCM_SHA256 (0x1301).
pub static TLS13_AES_128_GCM_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls13(&Tls13CipherSuite {
        common: sha256_suite(
            CipherSuite::TLS13_AES_128_GCM_SHA256,
            AES_GCM_CONFIDENTIALITY_LIMIT,
        ),
        hkdf_provider: &HMAC_SHA256,
        aead_alg: &Tls13Framing::<Aes128Gcm>::NEW,
        quic: Some(&quic::AES_128_GCM),
    });

/// TLS_AES_256_GCM_SHA384 (0x1302).
pub static TLS13_AES_256_GCM_SHA384: SupportedCipherSuite =
    SupportedCipherSuite::Tls13(&Tls13CipherSuite {
        common: sha384_suite(
            CipherSuite::TLS13_AES_256_GCM_SHA384,
            AES_GCM_CONFIDENTIALITY_LIMIT,
        ),
        hkdf_provider: &HMAC_SHA384,
        aead_alg: &Tls13Framing::<Aes256Gcm>::NEW,
        quic: Some(&quic::AES_256_GCM),
    });

/// TLS_CHACHA20_POLY1305_SHA256 (0x1303).
pub static TLS13_CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls13(&Tls13CipherSuite {
        common: sha256_suite(
            CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
            NO_CONFIDENTIALITY_LIMIT,
        ),
        hkdf_provider: &HMAC_SHA256,
        aead_alg: &Tls13Framing::<Chacha20Poly1305>::NEW,
        quic: Some(&quic::CHACHA20_POLY1305),
    });
