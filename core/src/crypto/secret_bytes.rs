//! The bytes of secrets, erased with a few long stores. `zeroize` writes single bytes.

use alloc::vec::Vec;
use core::hint::black_box;
use core::ops::{Deref, DerefMut};

use zeroize::DefaultIsZeroes;

/// An array that is zeroized as one value, with a few stores. A plain array is zeroized byte by
/// byte.
///
/// Its owner must zeroize it: `DefaultIsZeroes` requires `Copy`, which rules out `Drop`.
#[derive(Clone, Copy)]
pub(super) struct SecretBytes<const N: usize>(pub(super) [u8; N]);

impl<const N: usize> Default for SecretBytes<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> DefaultIsZeroes for SecretBytes<N> {}

/// A vector that is erased on drop, including its spare capacity.
///
/// Reserve enough memory before adding a secret: growing leaves a copy in the old memory.
#[derive(Clone, Default)]
pub struct SecretVec(Vec<u8>);

impl From<Vec<u8>> for SecretVec {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Deref for SecretVec {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for SecretVec {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

impl Drop for SecretVec {
    fn drop(&mut self) {
        self.0.clear();
        // within the capacity, so the bytes stay where they are
        self.0.resize(self.0.capacity(), 0);
        // the compiler cannot know that nothing reads these bytes
        black_box(&mut self.0[..]);
    }
}
