//! The bytes of a short secret.

use zeroize::DefaultIsZeroes;

/// An array that is zeroized as one value, by a few stores: an array of bytes is byte by byte.
///
/// Its owner zeroizes it; it cannot itself, as `DefaultIsZeroes` is for types that can be copied.
#[derive(Clone, Copy)]
pub(super) struct SecretBytes<const N: usize>(pub(super) [u8; N]);

impl<const N: usize> Default for SecretBytes<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> DefaultIsZeroes for SecretBytes<N> {}
