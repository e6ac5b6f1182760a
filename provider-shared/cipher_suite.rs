//! The cipher suites: three of TLS 1.3 (RFC 9846 §B.4), six of TLS 1.2 (RFC 5289, RFC 7905).

use rustls_core::crypto::KeyExchangeAlgorithm;
use rustls_core::crypto::cipher::Tls12AeadAlgorithm;
use rustls_core::crypto::tls12::{Prf, PrfUsingHmac};
use rustls_core::crypto::tls13::HkdfUsingHmac;
use rustls_core::enums::{CipherSuite, SignatureScheme};
use rustls_core::record::framing::{Tls12Chacha20Framing, Tls12GcmFraming, Tls13Framing};
use rustls_core::suites::{
    CipherSuiteCommon, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite,
};

use super::aead::{Aes128Gcm, Aes256Gcm, Chacha20Poly1305};
use super::hash::{SHA256, SHA384};
use super::hmac::{HMAC_SHA256, HMAC_SHA384};
use super::quic;

/// TLS_AES_128_GCM_SHA256 (0x1301).
pub static TLS13_AES_128_GCM_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls13(&Tls13CipherSuite {
        common: sha256_suite(
            CipherSuite::TLS13_AES_128_GCM_SHA256,
            AES_GCM_CONFIDENTIALITY_LIMIT,
        ),
        hkdf_provider: &HkdfUsingHmac(&HMAC_SHA256),
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
        hkdf_provider: &HkdfUsingHmac(&HMAC_SHA384),
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
        hkdf_provider: &HkdfUsingHmac(&HMAC_SHA256),
        aead_alg: &Tls13Framing::<Chacha20Poly1305>::NEW,
        quic: Some(&quic::CHACHA20_POLY1305),
    });

/// TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (0xC02B).
#[cfg(feature = "tls12")]
pub static TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&ecdhe(
        sha256_suite(
            CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            AES_GCM_CONFIDENTIALITY_LIMIT,
        ),
        ECDSA_SCHEMES,
        &Tls12GcmFraming::<Aes128Gcm>::NEW,
        PRF_SHA256,
    ));

/// TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 (0xC02C).
#[cfg(feature = "tls12")]
pub static TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&ecdhe(
        sha384_suite(
            CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            AES_GCM_CONFIDENTIALITY_LIMIT,
        ),
        ECDSA_SCHEMES,
        &Tls12GcmFraming::<Aes256Gcm>::NEW,
        PRF_SHA384,
    ));

/// TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA9).
#[cfg(feature = "tls12")]
pub static TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&ecdhe(
        sha256_suite(
            CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            NO_CONFIDENTIALITY_LIMIT,
        ),
        ECDSA_SCHEMES,
        &Tls12Chacha20Framing::<Chacha20Poly1305>::NEW,
        PRF_SHA256,
    ));

/// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 (0xC02F).
#[cfg(feature = "tls12")]
pub static TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&ecdhe(
        sha256_suite(
            CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            AES_GCM_CONFIDENTIALITY_LIMIT,
        ),
        RSA_SCHEMES,
        &Tls12GcmFraming::<Aes128Gcm>::NEW,
        PRF_SHA256,
    ));

/// TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 (0xC030).
#[cfg(feature = "tls12")]
pub static TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&ecdhe(
        sha384_suite(
            CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            AES_GCM_CONFIDENTIALITY_LIMIT,
        ),
        RSA_SCHEMES,
        &Tls12GcmFraming::<Aes256Gcm>::NEW,
        PRF_SHA384,
    ));

/// TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA8).
#[cfg(feature = "tls12")]
pub static TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&ecdhe(
        sha256_suite(
            CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            NO_CONFIDENTIALITY_LIMIT,
        ),
        RSA_SCHEMES,
        &Tls12Chacha20Framing::<Chacha20Poly1305>::NEW,
        PRF_SHA256,
    ));

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

#[cfg(feature = "tls12")]
const fn ecdhe(
    common: CipherSuiteCommon,
    sign: &'static [SignatureScheme],
    aead_alg: &'static dyn Tls12AeadAlgorithm,
    prf_provider: &'static dyn Prf,
) -> Tls12CipherSuite {
    Tls12CipherSuite {
        common,
        kx: KeyExchangeAlgorithm::ECDHE,
        sign,
        aead_alg,
        prf_provider,
    }
}

#[cfg(feature = "tls12")]
const PRF_SHA256: &dyn Prf = &PrfUsingHmac(&HMAC_SHA256);

#[cfg(feature = "tls12")]
const PRF_SHA384: &dyn Prf = &PrfUsingHmac(&HMAC_SHA384);

/// RFC 8422 §5.10: EdDSA keys serve in the suites named after ECDSA.
#[cfg(feature = "tls12")]
const ECDSA_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::ED25519,
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP256_SHA256,
];

#[cfg(feature = "tls12")]
const RSA_SCHEMES: &[SignatureScheme] = super::sign::RSA_SCHEMES;
