//! Copies of payloads, which may be as long as a record.
//!
//! On x86-64, glibc's `memcpy` and `memmove` can copy more than a few kilobytes with a single `rep
//! movsb`. On some AMD processors, this is slow if the destination starts a few bytes after the
//! source, modulo the page size: 1 to 15 bytes on Zen 4, 1 to 31 on Zen 3. At such an offset,
//! copying 16 KiB takes 5400 ns instead of 250, several times as long as encrypting them. A
//! record's header moves the payload to such an offset whenever plaintext and record start at the
//! same offset in a page, as the large buffers of many allocators do.
//!
//! So the functions here copy in short pieces, which take the same time at any offset. [`copy`],
//! which knows the offset, does so only if the offset is slow. Otherwise it copies everything at
//! once: `rep movsb` does not read the destination first, which saves a third of the time if the
//! destination is not in a cache. The record layer and the connections copy payloads with these
//! functions. The tests of `rustls/tests/large_copies` look for slow copies.

use alloc::vec::Vec;
use core::ops::Range;

/// The length in bytes from which a `memcpy` may use `rep movsb`.
const LONG: usize = 2048;

const PIECE: usize = 1024;

/// The size of a page.
const PAGE: usize = 4096;

/// The distances from source to destination, modulo [`PAGE`], at which a long `memcpy` is slow on
/// some processors.
const SLOW: Range<usize> = 1..32;

/// Copies `from` to `to`, which has the same length.
///
/// # Panics
///
/// Panics if the lengths differ.
#[inline]
pub fn copy(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    if from.len() < LONG {
        to.copy_from_slice(from);
    } else {
        in_pieces(from, to);
    }
}

/// Copies `from` to `to`: in pieces if their distance is in [`SLOW`], otherwise at once. This
/// function is not inlined, because the instruction-count benchmark finds it by its name, and
/// counts it as a `memcpy`.
#[inline(never)]
fn in_pieces(from: &[u8], to: &mut [u8]) {
    let distance = to.as_ptr().addr().wrapping_sub(from.as_ptr().addr()) % PAGE;
    if !SLOW.contains(&distance) {
        return to.copy_from_slice(from);
    }
    for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
        to.copy_from_slice(from);
    }
}

/// Appends `bytes` to `vec`.
#[inline]
pub fn append(vec: &mut Vec<u8>, bytes: &[u8]) {
    vec.reserve(bytes.len());
    for piece in pieces(bytes) {
        vec.extend_from_slice(piece);
    }
}

/// Returns a copy of `bytes`.
#[inline]
pub fn to_vec(bytes: &[u8]) -> Vec<u8> {
    let mut vec = Vec::new();
    vec.reserve_exact(bytes.len());
    append(&mut vec, bytes);
    vec
}

/// Splits `bytes` into pieces that are short enough for one `memcpy` each.
#[inline]
pub fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let piece = if bytes.len() < LONG { LONG } else { PIECE };
    bytes.chunks(piece)
}

/// Moves the bytes at `range` in `bytes` down to `to`.
///
/// # Panics
///
/// Panics if `to` is greater than `range.start`, or if `range` is not within `bytes`.
pub fn move_down(bytes: &mut [u8], range: Range<usize>, to: usize) {
    assert!(to <= range.start);
    let down = range.start - to;
    let mut rest = range;
    while rest.len() >= LONG {
        let next = rest.start + PIECE;
        bytes.copy_within(rest.start..next, rest.start - down);
        rest.start = next;
    }
    let to = rest.start - down;
    bytes.copy_within(rest, to);
}

/// Removes the first `len` bytes of `vec`.
///
/// # Panics
///
/// Panics if `vec` is shorter than `len`.
pub fn remove_front(vec: &mut Vec<u8>, len: usize) {
    let rest = vec.len() - len;
    move_down(vec, len..len + rest, 0);
    vec.truncate(rest);
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    const LENS: [usize; 8] = [0, 1, PIECE, LONG - 1, LONG, LONG + 1, PAGE, PAGE + 77];

    fn numbered(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i % 251) as u8).collect()
    }

    #[test]
    fn exactly_the_given_bytes_are_copied_at_any_offset() {
        let from = numbered(2 * PAGE);
        for len in LENS {
            for distance in [0, 1, 5, 13, 15, 16, 31, 32, 1000, PAGE - 1] {
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
    fn copies_in_short_pieces_are_complete() {
        for len in LENS {
            let bytes = numbered(len);
            assert!(pieces(&bytes).all(|piece| piece.len() < LONG));
            assert_eq!(pieces(&bytes).collect::<Vec<_>>().concat(), bytes);
            assert_eq!(to_vec(&bytes), bytes);
            assert_eq!(to_vec(&bytes).capacity(), len);
            let mut vec = vec![7; 3];
            append(&mut vec, &bytes);
            assert_eq!(vec, [&[7; 3], &bytes[..]].concat());
        }
    }

    #[test]
    fn overlapping_bytes_move_down_intact() {
        for len in LENS {
            for down in [0, 1, 31, PIECE - 1, PIECE, LONG, PAGE] {
                let mut bytes = numbered(3 + down + len + 5);
                let mut expected = bytes.clone();
                let moved = expected[3 + down..3 + down + len].to_vec();
                expected[3..3 + len].copy_from_slice(&moved);
                move_down(&mut bytes, 3 + down..3 + down + len, 3);
                assert_eq!(bytes, expected, "{len} bytes by {down}");

                let mut bytes = numbered(down + len);
                let rest = bytes[down..].to_vec();
                remove_front(&mut bytes, down);
                assert_eq!(bytes, rest);
            }
        }
    }

    #[test]
    #[should_panic]
    fn different_lengths_panic() {
        copy(&[0; 3], &mut [0; 2]);
    }

    #[test]
    #[should_panic]
    fn moving_up_panics() {
        move_down(&mut [0; 3], 0..1, 1);
    }
}
