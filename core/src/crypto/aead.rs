//! The small interface over which `core` builds all bulk encryption.
//!
//! A provider implements [`Aead`] once for each algorithm. TLS 1.2 and TLS 1.3 record framing
//! ([`crate::record::framing`]), QUIC packet protection ([`crate::quic`]) and ticket protection
//! ([`crate::ticketer`]) are written over it once, here in `core`; none of them is the provider's.

use super::cipher::{AeadKey, ConnectionTrafficSecrets, Iv, Nonce};

/// Length in bytes of the authentication tag of every AEAD used here.
///
/// AES-GCM (RFC 5288 §3, RFC 5116 §5.1) and ChaCha20-Poly1305 (RFC 8439 §2.8) share it.
pub const TAG_LEN: usize = 16;

/// An AEAD under one key.
///
/// The output of sealing, with `trailer` a few bytes of plaintext that follow the payload (TLS 1.3
/// puts its inner content type there, RFC 9846 §5.2):
///
/// ```text
///   plain (n bytes) ────┐   ┌── trailer (t bytes)
///                       ▼   ▼
///        ┌──────────────────┬─────────┬──────────────┐
///  out = │ ciphertext, n    │ t bytes │ tag, 16 bytes │   n + t + 16 bytes exactly
///        └──────────────────┴─────────┴──────────────┘
/// ```
///
/// Implementations neither allocate nor copy the payload, beyond what their library forces on them
/// (ring seals in place only: one copy in [`Aead::seal`]).
pub trait Aead: Send + Sync {
    /// Seals `plain ‖ trailer` into `out`.
    ///
    /// `out` is exactly `plain.len() + trailer.len() + TAG_LEN` bytes long; anything else is an error
    /// and leaves `out` as it was.
    fn seal(
        &self,
        nonce: Nonce,
        aad: &[u8],
        plain: &[u8],
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError>;

    /// Seals the plaintext that already lies in `out[..plain_len]`; afterwards `out` holds what
    /// [`Aead::seal`] would have written.
    ///
    /// `out` is exactly `plain_len + trailer.len() + TAG_LEN` bytes long; anything else is an error.
    fn seal_in_place(
        &self,
        nonce: Nonce,
        aad: &[u8],
        plain_len: usize,
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError>;

    /// Seals `in_out` in place and returns the tag apart from it (QUIC, RFC 9001 §5.3).
    fn seal_in_place_separate_tag(
        &self,
        nonce: Nonce,
        aad: &[u8],
        in_out: &mut [u8],
    ) -> Result<[u8; TAG_LEN], AeadError>;

    /// Opens `ciphertext ‖ tag` in place and returns the length of the plaintext, which then lies at
    /// the front of `in_out`.
    ///
    /// On error the content of `in_out` is unspecified and must not be used.
    fn open_in_place(
        &self,
        nonce: Nonce,
        aad: &[u8],
        in_out: &mut [u8],
    ) -> Result<usize, AeadError>;
}

/// Sealing or opening failed: wrong lengths, wrong tag, or more than the AEAD can take.
///
/// It carries no cause on purpose: telling one from another would help an attacker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AeadError;

/// An AEAD algorithm of a provider: how a key of it is made, and which it is.
///
/// [`crate::record::framing`] makes the provider's `Tls13AeadAlgorithm` and `Tls12AeadAlgorithm` from
/// it.
pub trait AeadAlgorithm: Send + Sync + 'static {
    /// A key of this algorithm, ready to seal and open.
    type Key: Aead + 'static;

    /// Which algorithm this is.
    const CIPHER: BulkCipher;

    /// Makes a key of the [`BulkCipher::key_len`] bytes of `key`.
    fn key(key: &AeadKey) -> Self::Key;

    /// True when this is a FIPS-approved implementation.
    fn fips() -> bool {
        false
    }
}

/// The AEADs that TLS 1.3 and the TLS 1.2 suites of this library use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkCipher {
    /// AEAD_AES_128_GCM (RFC 5116 §5.1)
    Aes128Gcm,
    /// AEAD_AES_256_GCM (RFC 5116 §5.2)
    Aes256Gcm,
    /// AEAD_CHACHA20_POLY1305 (RFC 8439 §2.8)
    Chacha20Poly1305,
}

impl BulkCipher {
    /// Length of the key in bytes.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128Gcm => 16,
            Self::Aes256Gcm | Self::Chacha20Poly1305 => 32,
        }
    }

    /// The form in which secret extraction hands out a key and IV of this cipher.
    pub fn traffic_secrets(self, key: AeadKey, iv: Iv) -> ConnectionTrafficSecrets {
        match self {
            Self::Aes128Gcm => ConnectionTrafficSecrets::Aes128Gcm { key, iv },
            Self::Aes256Gcm => ConnectionTrafficSecrets::Aes256Gcm { key, iv },
            Self::Chacha20Poly1305 => ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv },
        }
    }
}
