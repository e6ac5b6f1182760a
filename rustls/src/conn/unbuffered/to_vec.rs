//! Output into a `Vec<u8>` that grows as needed, beside the slice that may be too short.
//!
//! ```text
//!   0            used                          len()
//!   │ to be sent │ written next: zeros, or what was sent before │ grows here
//! ```
//!
//! The `Vec`'s length tells how much of it is initialised, and a number beside it how much of that is in use. So a
//! `Vec` that is used again is neither cleared nor zeroed again.

use alloc::vec::Vec;

use super::{EncodeError, EncryptError};
use crate::client::EarlyDataError;
use crate::crypto::cipher::InsufficientSizeError;

/// Has `write` write behind the first `used` bytes of `out`, which is made longer if that is too short.
///
/// On errors the length and the first `used` bytes of `out` are as they were.
#[inline]
pub(crate) fn write_to_vec<E: TooShort>(
    out: &mut Vec<u8>,
    used: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> Result<usize, E> {
    let room = out.get_mut(used..).unwrap_or_default();
    match write(room) {
        Err(error) => match error.required_size() {
            Some(required) => grow_and_write(out, used, required, error, &mut write),
            None => Err(error),
        },
        written => written,
    }
}

/// [`write_to_vec`] when it needs `required` bytes; `error` says so, and is returned where memory is short.
#[cold]
fn grow_and_write<E>(
    out: &mut Vec<u8>,
    used: usize,
    required: usize,
    error: E,
    write: &mut dyn FnMut(&mut [u8]) -> Result<usize, E>,
) -> Result<usize, E> {
    let before = out.len();
    let Some(len) = used.checked_add(required) else {
        return Err(error);
    };
    // not `resize` alone: it panics at lengths that no memory has
    if out.try_reserve(len.saturating_sub(before)).is_err() {
        return Err(error);
    }
    out.resize(len, 0);
    let written = write(&mut out[used..]);
    if written.is_err() {
        out.truncate(before);
    }
    written
}

/// An error that may be about too short an output.
pub(crate) trait TooShort {
    /// How many bytes of output are needed, if the error is that there are fewer.
    fn required_size(&self) -> Option<usize>;
}

impl TooShort for InsufficientSizeError {
    fn required_size(&self) -> Option<usize> {
        Some(self.required_size)
    }
}

impl TooShort for EncryptError {
    fn required_size(&self) -> Option<usize> {
        match self {
            Self::InsufficientSize(error) => Some(error.required_size),
            Self::EncryptExhausted => None,
        }
    }
}

impl TooShort for EncodeError {
    fn required_size(&self) -> Option<usize> {
        match self {
            Self::InsufficientSize(error) => Some(error.required_size),
            Self::AlreadyEncoded => None,
        }
    }
}

impl TooShort for EarlyDataError {
    fn required_size(&self) -> Option<usize> {
        match self {
            Self::Encrypt(error) => error.required_size(),
            Self::ExceededAllowedEarlyData => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// Writes ten bytes, and checks what lies there before.
    fn ten(before: &[u8]) -> impl FnMut(&mut [u8]) -> Result<usize, EncryptError> {
        move |out| match out.first_chunk_mut::<10>() {
            Some(out) => {
                assert_eq!(out, before);
                *out = [7; 10];
                Ok(10)
            }
            None => Err(InsufficientSizeError { required_size: 10 }.into()),
        }
    }

    #[test]
    fn grows_by_what_is_missing() {
        let mut out = vec![1, 2, 3];
        assert_eq!(write_to_vec(&mut out, 3, ten(&[0; 10])).unwrap(), 10);
        assert_eq!(out, [&[1, 2, 3][..], &[7; 10]].concat());
        assert_eq!(
            write_to_vec(&mut out, 12, ten(&[7, 0, 0, 0, 0, 0, 0, 0, 0, 0])).unwrap(),
            10
        );
        assert_eq!(out, [&[1, 2, 3][..], &[7; 19]].concat());
    }

    /// What lies there was initialised before, so nothing zeroes it.
    #[test]
    fn zeroes_nothing_a_second_time() {
        let mut out = vec![5; 40];
        let (len, memory) = (out.len(), out.as_ptr());
        for used in [0, 10, 25] {
            out[used..used + 10].fill(5);
            assert_eq!(write_to_vec(&mut out, used, ten(&[5; 10])).unwrap(), 10);
        }
        assert_eq!((out.len(), out.as_ptr()), (len, memory));
        assert_eq!(out[35..], [5; 5]);
    }

    #[test]
    fn errors_leave_it_as_it_was() {
        let mut out = vec![1, 2, 3];
        // too long for any memory, or for the arithmetic
        for required_size in [isize::MAX as usize, usize::MAX] {
            let result = write_to_vec(&mut out, 3, |_| {
                Err::<usize, EncryptError>(InsufficientSizeError { required_size }.into())
            });
            let required = result.unwrap_err().required_size();
            assert_eq!(required, Some(required_size));
            assert_eq!(out, [1, 2, 3]);
        }
        // a cipher that fails once there is enough
        let result = write_to_vec(&mut out, 2, |out| match out.len() {
            ..10 => Err(EncryptError::from(InsufficientSizeError {
                required_size: 10,
            })),
            _ => Err(EncryptError::EncryptExhausted),
        });
        assert!(matches!(result, Err(EncryptError::EncryptExhausted)));
        assert_eq!(out, [1, 2, 3]);
    }

    #[test]
    fn a_mark_beyond_the_end_is_reached_by_zeros() {
        let mut out = vec![1];
        assert_eq!(write_to_vec(&mut out, 3, ten(&[0; 10])).unwrap(), 10);
        assert_eq!(out, [&[1, 0, 0][..], &[7; 10]].concat());
    }
}
