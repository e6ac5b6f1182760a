//! Output into a `Vec<u8>` that grows if it is too short.
//!
//! ```text
//!   0            used                          len()
//!   │ to be sent │ written next: zeros, or what was sent before │ grows here
//! ```
//!
//! The length of the `Vec` is its initialised part. A separate number, `used`, counts the bytes to
//! be sent. So a `Vec` can be reused without clearing or zeroing it again.

use alloc::vec::Vec;

use rustls_core::crypto::cipher::InsufficientSizeError;

/// Calls `write` with the part of `out` after its first `used` bytes, and extends `out` if that is
/// too short.
///
/// On an error, the length and the first `used` bytes of `out` are unchanged.
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

/// Extends `out` to `required` bytes after `used`, and calls `write` again. Returns `error` if
/// memory runs out.
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
    // `resize` alone would panic or abort the process if memory ran out
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

/// An error type that can report that the output is too short.
pub(crate) trait TooShort {
    /// Returns the size needed in bytes if the output is too short.
    fn required_size(&self) -> Option<usize>;
}

impl TooShort for InsufficientSizeError {
    fn required_size(&self) -> Option<usize> {
        Some(self.required_size)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::conn::sending::EncryptError;

    /// Returns a `write` that checks the bytes already there, and writes ten bytes.
    fn write_ten(before: &[u8]) -> impl FnMut(&mut [u8]) -> Result<usize, EncryptError> {
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
    fn the_vec_grows_to_the_required_size() {
        let mut out = vec![1, 2, 3];
        assert_eq!(write_to_vec(&mut out, 3, write_ten(&[0; 10])).unwrap(), 10);
        assert_eq!(out, [&[1, 2, 3][..], &[7; 10]].concat());
        assert_eq!(
            write_to_vec(&mut out, 12, write_ten(&[7, 0, 0, 0, 0, 0, 0, 0, 0, 0])).unwrap(),
            10
        );
        assert_eq!(out, [&[1, 2, 3][..], &[7; 19]].concat());
    }

    /// Zeroing bytes that are already initialised would cost time for each record.
    #[test]
    fn initialised_bytes_are_not_zeroed() {
        let mut out = vec![5; 40];
        let (len, memory) = (out.len(), out.as_ptr());
        for used in [0, 10, 25] {
            out[used..used + 10].fill(5);
            assert_eq!(
                write_to_vec(&mut out, used, write_ten(&[5; 10])).unwrap(),
                10
            );
        }
        assert_eq!((out.len(), out.as_ptr()), (len, memory));
        assert_eq!(out[35..], [5; 5]);
    }

    #[test]
    fn errors_leave_the_vec_unchanged() {
        let mut out = vec![1, 2, 3];
        // longer than memory, or than a `usize` can count
        for required_size in [isize::MAX as usize, usize::MAX] {
            let result = write_to_vec(&mut out, 3, |_| {
                Err::<usize, EncryptError>(InsufficientSizeError { required_size }.into())
            });
            let required = result.unwrap_err().required_size();
            assert_eq!(required, Some(required_size));
            assert_eq!(out, [1, 2, 3]);
        }
        // the cipher fails although the output is long enough
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
    fn a_gap_after_the_end_is_zeroed() {
        let mut out = vec![1];
        assert_eq!(write_to_vec(&mut out, 3, write_ten(&[0; 10])).unwrap(), 10);
        assert_eq!(out, [&[1, 0, 0][..], &[7; 10]].concat());
    }
}
