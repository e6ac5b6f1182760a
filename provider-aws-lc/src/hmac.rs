//! HMAC (RFC 2104) over the library's hash functions.
//!
//! The library's own HMAC copies a context of 700 bytes for each message. Only that HMAC is
//! approved in the FIPS module (see `key_derivation`). Otherwise, each hash function uses the key
//! that is faster on average: a key schedule usually signs one or two messages with each key. The
//! times are nanoseconds on a Xeon with AVX-512 and the SHA extensions, for messages of 54 bytes,
//! in one run:
//!
//! | | SHA-256: key and 1 message | each more | SHA-384: key and 1 message | each more |
//! |---|---|---|---|---|
//! | the library's key | 316 | 176 | 890 | 490 |
//! | [`UnpreparedKey`]; for SHA-384, a prototype | 195 | 185 | 732 | 720 |
//! | [`PreparedKey`] | 270 | 150 | 800 | 415 |
//!
//! In a TLS 1.2 handshake with AES-GCM, the PRF signs eight messages with the master secret. With
//! SHA-256, [`HalfPreparedKey`] takes 1300 ns for them, and both other keys take 1430.

use core::hint::black_box;

use aws_lc_rs::digest;
use rustls_core::crypto::hmac::{Key, Tag};
use rustls_core::crypto::with_erased_stack;

const IPAD: u8 = 0x36;
const OPAD: u8 = 0x5c;

/// The maximum block length of the hash functions, in bytes. Their outputs are never longer.
const MAX_BLOCK_LEN: usize = digest::MAX_BLOCK_LEN;

/// Overwrites a buffer that contains a padded key, which is as secret as the key.
#[inline]
fn erase(buffer: &mut [u8]) {
    buffer.fill(0);
    // the compiler cannot know that nothing reads these bytes; `zeroize` writes single bytes
    black_box(buffer);
}

/// Calls `f` with the key, or with its hash if the key is longer than a block (RFC 2104 §2).
#[inline]
fn with_k0<T>(hash: &'static digest::Algorithm, key: &[u8], f: impl FnOnce(&[u8]) -> T) -> T {
    if key.len() <= hash.block_len() {
        f(key)
    } else {
        with_hash(hash, key, f)
    }
}

/// Calls `f` with the hash of a long key. Then erases the hash, which is as secret as the key.
#[cold]
fn with_hash<T>(hash: &'static digest::Algorithm, key: &[u8], f: impl FnOnce(&[u8]) -> T) -> T {
    let mut k0 = [0; MAX_BLOCK_LEN];
    let k0 = &mut k0[..hash.output_len()];
    // the library's type does not erase itself
    with_erased_stack(|| k0.copy_from_slice(digest::digest(hash, key).as_ref()));
    let result = f(k0);
    erase(k0);
    result
}

/// A key for SHA-256, followed by zeros to the length of a block. Erased on drop.
struct Block([u8; Self::LEN]);

impl Block {
    const LEN: usize = 64;

    #[inline]
    fn new(k0: &[u8]) -> Self {
        let mut block = Self([0; Self::LEN]);
        block.0[..k0.len()].copy_from_slice(k0);
        block
    }

    /// Fills the front of `out` with the block XORed with `pad`.
    #[inline]
    fn copy_to(&self, out: &mut [u8], pad: u8) {
        for (out, byte) in out[..Self::LEN].iter_mut().zip(&self.0) {
            *out = byte ^ pad;
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        erase(&mut self.0);
    }
}

/// A key for SHA-256 that is not hashed in advance. A message of up to [`Self::ROOM`] bytes takes
/// two calls to the library's hash function, which need no context.
pub(crate) struct UnpreparedKey(Block);

impl UnpreparedKey {
    /// The maximum length in bytes of a message that is copied after the key's block, and hashed in
    /// one call.
    const ROOM: usize = 192;

    /// The number of message bytes to erase. The longest secret messages in a handshake with this
    /// provider's groups are shared secrets of 64 bytes, from which HKDF extracts a key.
    const SECRET_LEN: usize = 80;

    #[inline]
    pub(crate) fn new(key: &[u8]) -> Self {
        with_k0(&digest::SHA256, key, |k0| Self(Block::new(k0)))
    }

    /// Returns the hash of the key's block followed by the message.
    #[inline]
    fn inner(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> digest::Digest {
        let mut input = [0; Block::LEN + Self::ROOM];
        self.0.copy_to(&mut input, IPAD);
        let mut end = Block::LEN;
        let fits = pieces(first, middle, last).all(|piece| {
            let room = input.get_mut(end..end + piece.len());
            end += piece.len();
            room.map(|room| room.copy_from_slice(piece)).is_some()
        });
        let hash = if fits {
            digest::digest(&digest::SHA256, &input[..end])
        } else {
            self.inner_of_long(first, middle, last)
        };
        erase(&mut input[..Block::LEN + Self::SECRET_LEN]);
        hash
    }

    #[cold]
    fn inner_of_long(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> digest::Digest {
        let mut block = [0; Block::LEN];
        self.0.copy_to(&mut block, IPAD);
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(&block);
        for piece in pieces(first, middle, last) {
            context.update(piece);
        }
        erase(&mut block);
        context.finish()
    }
}

const _: () = assert!(UnpreparedKey::SECRET_LEN <= UnpreparedKey::ROOM);

impl Key for UnpreparedKey {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        outer(&self.0, &self.inner(first, middle, last))
    }

    fn tag_len(&self) -> usize {
        digest::SHA256_OUTPUT_LEN
    }
}

/// Returns the hash of the key's block followed by the inner hash.
#[inline]
fn outer(k0: &Block, inner: &digest::Digest) -> Tag {
    let mut input = [0; Block::LEN + digest::SHA256_OUTPUT_LEN];
    k0.copy_to(&mut input, OPAD);
    input[Block::LEN..].copy_from_slice(inner.as_ref());
    let tag = Tag::new(digest::digest(&digest::SHA256, &input).as_ref());
    erase(&mut input[..Block::LEN]);
    tag
}

/// A key for SHA-256 whose inner block is hashed in advance. Hashing the outer block for each
/// message takes less time than copying a context.
pub(crate) struct HalfPreparedKey {
    inner: digest::Context,
    k0: Block,
}

impl HalfPreparedKey {
    pub(crate) fn new(key: &[u8]) -> Self {
        with_k0(&digest::SHA256, key, |k0| {
            let k0 = Block::new(k0);
            let mut block = [0; Block::LEN];
            k0.copy_to(&mut block, IPAD);
            let mut inner = digest::Context::new(&digest::SHA256);
            inner.update(&block);
            erase(&mut block);
            Self { inner, k0 }
        })
    }
}

impl Key for HalfPreparedKey {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let mut inner = self.inner.clone();
        for piece in pieces(first, middle, last) {
            inner.update(piece);
        }
        outer(&self.k0, &inner.finish())
    }

    fn tag_len(&self) -> usize {
        digest::SHA256_OUTPUT_LEN
    }
}

/// A key whose two blocks are hashed in advance.
pub(crate) struct PreparedKey {
    inner: digest::Context,
    outer: digest::Context,
}

impl PreparedKey {
    pub(crate) fn new(hash: &'static digest::Algorithm, key: &[u8]) -> Self {
        with_k0(hash, key, |k0| {
            let mut buffer = [0; MAX_BLOCK_LEN];
            let block = &mut buffer[..hash.block_len()];
            let mut after = |pad| {
                block.fill(pad);
                for (byte, key) in block.iter_mut().zip(k0) {
                    *byte ^= key;
                }
                let mut context = digest::Context::new(hash);
                context.update(block);
                context
            };
            let prepared = Self {
                inner: after(IPAD),
                outer: after(OPAD),
            };
            erase(&mut buffer);
            prepared
        })
    }
}

impl Key for PreparedKey {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let mut inner = self.inner.clone();
        for piece in pieces(first, middle, last) {
            inner.update(piece);
        }
        let mut outer = self.outer.clone();
        outer.update(inner.finish().as_ref());
        Tag::new(outer.finish().as_ref())
    }

    fn tag_len(&self) -> usize {
        self.inner.algorithm().output_len()
    }
}

/// Returns the non-empty pieces of a message.
fn pieces<'a>(
    first: &'a [u8],
    middle: &'a [&'a [u8]],
    last: &'a [u8],
) -> impl Iterator<Item = &'a [u8]> {
    let all = [first]
        .into_iter()
        .chain(middle.iter().copied())
        .chain([last]);
    all.filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use aws_lc_rs::hmac;

    use super::*;
    use crate::key_derivation::LibraryHmac;

    #[test]
    fn tags_equal_those_of_the_library_for_any_length() {
        let lens = [
            0, 1, 31, 32, 48, 63, 64, 65, 127, 128, 129, 191, 192, 193, 300,
        ];
        let bytes: Vec<u8> = (0..300).map(|at| at as u8).collect();
        for key_len in lens {
            let key = &bytes[..key_len];
            for (library, ours) in [
                (
                    LibraryHmac::new(hmac::HMAC_SHA256, key),
                    &UnpreparedKey::new(key) as &dyn Key,
                ),
                (
                    LibraryHmac::new(hmac::HMAC_SHA256, key),
                    &HalfPreparedKey::new(key),
                ),
                (
                    LibraryHmac::new(hmac::HMAC_SHA256, key),
                    &PreparedKey::new(&digest::SHA256, key),
                ),
                (
                    LibraryHmac::new(hmac::HMAC_SHA384, key),
                    &PreparedKey::new(&digest::SHA384, key),
                ),
                (
                    LibraryHmac::new(hmac::HMAC_SHA512, key),
                    &PreparedKey::new(&digest::SHA512, key),
                ),
            ] {
                assert_eq!(ours.tag_len(), library.tag_len());
                for message_len in lens {
                    let message = &bytes[..message_len];
                    let expected = library.sign(&[message]);
                    let (start, end) = message.split_at(message_len / 3);
                    let (middle, last) = end.split_at(end.len() / 2);
                    for tag in [
                        ours.sign(&[message]),
                        ours.sign_concat(start, &[middle, b""], last),
                        ours.sign_concat(b"", &[start, middle], last),
                    ] {
                        let case = (key_len, message_len);
                        assert_eq!(tag.as_ref(), expected.as_ref(), "{case:?}");
                    }
                }
            }
        }
    }
}
