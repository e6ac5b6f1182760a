//! The three AEADs, as `core` wants them.
//!
//! How the library seals is the backend's affair: there the two differ most, and there every copy
//! counts. Record framing, QUIC packets and tickets are built over this in `core`.

use rustls_core::crypto::aead::{Aead, AeadAlgorithm, AeadError, BulkCipher, TAG_LEN};
use rustls_core::crypto::cipher::{AeadKey, Nonce};

use crate::backend::{self, aead};

/// AES-128-GCM.
// With FIPS only tests use it: records have AEADs of their own then.
#[allow(dead_code)]
pub(crate) struct Aes128Gcm;

impl AeadAlgorithm for Aes128Gcm {
    type Key = Key;

    const CIPHER: BulkCipher = BulkCipher::Aes128Gcm;

    fn key(key: &AeadKey) -> Key {
        Key::new(&aead::AES_128_GCM, key)
    }

    fn fips() -> bool {
        backend::fips()
    }
}

/// AES-256-GCM.
pub(crate) struct Aes256Gcm;

impl AeadAlgorithm for Aes256Gcm {
    type Key = Key;

    const CIPHER: BulkCipher = BulkCipher::Aes256Gcm;

    fn key(key: &AeadKey) -> Key {
        Key::new(&aead::AES_256_GCM, key)
    }

    fn fips() -> bool {
        backend::fips()
    }
}

/// ChaCha20-Poly1305, which FIPS does not approve.
pub(crate) struct Chacha20Poly1305;

impl AeadAlgorithm for Chacha20Poly1305 {
    type Key = Key;

    const CIPHER: BulkCipher = BulkCipher::Chacha20Poly1305;

    fn key(key: &AeadKey) -> Key {
        Key::new(&aead::CHACHA20_POLY1305, key)
    }
}

/// A key of any of them.
pub(crate) struct Key(aead::LessSafeKey);

impl Key {
    /// `key` has the length of the algorithm's keys: `core` derives it so.
    fn new(algorithm: &'static aead::Algorithm, key: &AeadKey) -> Self {
        let key = aead::UnboundKey::new(algorithm, key.as_ref())
            .expect("the key is as long as BulkCipher::key_len says");
        Self(aead::LessSafeKey::new(key))
    }
}

impl Aead for Key {
    #[inline]
    fn seal(
        &self,
        nonce: Nonce,
        aad: &[u8],
        plain: &[u8],
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError> {
        backend::seal(&self.0, to_library(nonce), aad, plain, trailer, out)
    }

    #[inline]
    fn seal_in_place(
        &self,
        nonce: Nonce,
        aad: &[u8],
        plain_len: usize,
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError> {
        backend::seal_in_place(&self.0, to_library(nonce), aad, plain_len, trailer, out)
    }

    #[inline]
    fn seal_in_place_separate_tag(
        &self,
        nonce: Nonce,
        aad: &[u8],
        in_out: &mut [u8],
    ) -> Result<[u8; TAG_LEN], AeadError> {
        let tag = self
            .0
            .seal_in_place_separate_tag(to_library(nonce), aead::Aad::from(aad), in_out)
            .map_err(|_| AeadError)?;
        tag.as_ref().try_into().map_err(|_| AeadError)
    }

    #[inline]
    fn open_in_place(
        &self,
        nonce: Nonce,
        aad: &[u8],
        in_out: &mut [u8],
    ) -> Result<usize, AeadError> {
        self.0
            .open_in_place(to_library(nonce), aead::Aad::from(aad), in_out)
            .map(|plain| plain.len())
            .map_err(|_| AeadError)
    }
}

/// The library's own type for `nonce`.
#[inline]
pub(crate) fn to_library(nonce: Nonce) -> aead::Nonce {
    aead::Nonce::assume_unique_for_key(nonce.0)
}

#[cfg(test)]
mod tests;
