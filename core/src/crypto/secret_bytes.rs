//! The bytes of a short secret.

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
