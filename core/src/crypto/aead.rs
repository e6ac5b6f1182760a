//! The AEAD interface on which `core` builds all bulk encryption.
//!
//! For each algorithm, a provider implements the creation of keys ([`AeadAlgorithm`]) and their
//! operations. There are three kinds of keys:
//!
//! - [`SealingKey`] and [`OpeningKey`]: the records of one direction, or HPKE messages. They have
//!   one owner, so they may keep mutable state, such as a nonce counter or a cipher context.
//! - [`Aead`]: QUIC packets and tickets. It is used behind a shared reference, so mutable state
//!   needs a lock.
//!
//! TLS 1.2 and TLS 1.3 record framing ([`crate::record::framing`]), QUIC packet protection
//! ([`super::quic`]) and ticket protection ([`crate::ticketer`]) are implemented on top of these in
//! `core`, not by the provider.

use super::bulk_cipher::BulkCipher;
use super::cipher::{AeadKey, EncryptError, Nonce};
use crate::copy::copy;

/// The tag length in bytes of every AEAD that this library uses.
///
/// It is the same for AES-GCM (RFC 5288 §3, RFC 5116 §5.1) and ChaCha20-Poly1305 (RFC 8439 §2.8).
pub const TAG_LEN: usize = 16;

/// The authentication tag of an AEAD.
pub type Tag = [u8; TAG_LEN];

/// Seals the records sent in one direction.
///
/// The output of sealing is shown below. `trailer` is a few bytes of plaintext after the payload:
/// TLS 1.3 puts its inner content type there (RFC 9846 §5.2).
///
/// ```text
///   plain (n bytes) ────┐   ┌── trailer (t bytes)
///                       ▼   ▼
///        ┌──────────────────┬─────────┬──────────────┐
///  out = │ ciphertext, n    │ t bytes │ tag, 16 bytes │   n + t + 16 bytes exactly
///        └──────────────────┴─────────┴──────────────┘
/// ```
///
/// Implementations do not allocate, and copy the payload only if their library requires it or is
/// faster that way. [`InPlace`] is for libraries that only seal in place.
pub trait SealingKey: Send + Sync {
    /// True if `Ok` from sealing guarantees that the implementation and its library have written
    /// all of `out`.
    ///
    /// If false, `out` is cleared before [`Self::seal`], because it may hold another connection's
    /// plaintext, and bytes that are not overwritten would be sent.
    const OVERWRITES_OUTPUT: bool = false;

    /// Seals `plain ‖ trailer` into `out`.
    ///
    /// `out` is exactly `plain.len() + trailer.len() + TAG_LEN` bytes long.
    ///
    /// # Errors
    ///
    /// Returns [`AeadError`] if `out` has any other length, in which case it stays unchanged, or if
    /// the library fails.
    fn seal(
        &mut self,
        nonce: Nonce,
        aad: &[u8],
        plain: &[u8],
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError>;

    /// Seals the plaintext in `out[..plain_len]`. Afterwards `out` holds the output of
    /// [`Self::seal`].
    ///
    /// `out` is exactly `plain_len + trailer.len() + TAG_LEN` bytes long.
    ///
    /// # Errors
    ///
    /// Returns [`AeadError`] if `out` has any other length, or if the library fails.
    fn seal_in_place(
        &mut self,
        nonce: Nonce,
        aad: &[u8],
        plain_len: usize,
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError>;
}

/// Opens the records received in one direction.
pub trait OpeningKey: Send + Sync {
    /// Opens `ciphertext ‖ tag` in place. Returns the length of the plaintext, which then lies at
    /// the front of `in_out`.
    ///
    /// # Errors
    ///
    /// Returns [`AeadError`] if the input is not authentic or shorter than a tag. The content of
    /// `in_out` is then unspecified and must not be used.
    fn open(&mut self, nonce: Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, AeadError>;

    /// Opens `ciphertext` into `out`, which has the same length, and leaves `ciphertext` unchanged.
    ///
    /// Returns `None` if the library only opens in place, as the default does.
    ///
    /// # Errors
    ///
    /// Returns [`AeadError`] if the input is not authentic. The caller then clears `out`.
    fn open_into(
        &mut self,
        _nonce: Nonce,
        _aad: &[u8],
        _ciphertext: &[u8],
        _tag: &Tag,
        _out: &mut [u8],
    ) -> Option<Result<(), AeadError>> {
        None
    }
}

/// An AEAD under one key, which any number of threads may use at once.
pub trait Aead: Send + Sync {
    /// Seals `text` in place, and returns the tag.
    ///
    /// # Errors
    ///
    /// Returns [`AeadError`] if the library fails.
    fn seal_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<Tag, AeadError>;

    /// Opens `ciphertext ‖ tag` in place, like [`OpeningKey::open`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`OpeningKey::open`].
    fn open_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<usize, AeadError>;
}

/// Record keys over an [`Aead`], for libraries that only seal in place. [`SealingKey::seal`] copies
/// the plaintext once; the other operations do not copy it.
pub struct InPlace<K>(pub K);

impl<K: Aead> SealingKey for InPlace<K> {
    /// True even if the AEAD does not guarantee it, because `InPlace` writes payload, trailer and
    /// tag itself.
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

/// Appends `trailer` to the plaintext in `out[..plain_len]`. Returns both as one slice, and the
/// bytes for the tag.
///
/// Use it in [`SealingKey::seal_in_place`] if the library seals plaintext and trailer as one slice.
///
/// # Errors
///
/// Returns [`AeadError`] if `out` is not `plain_len + trailer.len() + TAG_LEN` bytes long.
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

/// The error from sealing or opening: wrong lengths, a wrong tag, or a failure of the library, for
/// example because an AEAD limit is exceeded.
///
/// It deliberately does not say which, because that would help an attacker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AeadError;

impl From<AeadError> for EncryptError {
    fn from(_: AeadError) -> Self {
        Self::Failed
    }
}

/// A provider's AEAD algorithm: its identity, and the creation of record keys.
///
/// [`crate::record::framing`] implements `Tls13AeadAlgorithm` and `Tls12AeadAlgorithm` with it.
pub trait AeadAlgorithm: Send + Sync + 'static {
    /// The key that seals the records of one direction.
    type SealingKey: SealingKey + 'static;

    /// The key that opens the records of one direction.
    type OpeningKey: OpeningKey + 'static;

    /// The identity of this algorithm.
    const CIPHER: BulkCipher;

    /// True if a sealing key accepts only increasing nonces, as a FIPS-validated module requires.
    ///
    /// This changes nothing in TLS 1.3, whose nonces follow the sequence numbers. If true, TLS 1.2
    /// AES-GCM uses the sequence numbers as explicit nonces; otherwise, explicit nonces start at a
    /// random value.
    const NONCES_GROW: bool = false;

    /// Creates a sealing key from the [`BulkCipher::key_len`] bytes of `key`.
    fn sealing_key(key: &AeadKey) -> Self::SealingKey;

    /// Creates an opening key from the [`BulkCipher::key_len`] bytes of `key`.
    fn opening_key(key: &AeadKey) -> Self::OpeningKey;

    /// True if this implementation is FIPS-approved.
    fn fips() -> bool {
        false
    }
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
    fn sealing_equals_the_aead_over_the_whole_plaintext() {
        let plain = b"plaintext in which any split is possible";
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
    fn outputs_of_the_wrong_length_are_rejected_and_left_unchanged() {
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
