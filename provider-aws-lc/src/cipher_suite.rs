//! The cipher suites: one table, and the lists that follow from it.

use rustls_core::blocks::{Aes128Gcm, Aes256Gcm, Chacha20Poly1305, Tls12Suite, Tls13Suite};

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

rustls_core::cipher_suites! {
    tls13 {
        /// TLS_AES_256_GCM_SHA384 (0x1302).
        TLS13_AES_256_GCM_SHA384 = Tls13Suite::<Tls13Gcm<Aes256Gcm>, Sha384>::WITH_QUIC;

        /// TLS_AES_128_GCM_SHA256 (0x1301).
        TLS13_AES_128_GCM_SHA256 = Tls13Suite::<Tls13Gcm<Aes128Gcm>, Sha256>::WITH_QUIC;

        /// TLS_CHACHA20_POLY1305_SHA256 (0x1303).
        TLS13_CHACHA20_POLY1305_SHA256 =
            Tls13Suite::<AwsLc<Chacha20Poly1305>, Sha256>::WITH_QUIC, default if not(feature = "fips");
    }

    tls12 {
        /// TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 (0xC02C).
        TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 =
            Tls12Suite::<Tls12Gcm<Aes256Gcm>, Sha384>::ECDHE_ECDSA;

        /// TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (0xC02B).
        TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 =
            Tls12Suite::<Tls12Gcm<Aes128Gcm>, Sha256>::ECDHE_ECDSA;

        /// TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA9).
        TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 =
            Tls12Suite::<AwsLc<Chacha20Poly1305>, Sha256>::ECDHE_ECDSA, default if not(feature = "fips");

        /// TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 (0xC030).
        TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 =
            Tls12Suite::<Tls12Gcm<Aes256Gcm>, Sha384>::ECDHE_RSA;

        /// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 (0xC02F).
        TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 =
            Tls12Suite::<Tls12Gcm<Aes128Gcm>, Sha256>::ECDHE_RSA;

        /// TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA8).
        TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 =
            Tls12Suite::<AwsLc<Chacha20Poly1305>, Sha256>::ECDHE_RSA, default if not(feature = "fips");
    }
}
