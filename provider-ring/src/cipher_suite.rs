//! The cipher suites: one table, and the lists that follow from it.

use rustls_core::blocks::{Aes128Gcm, Aes256Gcm, Chacha20Poly1305, Tls12Suite, Tls13Suite};

use crate::aead::Ring;
use crate::hash::{Sha256, Sha384};

rustls_core::cipher_suites! {
    tls13 {
        /// TLS_AES_256_GCM_SHA384 (0x1302).
        TLS13_AES_256_GCM_SHA384 = Tls13Suite::<Ring<Aes256Gcm>, Sha384>::WITH_QUIC;

        /// TLS_AES_128_GCM_SHA256 (0x1301).
        TLS13_AES_128_GCM_SHA256 = Tls13Suite::<Ring<Aes128Gcm>, Sha256>::WITH_QUIC;

        /// TLS_CHACHA20_POLY1305_SHA256 (0x1303).
        TLS13_CHACHA20_POLY1305_SHA256 =
            Tls13Suite::<Ring<Chacha20Poly1305>, Sha256>::WITH_QUIC;
    }

    tls12 {
        /// TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 (0xC02C).
        TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 =
            Tls12Suite::<Ring<Aes256Gcm>, Sha384>::ECDHE_ECDSA;

        /// TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (0xC02B).
        TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 =
            Tls12Suite::<Ring<Aes128Gcm>, Sha256>::ECDHE_ECDSA;

        /// TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA9).
        TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 =
            Tls12Suite::<Ring<Chacha20Poly1305>, Sha256>::ECDHE_ECDSA;

        /// TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 (0xC030).
        TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 =
            Tls12Suite::<Ring<Aes256Gcm>, Sha384>::ECDHE_RSA;

        /// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 (0xC02F).
        TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 =
            Tls12Suite::<Ring<Aes128Gcm>, Sha256>::ECDHE_RSA;

        /// TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA8).
        TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 =
            Tls12Suite::<Ring<Chacha20Poly1305>, Sha256>::ECDHE_RSA;
    }
}
