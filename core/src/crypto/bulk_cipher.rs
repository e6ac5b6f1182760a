//! The bulk ciphers: the AEADs of this library's cipher suites.
//!
//! `BulkCipher::properties` is the table of their properties. Cipher suites, record framing, QUIC
//! and HPKE take their lengths, limits and code points from it.

use super::cipher::{AeadKey, ConnectionTrafficSecrets, Iv};
use crate::enums::{CipherSuite, HashAlgorithm, HpkeAead};

/// The AEADs of this library's cipher suites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BulkCipher {
    /// AEAD_AES_128_GCM (RFC 5116 §5.1).
    Aes128Gcm,
    /// AEAD_AES_256_GCM (RFC 5116 §5.2).
    Aes256Gcm,
    /// AEAD_CHACHA20_POLY1305 (RFC 8439 §2.8).
    Chacha20Poly1305,
}

/// A [`BulkCipher`] as a type. This lets one generic implementation serve all of a provider's
/// ciphers.
pub trait Cipher: Send + Sync + 'static {
    /// The cipher that this type stands for.
    const CIPHER: BulkCipher;
}

/// [`BulkCipher::Aes128Gcm`] as a type.
pub struct Aes128Gcm;

/// [`BulkCipher::Aes256Gcm`] as a type.
pub struct Aes256Gcm;

/// [`BulkCipher::Chacha20Poly1305`] as a type.
pub struct Chacha20Poly1305;

impl Cipher for Aes128Gcm {
    const CIPHER: BulkCipher = BulkCipher::Aes128Gcm;
}

impl Cipher for Aes256Gcm {
    const CIPHER: BulkCipher = BulkCipher::Aes256Gcm;
}

impl Cipher for Chacha20Poly1305 {
    const CIPHER: BulkCipher = BulkCipher::Chacha20Poly1305;
}

impl BulkCipher {
    /// Returns the length of the key in bytes.
    pub const fn key_len(self) -> usize {
        self.properties().key_len
    }

    /// True if NIST approves the algorithm (SP 800-38D). If not, even an implementation in a
    /// validated module is not FIPS-approved.
    pub const fn is_nist_approved(self) -> bool {
        self.properties().is_nist_approved
    }

    /// Returns a key and an IV of this cipher in the form that secret extraction uses.
    pub fn traffic_secrets(self, key: AeadKey, iv: Iv) -> ConnectionTrafficSecrets {
        (self.properties().traffic_secrets)(key, iv)
    }

    /// Returns this cipher's row in the table of all ciphers.
    pub(crate) const fn properties(self) -> Properties {
        match self {
            Self::Aes128Gcm => Properties {
                key_len: 16,
                hash: HashAlgorithm::SHA256,
                tls13: CipherSuite::TLS13_AES_128_GCM_SHA256,
                tls12: Some(Tls12Properties {
                    ecdhe_ecdsa: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                    ecdhe_rsa: CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
                    nonce: Tls12Nonce::PartlyExplicit,
                }),
                limits: Limits::AES_GCM,
                hpke: Some(HpkeAead::AES_128_GCM),
                traffic_secrets: |key, iv| ConnectionTrafficSecrets::Aes128Gcm { key, iv },
                is_nist_approved: true,
            },
            Self::Aes256Gcm => Properties {
                key_len: 32,
                hash: HashAlgorithm::SHA384,
                tls13: CipherSuite::TLS13_AES_256_GCM_SHA384,
                tls12: Some(Tls12Properties {
                    ecdhe_ecdsa: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
                    ecdhe_rsa: CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
                    nonce: Tls12Nonce::PartlyExplicit,
                }),
                limits: Limits::AES_GCM,
                hpke: Some(HpkeAead::AES_256_GCM),
                traffic_secrets: |key, iv| ConnectionTrafficSecrets::Aes256Gcm { key, iv },
                is_nist_approved: true,
            },
            Self::Chacha20Poly1305 => Properties {
                key_len: 32,
                hash: HashAlgorithm::SHA256,
                tls13: CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
                tls12: Some(Tls12Properties {
                    ecdhe_ecdsa: CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
                    ecdhe_rsa: CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
                    nonce: Tls12Nonce::Implicit,
                }),
                limits: Limits::CHACHA20_POLY1305,
                hpke: Some(HpkeAead::CHACHA20_POLY_1305),
                traffic_secrets: |key, iv| ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv },
                is_nist_approved: false,
            },
        }
    }
}

/// The properties of a [`BulkCipher`]. All have a nonce of 12 bytes and a tag of
/// [`TAG_LEN`](super::aead::TAG_LEN) bytes.
pub(crate) struct Properties {
    /// The length of the key in bytes.
    pub(crate) key_len: usize,
    /// The hash function of the suites that use this cipher.
    pub(crate) hash: HashAlgorithm,
    /// The TLS 1.3 cipher suite (RFC 9846 §B.4).
    pub(crate) tls13: CipherSuite,
    /// The properties for TLS 1.2; `None` if the cipher is for TLS 1.3 only.
    pub(crate) tls12: Option<Tls12Properties>,
    pub(crate) limits: Limits,
    /// The HPKE code point (RFC 9180 §7.3), if there is one.
    pub(crate) hpke: Option<HpkeAead>,
    /// Creates the cipher's variant of [`ConnectionTrafficSecrets`].
    traffic_secrets: fn(AeadKey, Iv) -> ConnectionTrafficSecrets,
    is_nist_approved: bool,
}

/// The properties of a [`BulkCipher`] in TLS 1.2.
pub(crate) struct Tls12Properties {
    /// The suite for servers that sign with ECDSA or EdDSA.
    pub(crate) ecdhe_ecdsa: CipherSuite,
    /// The suite for servers that sign with RSA.
    pub(crate) ecdhe_rsa: CipherSuite,
    pub(crate) nonce: Tls12Nonce,
}

/// The construction of the nonce in TLS 1.2.
pub(crate) enum Tls12Nonce {
    /// 4 bytes from the key block, then 8 bytes that each record carries (RFC 5288 §3).
    PartlyExplicit,
    /// 12 bytes from the key block, XORed with the sequence number (RFC 7905 §2).
    Implicit,
}

/// The usage limits of a [`BulkCipher`].
pub(crate) struct Limits {
    /// The number of records that the key may encrypt (RFC 9846 §5.5).
    pub(crate) records: u64,
    /// The number of QUIC packets that the key may encrypt (RFC 9001 §6.6).
    pub(crate) packets: u64,
    /// The number of QUIC packets that may fail to authenticate, over all keys of a connection
    /// (RFC 9001 §6.6).
    pub(crate) forged_packets: u64,
}

impl Limits {
    const AES_GCM: Self = Self {
        // up to 2^24.5 full-size records
        records: 1 << 24,
        packets: 1 << 23,
        forged_packets: 1 << 52,
    };

    /// Encryption has no limit: sequence numbers and packet numbers (2^62) run out first.
    const CHACHA20_POLY1305: Self = Self {
        records: u64::MAX,
        packets: u64::MAX,
        forged_packets: 1 << 36,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extracted_secrets_name_their_cipher() {
        let key = || AeadKey::new(&[9; 32]);
        for (cipher, key_len) in [
            (BulkCipher::Aes128Gcm, 16),
            (BulkCipher::Aes256Gcm, 32),
            (BulkCipher::Chacha20Poly1305, 32),
        ] {
            let found = match cipher.traffic_secrets(key(), Iv::new([1; 12])) {
                ConnectionTrafficSecrets::Aes128Gcm { .. } => BulkCipher::Aes128Gcm,
                ConnectionTrafficSecrets::Aes256Gcm { .. } => BulkCipher::Aes256Gcm,
                ConnectionTrafficSecrets::Chacha20Poly1305 { .. } => BulkCipher::Chacha20Poly1305,
            };
            assert_eq!((found, cipher.key_len()), (cipher, key_len));
        }
    }
}
