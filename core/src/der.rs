//! Writes DER values (X.690): the headers of public keys, and of private keys if a provider's
//! library reads only one encoding.
//!
//! Nothing here reads DER.

use alloc::vec::Vec;

/// The tag of an INTEGER (X.690 §8.3).
pub const INTEGER: u8 = 0x02;

/// The tag of a BIT STRING (X.690 §8.6).
pub const BIT_STRING: u8 = 0x03;

/// The tag of an OCTET STRING (X.690 §8.7).
pub const OCTET_STRING: u8 = 0x04;

/// The tag of a SEQUENCE (X.690 §8.9).
pub const SEQUENCE: u8 = 0x30;

/// Encodes one DER value: tag, length, and the concatenation of `pieces` as content (X.690 §8.1).
pub fn der(tag: u8, pieces: &[&[u8]]) -> Vec<u8> {
    let len = pieces.iter().map(|piece| piece.len()).sum::<usize>();
    let len_bytes = len.to_be_bytes();

    let mut out = Vec::with_capacity(2 + len_bytes.len() + len);
    out.push(tag);
    if len < 0x80 {
        out.push(len_bytes[len_bytes.len() - 1]);
    } else {
        // X.690 §10.1: the long form uses as few bytes as possible
        let digits = &len_bytes[len.leading_zeros() as usize / 8..];
        out.push(0x80 | digits.len() as u8);
        out.extend_from_slice(digits);
    }
    for piece in pieces {
        out.extend_from_slice(piece);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn der_lengths_are_minimal() {
        let header = |len: usize, header_len: usize| {
            let value = der(SEQUENCE, &[&alloc::vec![0; len]]);
            assert_eq!(value.len(), header_len + len);
            value[..header_len].to_vec()
        };
        assert_eq!(header(0, 2), [0x30, 0]);
        assert_eq!(header(0x7f, 2), [0x30, 0x7f]);
        assert_eq!(header(0x80, 3), [0x30, 0x81, 0x80]);
        assert_eq!(header(0xff, 3), [0x30, 0x81, 0xff]);
        assert_eq!(header(0x100, 4), [0x30, 0x82, 1, 0]);
        assert_eq!(header(0xffff, 4), [0x30, 0x82, 0xff, 0xff]);
        assert_eq!(header(0x1_0000, 5), [0x30, 0x83, 1, 0, 0]);
    }
}
