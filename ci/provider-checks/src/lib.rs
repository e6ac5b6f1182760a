//! Checks for all providers made of the building blocks: the vectors of RFCs and of Wycheproof, and
//! the rules of the traits.
//!
//! A provider calls them from its unit tests, which can access its private types. A failed check
//! panics.

pub use aead::{check_aead, check_increasing_nonces, check_packet_protection};
pub use hash::check_sha256_and_sha384;
pub use hpke::{check_hpke, check_hpke_rejects_zeros};
pub use provider::{check_approval, check_groups, check_random};
pub use quic::check_quic;

mod aead;
mod hash;
mod hpke;
mod provider;
mod quic;

/// Decodes `digits`, which are hexadecimal with any white space, as in the RFCs.
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
