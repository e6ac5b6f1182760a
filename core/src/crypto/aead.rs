//! The small interface on which `core` builds all bulk encryption.
//!
//! A provider says once for each algorithm how keys of it are made ([`AeadAlgorithm`]), and what they do.
//! A key comes in three kinds, by what it serves:
//!
//! - [`SealingKey`] and [`OpeningKey`]: the records of one direction. They have one owner, so they may
//!   change with each record: a counter of nonces, a cipher context that is kept.
//! - [`Aead`]: many users at once. Packets of QUIC and tickets are sealed behind a shared reference.
//!
//! TLS 1.2 and TLS 1.3 record framing ([`crate::record::framing`]), QUIC packet protection
//! ([`super::quic`]) and ticket protection ([`crate::ticketer`]) are written over these once, here in
//! `core`; none of them is the provider's.

use super::cipher::{AeadKey, ConnectionTrafficSecrets, EncryptError, Iv, Nonce};
use crate::copy::copy;

/// Length in bytes of the authentication tag of every AEAD used here.
///
/// AES-GCM (RFC 5288 §3, RFC 5116 §5.1) and ChaCha20-Poly1305 (RFC 8439 §2.8) share it.
pub const TAG_LEN: usize = 16;

/// The authentication tag of an AEAD.
pub type Tag = [u8; TAG_LEN];

/// What seals the records of one direction.
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
/// Implementations neither allocate nor copy the payload, beyond what their library forces on them:
/// [`InPlace`] is for one that seals in place only.
pub trait SealingKey: Send + Sync {
    /// True when `Ok` from sealing guarantees that all of `out` was written, by the implementation and by the
    /// library under it.
    ///
    /// Otherwise `out` is cleared first: it may be memory that held another connection's plaintext, and bytes
    /// that are not overwritten would be sent.
    const OVERWRITES_OUTPUT: bool = false;

    /// Seals `plain ‖ trailer` into `out`.
    ///
    /// `out` is exactly `plain.len() + trailer.len() + TAG_LEN` bytes long.
    ///
    /// # Errors
    ///
    /// [`AeadError`] when `out` has any other length, and is then as it was; also when the library
    /// refuses.
    fn seal(
        &mut self,
        nonce: Nonce,
        aad: &[u8],
        plain: &[u8],
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError>;

    /// Seals the plaintext that already lies in `out[..plain_len]`; afterwards `out` holds what
    /// [`Self::seal`] would have written.
    ///
    /// `out` is exactly `plain_len + trailer.len() + TAG_LEN` bytes long.
    ///
    /// # Errors
    ///
    /// [`AeadError`] when `out` has any other length, or the library refuses.
    fn seal_in_place(
        &mut self,
        nonce: Nonce,
        aad: &[u8],
        plain_len: usize,
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError>;
}

/// What opens the records of one direction.
pub trait OpeningKey: Send + Sync {
    /// Opens `ciphertext ‖ tag` in place and returns the length of the plaintext, which then lies at
    /// the front of `in_out`.
    ///
    /// # Errors
    ///
    /// [`AeadError`] when it is not authentic, or shorter than a tag. The content of `in_out` is
    /// unspecified then and must not be used.
    fn open(&mut self, nonce: Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, AeadError>;
}

/// An AEAD under one key, for any number of users at once.
pub trait Aead: Send + Sync {
    /// Seals `text` in place and returns the tag apart from it (QUIC, RFC 9001 §5.3).
    ///
    /// # Errors
    ///
    /// [`AeadError`] when the library refuses.
    fn seal_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<Tag, AeadError>;

    /// Opens `ciphertext ‖ tag` in place, as [`OpeningKey::open`] does.
    ///
    /// # Errors
    ///
    /// Those of [`OpeningKey::open`].
    fn open_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<usize, AeadError>;
}

/// Record keys made of an [`Aead`], for libraries that seal in place only: one copy in
/// [`SealingKey::seal`], none anywhere else.
pub struct InPlace<K>(pub K);

impl<K: Aead> SealingKey for InPlace<K> {
    /// `InPlace` itself writes payload, trailer and tag, so the AEAD under it does not matter.
    const OVERWRITES_OUTPUT: bool = true;

    #[inline]
    fn seal(
        &mut self,
        nonce: Nonce,
        aad: &[u8],
        plain: &[u8],
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError> {
        if out.len() != plain.len() + trailer.len() + TAG_LEN {
            return Err(AeadError);
        }
        copy(plain, &mut out[..plain.len()]);
        self.seal_in_place(nonce, aad, plain.len(), trailer, out)
    }

    #[inline]
    fn seal_in_place(
        &mut self,
        nonce: Nonce,
        aad: &[u8],
        plain_len: usize,
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError> {
        let (text, tag) = split_tag(plain_len, trailer, out)?;
        *tag = self.0.seal_in_place(nonce, aad, text)?;
        Ok(())
    }
}

impl<K: Aead> OpeningKey for InPlace<K> {
    #[inline]
    fn open(&mut self, nonce: Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, AeadError> {
        self.0.open_in_place(nonce, aad, in_out)
    }
}

/// Appends `trailer` to the plaintext in `out[..plain_len]`; returns the two as one slice, and the place of
/// the tag.
///
/// For [`SealingKey::seal_in_place`] over a library that seals plaintext and trailer in one piece.
///
/// # Errors
///
/// [`AeadError`] when `out` is not `plain_len + trailer.len() + TAG_LEN` bytes long.
#[inline]
pub fn split_tag<'a>(
    plain_len: usize,
    trailer: &[u8],
    out: &'a mut [u8],
) -> Result<(&'a mut [u8], &'a mut Tag), AeadError> {
    let (text, tag) = out.split_last_chunk_mut().ok_or(AeadError)?;
    if text.len() != plain_len + trailer.len() {
        return Err(AeadError);
    }
    text[plain_len..].copy_from_slice(trailer);
    Ok((text, tag))
}

/// Sealing or opening failed: wrong lengths, wrong tag, or more than the AEAD can take.
///
/// It carries no cause on purpose: telling one from another would help an attacker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AeadError;

impl From<AeadError> for EncryptError {
    fn from(_: AeadError) -> Self {
        Self::Failed
    }
}

/// An AEAD algorithm of a provider: how record keys of it are made, and which it is.
///
/// [`crate::record::framing`] makes the provider's `Tls13AeadAlgorithm` and `Tls12AeadAlgorithm` from
/// it.
pub trait AeadAlgorithm: Send + Sync + 'static {
    /// What seals the records of one direction.
    type SealingKey: SealingKey + 'static;

    /// What opens them.
    type OpeningKey: OpeningKey + 'static;

    /// Which algorithm this is.
    const CIPHER: BulkCipher;

    /// True when a sealing key accepts only growing nonces, as a FIPS-validated module demands.
    ///
    /// Those of TLS 1.3 always grow. For TLS 1.2 AES-GCM the explicit nonces are then the sequence number;
    /// otherwise they start at a random value.
    const NONCES_GROW: bool = false;

    /// Makes a sealing key of the [`BulkCipher::key_len`] bytes of `key`.
    fn sealing_key(key: &AeadKey) -> Self::SealingKey;

    /// Makes an opening key of the [`BulkCipher::key_len`] bytes of `key`.
    fn opening_key(key: &AeadKey) -> Self::OpeningKey;

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

/// A [`BulkCipher`] as a type, so that a provider can write one generic implementation for all its ciphers.
pub trait Cipher: Send + Sync + 'static {
    /// Which cipher it is.
    const CIPHER: BulkCipher;
}

/// [`BulkCipher::Aes128Gcm`].
pub struct Aes128Gcm;

/// [`BulkCipher::Aes256Gcm`].
pub struct Aes256Gcm;

/// [`BulkCipher::Chacha20Poly1305`].
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::toy::ToyAead;

    const NONCE: [u8; 12] = [9; 12];

    fn key() -> InPlace<ToyAead> {
        InPlace(ToyAead(0x5a))
    }

    #[test]
    fn in_place_gives_what_the_aead_gives_for_the_whole_plaintext() {
        let plain = b"plaintext in which any cut may be made";
        for at in 0..=plain.len() {
            let (front, trailer) = plain.split_at(at);
            let mut expected = *plain;
            let aead = ToyAead(0x5a);
            let tag = aead.seal_in_place(Nonce(NONCE), b"aad", &mut expected);
            let expected = [&expected[..], &tag.unwrap()].concat();

            let mut out = alloc::vec![0xee; expected.len()];
            key()
                .seal(Nonce(NONCE), b"aad", front, trailer, &mut out)
                .unwrap();
            assert_eq!(out, expected);

            let mut out = alloc::vec![0xee; expected.len()];
            out[..at].copy_from_slice(front);
            key()
                .seal_in_place(Nonce(NONCE), b"aad", at, trailer, &mut out)
                .unwrap();
            assert_eq!(out, expected);

            let opened = key().open(Nonce(NONCE), b"aad", &mut out);
            assert_eq!(opened, Ok(plain.len()));
            assert_eq!(out[..plain.len()], plain[..]);
        }
    }

    #[test]
    fn outputs_of_wrong_length_are_refused_and_left_alone() {
        let needed = 5 + 1 + TAG_LEN;
        for len in (0..2 * needed).filter(|len| *len != needed) {
            let mut out = alloc::vec![0xee; len];
            let sealed = key().seal(Nonce(NONCE), b"", b"plain", b"t", &mut out);
            assert_eq!(sealed, Err(AeadError), "{len} bytes");
            let sealed = key().seal_in_place(Nonce(NONCE), b"", 5, b"t", &mut out);
            assert_eq!(sealed, Err(AeadError), "{len} bytes");
            assert!(out.iter().all(|byte| *byte == 0xee), "{len} bytes");
        }
        let opened = key().open(Nonce(NONCE), b"", &mut [0; TAG_LEN - 1]);
        assert_eq!(opened, Err(AeadError));
    }
}
