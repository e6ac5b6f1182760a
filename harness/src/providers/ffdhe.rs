//! Finite-field Diffie-Hellman (RFC 7919), as an external provider would add it, for both crates.
//!
//! No provider here has these groups. The arithmetic comes from a crate and is not constant-time:
//! for tests only.

use num_bigint::BigUint;

use crate::peers::configs::Provider;
pub use crate::this::ffdhe as this;
pub use crate::upstream::ffdhe as upstream;

/// The choice of the private key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key {
    Random,
    /// The given key.
    Fixed(u64),
    /// A random key, but another key's public value is sent.
    Says(Public),
}

/// Public values that reveal the secret, and neighbouring ones that do not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Public {
    Zero,
    One,
    Two,
    /// p - 2
    PMinusTwo,
    /// p - 1
    PMinusOne,
    P,
}

impl Public {
    /// Returns the value for the prime `p`, padded to the length of `p`.
    pub fn value(self, p: &[u8]) -> Vec<u8> {
        let number = BigUint::from_bytes_be(p);
        let value = match self {
            Self::Zero => BigUint::from(0_u8),
            Self::One => BigUint::from(1_u8),
            Self::Two => BigUint::from(2_u8),
            Self::PMinusTwo => number - 2_u8,
            Self::PMinusOne => number - 1_u8,
            Self::P => number,
        };
        padded(&value, p.len())
    }
}

fn padded(number: &BigUint, len: usize) -> Vec<u8> {
    let bytes = number.to_bytes_be();
    [vec![0; len - bytes.len()], bytes].concat()
}

/// Returns `base` to the power of `exponent`, modulo `p`, padded to the length of `p`.
pub fn power(base: &[u8], exponent: &BigUint, p: &[u8]) -> Vec<u8> {
    let modulus = BigUint::from_bytes_be(p);
    let result = BigUint::from_bytes_be(base).modpow(exponent, &modulus);
    padded(&result, p.len())
}

pub(crate) fn random_exponent() -> BigUint {
    // RFC 7919 §5.2: at least 225 bits for ffdhe2048
    let mut bytes = [0; 40];
    let random = Provider::Ring.this().secure_random;
    random.fill(&mut bytes).unwrap();
    BigUint::from_bytes_be(&bytes)
}
