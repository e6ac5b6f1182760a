//! Hash functions, implemented by a provider.
//!
//! The transcript hash (RFC 9846 §4.1) and other digests use them. HMAC and signatures do not: the
//! provider does their hashing itself.

use alloc::boxed::Box;

pub use crate::enums::HashAlgorithm;

/// A hash function.
pub trait Hash: Send + Sync {
    /// Starts a hash computation whose input comes in pieces.
    fn start(&self) -> Box<dyn Context>;

    /// Returns the hash of `data`.
    fn hash(&self, data: &[u8]) -> Output;

    /// Returns the length in bytes of the output, at most [`Output::MAX_LEN`].
    fn output_len(&self) -> usize;

    /// Returns the identity of this hash function.
    fn algorithm(&self) -> HashAlgorithm;

    /// True if this implementation is FIPS-approved. The default is false.
    fn fips(&self) -> bool {
        false
    }
}

/// A running hash computation.
pub trait Context: Send + Sync {
    /// Returns the hash of the input so far. The computation can then continue.
    fn fork_finish(&self) -> Output;

    /// Returns a second computation that starts from the input so far.
    fn fork(&self) -> Box<dyn Context>;

    /// Returns the hash of all input.
    fn finish(self: Box<Self>) -> Output;

    /// Adds `data` to the input.
    fn update(&mut self, data: &[u8]);
}

/// A hash value, stored inline.
pub struct Output {
    bytes: [u8; Self::MAX_LEN],
    len: usize,
}

impl Output {
    /// The maximum length of a value in bytes: the output length of SHA-512.
    pub const MAX_LEN: usize = 64;

    /// Copies a hash value.
    ///
    /// # Panics
    ///
    /// Panics if `bytes` is longer than [`Self::MAX_LEN`].
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        let len = bytes.len();
        let mut all = [0; Self::MAX_LEN];
        match <&[u8; 32]>::try_from(bytes) {
            // copying a constant length takes no call
            Ok(bytes) => all[..32].copy_from_slice(bytes),
            Err(_) => all[..len].copy_from_slice(bytes),
        }
        Self { bytes: all, len }
    }
}

impl AsRef<[u8]> for Output {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_keeps_its_length() {
        assert_eq!(Output::new(&[]).as_ref(), &[] as &[u8]);
        assert_eq!(Output::new(&[7; 48]).as_ref(), &[7; 48]);
        assert_eq!(Output::new(&[7; Output::MAX_LEN]).as_ref(), &[7; 64]);
    }
}
