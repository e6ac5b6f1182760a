//! HMAC (RFC 2104), as a provider offers it.
//!
//! The TLS 1.2 PRF ([`super::tls12`]) and HKDF ([`super::tls13`]) are built on it.

use alloc::boxed::Box;

use zeroize::Zeroize;

use super::secret_bytes::SecretBytes;

/// HMAC with one hash function.
pub trait Hmac: Send + Sync {
    /// Prepares `key` for use. It may have any length (RFC 2104 §2).
    fn with_key(&self, key: &[u8]) -> Box<dyn Key>;

    /// Length in bytes of the hash function's output, at most [`Tag::MAX_LEN`].
    fn hash_output_len(&self) -> usize;

    /// True when this implementation is FIPS-approved. False unless overridden.
    fn fips(&self) -> bool {
        false
    }
}

/// HMAC under one key.
pub trait Key: Send + Sync {
    /// The tag over the concatenation of `data`.
    fn sign(&self, data: &[&[u8]]) -> Tag {
        self.sign_concat(&[], data, &[])
    }

    /// The tag over `first`, then all of `middle`, then `last`.
    ///
    /// HKDF-Expand needs this form: it saves gathering the three into a list.
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag;

    /// Length in bytes of the tags: the hash function's output length, never 0.
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

/// An HMAC tag, kept without allocation. Zeroized on drop, since key derivation uses tags as secrets.
///
/// It has no equality on purpose. Compare tags in constant time, with `subtle::ConstantTimeEq`.
#[derive(Clone)]
pub struct Tag {
    bytes: SecretBytes<{ Self::MAX_LEN }>,
    len: usize,
}

impl Tag {
    /// Length in bytes of the longest tag: that of HMAC-SHA-512.
    pub const MAX_LEN: usize = 64;

    /// Copies a tag.
    ///
    /// # Panics
    ///
    /// If `bytes` is longer than [`Self::MAX_LEN`].
    pub fn new(bytes: &[u8]) -> Self {
        let mut tag = Self {
            bytes: SecretBytes::default(),
            len: bytes.len(),
        };
        tag.bytes.0[..bytes.len()].copy_from_slice(bytes);
        tag
    }

    /// A tag that is made where it is kept, so that no copy of it is left: `write` puts it at the front of the
    /// bytes it is given, and returns its length.
    ///
    /// # Panics
    ///
    /// If `write` returns more than [`Self::MAX_LEN`].
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
    fn a_tag_written_in_place_has_the_length_written() {
        let tag = Tag::written_by(|room| {
            room[..3].copy_from_slice(&[1, 2, 3]);
            3
        });
        assert_eq!(tag.as_ref(), [1, 2, 3]);
    }

    #[test]
    #[should_panic = "a tag of 65 bytes"]
    fn no_tag_is_longer_than_the_longest() {
        Tag::written_by(|_| Tag::MAX_LEN + 1);
    }
}
