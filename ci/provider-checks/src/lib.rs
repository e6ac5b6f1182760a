//! What every provider made of the building blocks is checked against: the vectors of RFCs and of
//! Wycheproof, and the rules that the traits set.
//!
//! A provider calls these from its unit tests, where its private types are at hand. A check panics when
//! it fails.

pub use aead::{check_aead, check_nonces_that_grow};
pub use hash::check_sha256_and_sha384;
pub use hpke::{check_hpke, check_hpke_refuses_zeros};
pub use provider::{check_approval, check_groups, check_random};
pub use quic::check_quic;

mod aead;
mod hash;
mod hpke;
mod provider;
mod quic;

/// The bytes that `digits` stand for, written as in the RFCs: hexadecimal, with any white space.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .chars()
        .filter(|char| !char.is_whitespace())
        .map(|char| char.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    let (pairs, rest) = digits.as_chunks::<2>();
    assert!(rest.is_empty(), "two digits make a byte");
    pairs.iter().map(|[high, low]| high << 4 | low).collect()
}
