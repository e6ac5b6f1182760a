//! Record-sized copies.

use core::ops::Range;

/// Destination offsets, modulo the page size, at which `rep movsb` is slow on Zen 4.
const SLOW: Range<usize> = 1..16;

const PAGE: usize = 4096;

/// Short enough that no `memcpy` uses `rep movsb` for it.
const PIECE: usize = 1024;

/// Copies `from` to `to`, which has the same length.
///
/// glibc copies more than a few kilobytes with a single `rep movsb`. On AMD's Zen 4 that takes
/// eighteen times as long at a [`SLOW`] offset: three times as long as encrypting (glibc 2.36, 16
/// KiB: 4700 ns instead of 260). A record's header moves the payload to such an offset whenever
/// plaintext and record start at the same offset of a page. Large buffers of most allocators do.
/// Copying in pieces is as fast there as elsewhere.
///
/// # Panics
///
/// If the lengths differ.
#[inline]
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    if from.len() > PIECE && is_slow(from, to) {
        in_pieces(from, to);
    } else {
        to.copy_from_slice(from);
    }
}

#[inline]
fn is_slow(from: &[u8], to: &[u8]) -> bool {
    let distance = to.as_ptr().addr().wrapping_sub(from.as_ptr().addr());
    SLOW.contains(&(distance % PAGE))
}

/// Not inlined: the instruction-count benchmark recognises it as a `memcpy` by its name.
#[inline(never)]
fn in_pieces(from: &[u8], to: &mut [u8]) {
    for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::{PAGE, PIECE, SLOW, copy};

    #[test]
    fn exactly_the_given_bytes_are_copied_at_any_offset() {
        let from: Vec<u8> = (0..2 * PAGE).map(|i| (i % 251) as u8).collect();
        for len in [0, 1, PIECE - 1, PIECE, PIECE + 1, PAGE, PAGE + 77] {
            for distance in [0, 1, 5, 13, SLOW.end - 1, SLOW.end, 1000, PAGE - 1] {
                let mut memory = vec![0xff; from.len() + 2 * PAGE];
                let aligned = from.as_ptr().addr().wrapping_sub(memory.as_ptr().addr()) % PAGE;
                let start = aligned + distance;
                let to = &mut memory[start..start + len];
                let is = to.as_ptr().addr().wrapping_sub(from.as_ptr().addr()) % PAGE;
                assert_eq!(is, distance);
                copy(&from[..len], to);
                assert_eq!(*to, from[..len]);
                let others = memory[..start].iter().chain(&memory[start + len..]);
                assert!({ others }.all(|&byte| byte == 0xff));
            }
        }
    }

    #[test]
    #[should_panic]
    fn different_lengths_panic() {
        copy(&[0; 3], &mut [0; 2]);
    }
}
