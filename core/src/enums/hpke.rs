//! The algorithms of HPKE (RFC 9180), which Encrypted Client Hello uses.

use super::wire_enum;

wire_enum! {
    /// HPKE key encapsulation mechanisms: RFC 9180 §7.1.
    #[allow(non_camel_case_types)] // RFC 9180's spelling, without its punctuation
    pub enum HpkeKem(u16) {
        /// DHKEM(P-256, HKDF-SHA256).
        DHKEM_P256_HKDF_SHA256 = 0x0010,
        /// DHKEM(P-384, HKDF-SHA384).
        DHKEM_P384_HKDF_SHA384 = 0x0011,
        /// DHKEM(P-521, HKDF-SHA512).
        DHKEM_P521_HKDF_SHA512 = 0x0012,
        /// DHKEM(X25519, HKDF-SHA256).
        DHKEM_X25519_HKDF_SHA256 = 0x0020,
        /// DHKEM(X448, HKDF-SHA512).
        DHKEM_X448_HKDF_SHA512 = 0x0021,
    }
}

wire_enum! {
    /// HPKE key derivation functions: RFC 9180 §7.2.
    #[allow(non_camel_case_types)] // RFC 9180's spelling
    #[derive(Default)]
    pub enum HpkeKdf(u16) {
        /// HKDF-SHA256.
        #[default]
        HKDF_SHA256 = 0x0001,
        /// HKDF-SHA384.
        HKDF_SHA384 = 0x0002,
        /// HKDF-SHA512.
        HKDF_SHA512 = 0x0003,
    }
}

wire_enum! {
    /// HPKE authenticated encryption algorithms: RFC 9180 §7.3.
    #[allow(non_camel_case_types)] // RFC 9180's spelling
    #[derive(Default)]
    pub enum HpkeAead(u16) {
        /// AES-128-GCM.
        #[default]
        AES_128_GCM = 0x0001,
        /// AES-256-GCM.
        AES_256_GCM = 0x0002,
        /// ChaCha20Poly1305.
        CHACHA20_POLY_1305 = 0x0003,
        /// Export-only: nothing can be sealed with it.
        EXPORT_ONLY = 0xffff,
    }
}

impl HpkeAead {
    /// Returns the length of the tag in bytes; `None` if the algorithm cannot seal or is unknown.
    pub fn tag_len(&self) -> Option<usize> {
        // RFC 9180 §7.3: Nt
        match self {
            Self::AES_128_GCM | Self::AES_256_GCM | Self::CHACHA20_POLY_1305 => Some(16),
            Self::EXPORT_ONLY | Self::Unknown(_) => None,
        }
    }
}
