//! Hash functions, as a provider offers them.
//!
//! The transcript hash (RFC 9846 §4.1) is what uses them; hashing inside HMAC and signatures is the
//! provider's own affair.

use alloc::boxed::Box;

pub use crate::enums::HashAlgorithm;

/// A hash function.
pub trait Hash: Send + Sync {
    /// Starts hashing input that comes in pieces.
    fn start(&self) -> Box<dyn Context>;

    /// The hash of `data`.
    fn hash(&self, data: &[u8]) -> Output;

    /// Length in bytes of the output, at most [`Output::MAX_LEN`].
    fn output_len(&self) -> usize;

    /// Which hash function this is.
    fn algorithm(&self) -> HashAlgorithm;

    /// True when this implementation is FIPS-approved. False unless overridden.
    fn fips(&self) -> bool {
        false
    }
}

/// A hash computation under way.
pub trait Context: Send + Sync {
    /// The hash of the input so far. The computation can go on afterwards.
    fn fork_finish(&self) -> Output;

    /// A second computation that starts from the input so far.
    fn fork(&self) -> Box<dyn Context>;

    /// The hash of all input.
    fn finish(self: Box<Self>) -> Output;

    /// Adds `data` to the input.
    fn update(&mut self, data: &[u8]);
}

/// A hash value, kept without allocation.
pub struct Output {
    bytes: [u8; Self::MAX_LEN],
    len: usize,
}

impl Output {
    /// Length in bytes of the longest value: SHA-512's.
    pub const MAX_LEN: usize = 64;

    /// Copies a hash value.
    ///
    /// # Panics
    ///
    /// If `bytes` is longer than [`Self::MAX_LEN`].
    pub fn new(bytes: &[u8]) -> Self {
        let mut output = Self {
            bytes: [0; Self::MAX_LEN],
            len: bytes.len(),
        };
        output.bytes[..bytes.len()].copy_from_slice(bytes);
        output
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
    fn output_keeps_its_length() {
        assert_eq!(Output::new(&[]).as_ref(), &[] as &[u8]);
        assert_eq!(Output::new(&[7; 48]).as_ref(), &[7; 48]);
        assert_eq!(Output::new(&[7; Output::MAX_LEN]).as_ref(), &[7; 64]);
    }
}
