//! How test vectors are written here: as in the RFCs, in hexadecimal with any spaces between.

use alloc::vec::Vec;

/// The bytes that `digits` stand for. White space does not count.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .chars()
        .filter(|char| !char.is_whitespace())
        .map(|char| char.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    let (pairs, rest) = digits.as_chunks::<2>();
    assert!(rest.is_empty(), "two digits make a byte");
    pairs.iter().map(|[high, low]| high << 4 | low).collect()
}
