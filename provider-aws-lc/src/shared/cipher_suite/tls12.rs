//! The cipher suites of TLS 1.2: AES-GCM (RFC 5289) and ChaCha20-Poly1305 (RFC 7905), with an
//! ephemeral key exchange.

use rustls_core::crypto::KeyExchangeAlgorithm;
use rustls_core::crypto::cipher::Tls12AeadAlgorithm;
use rustls_core::crypto::tls12::{Prf, PrfUsingHmac};
use rustls_core::enums::{CipherSuite, SignatureScheme};
use rustls_core::record::framing::Tls12Chacha20Framing;
use rustls_core::suites::{CipherSuiteCommon, SupportedCipherSuite, Tls12CipherSuite};

use super::{AES_GCM_CONFIDENTIALITY_LIMIT, NO_CONFIDENTIALITY_LIMIT, sha256_suite, sha384_suite};
use crate::backend::records::tls12::{Aes128Gcm, Aes256Gcm, GcmFraming};
use crate::shared::aead::Chacha20Poly1305;
use crate::shared::hmac::{HMAC_SHA256, HMAC_SHA384};
use crate::shared::sign::rsa;

/// TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (0xC02B).
pub static TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&ecdhe(
        sha256_suite(
            CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            AES_GCM_CONFIDENTIALITY_LIMIT,
        ),
        ECDSA_SCHEMES,
        &GcmFraming::<Aes128Gcm>::NEW,
        PRF_SHA256,
    ));

/// TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 (0xC02C).
pub static TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&ecdhe(
        sha384_suite(
            CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            AES_GCM_CONFIDENTIALITY_LIMIT,
        ),
        ECDSA_SCHEMES,
        &GcmFraming::<Aes256Gcm>::NEW,
        PRF_SHA384,
    ));

/// TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA9).
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
pub static TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&ecdhe(
        sha256_suite(
            CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            AES_GCM_CONFIDENTIALITY_LIMIT,
        ),
        rsa::SCHEMES,
        &GcmFraming::<Aes128Gcm>::NEW,
        PRF_SHA256,
    ));

/// TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 (0xC030).
pub static TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&ecdhe(
        sha384_suite(
            CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            AES_GCM_CONFIDENTIALITY_LIMIT,
        ),
        rsa::SCHEMES,
        &GcmFraming::<Aes256Gcm>::NEW,
        PRF_SHA384,
    ));

/// TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA8).
pub static TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: SupportedCipherSuite =
    SupportedCipherSuite::Tls12(&ecdhe(
        sha256_suite(
            CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            NO_CONFIDENTIALITY_LIMIT,
        ),
        rsa::SCHEMES,
        &Tls12Chacha20Framing::<Chacha20Poly1305>::NEW,
        PRF_SHA256,
    ));

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

const PRF_SHA256: &dyn Prf = &PrfUsingHmac(&HMAC_SHA256);

const PRF_SHA384: &dyn Prf = &PrfUsingHmac(&HMAC_SHA384);

/// RFC 8422 §5.10: EdDSA keys serve in the suites named after ECDSA.
const ECDSA_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::ED25519,
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP256_SHA256,
];
