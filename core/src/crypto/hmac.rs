//! HMAC (RFC 2104), implemented by a provider.
//!
//! The TLS 1.2 PRF ([`super::tls12`]) and HKDF ([`super::tls13`]) can be built on it.

use alloc::boxed::Box;

use zeroize::Zeroize;

use super::secret_bytes::SecretBytes;

/// HMAC with one hash function.
pub trait Hmac: Send + Sync {
    /// Prepares `key`, of any length (RFC 2104 §2).
    fn with_key(&self, key: &[u8]) -> Box<dyn Key>;

    /// Returns the length in bytes of the hash function's output, at most [`Tag::MAX_LEN`].
    fn hash_output_len(&self) -> usize;

    /// True if this implementation is FIPS-approved. The default is false.
    fn fips(&self) -> bool {
        false
    }
}

/// HMAC under one key.
pub trait Key: Send + Sync {
    /// Returns the tag over the concatenation of `data`.
    fn sign(&self, data: &[&[u8]]) -> Tag {
        self.sign_concat(&[], data, &[])
    }

    /// Returns the tag over `first`, then all of `middle`, then `last`.
    ///
    /// HKDF-Expand uses this form to avoid gathering the three parts into a list.
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag;

    /// Returns the length in bytes of the tags: the hash function's output length, never 0.
    fn tag_len(&self) -> usize;
}

impl Key for Box<dyn Key> {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        (**self).sign_concat(first, middle, last)
    }

    fn tag_len(&self) -> usize {
        (**self).tag_len()
    }
}

/// An HMAC tag, stored inline. Zeroized on drop, because key derivation uses tags as secrets.
///
/// This type deliberately does not implement equality. Compare tags in constant time, with
/// `subtle::ConstantTimeEq`.
#[derive(Clone)]
pub struct Tag {
    bytes: SecretBytes<{ Self::MAX_LEN }>,
    len: usize,
}

impl Tag {
    /// The maximum length of a tag in bytes: the output length of SHA-512.
    pub const MAX_LEN: usize = 64;

    /// Copies a tag.
    ///
    /// # Panics
    ///
    /// Panics if `bytes` is longer than [`Self::MAX_LEN`].
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        // most tags are of SHA-256: copying a constant length takes no call
        if let Ok(bytes) = <&[u8; 32]>::try_from(bytes) {
            let mut all = [0; Self::MAX_LEN];
            all[..32].copy_from_slice(bytes);
            return Self {
                bytes: SecretBytes(all),
                len: 32,
            };
        }
        Self::written_by(|room| {
            room[..bytes.len()].copy_from_slice(bytes);
            bytes.len()
        })
    }

    /// Creates a tag in place, so the caller needs no copy of it. `write` writes the tag to the
    /// front of its argument and returns its length.
    ///
    /// # Panics
    ///
    /// Panics if `write` returns more than [`Self::MAX_LEN`].
    pub fn written_by(write: impl FnOnce(&mut [u8; Self::MAX_LEN]) -> usize) -> Self {
        let mut tag = Self {
            bytes: SecretBytes::default(),
            len: 0,
        };
        let len = write(&mut tag.bytes.0);
        assert!(len <= Self::MAX_LEN, "a tag of {len} bytes");
        tag.len = len;
        tag
    }

    /// Panics if the tag is empty, for example because a key store failed.
    #[inline]
    pub(super) fn assert_not_empty(&self) {
        assert!(self.len != 0, "an HMAC returned an empty tag");
    }
}

impl AsRef<[u8]> for Tag {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.bytes.0[..self.len]
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_the_length_its_writer_returns() {
        let tag = Tag::written_by(|room| {
            room[..3].copy_from_slice(&[1, 2, 3]);
            3
        });
        assert_eq!(tag.as_ref(), [1, 2, 3]);
    }

    #[test]
    #[should_panic = "a tag of 65 bytes"]
    fn a_tag_longer_than_the_maximum_panics() {
        Tag::written_by(|_| Tag::MAX_LEN + 1);
    }
}
