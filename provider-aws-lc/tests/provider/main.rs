//! Tests of both providers by themselves, with each other and with upstream's.

mod groups;
mod hpke;
mod keys;
mod records;
/// Excluded with feature `fips`: upstream is built without it here.
#[cfg(not(feature = "fips"))]
mod upstream;

use rustls_core::provider::CryptoProvider;
use rustls_provider_aws_lc as aws_lc;
use rustls_provider_ring as ring;
use rustls_upstream::crypto as theirs;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Provider {
    AwsLc,
    Ring,
}

impl Provider {
    pub(crate) const ALL: [Self; 2] = [Self::AwsLc, Self::Ring];

    fn ours(self) -> CryptoProvider {
        match self {
            Self::AwsLc => aws_lc::default_provider(),
            Self::Ring => ring::default_provider(),
        }
    }

    fn upstream(self) -> theirs::CryptoProvider {
        match self {
            Self::AwsLc => theirs::aws_lc_rs::default_provider(),
            Self::Ring => theirs::ring::default_provider(),
        }
    }
}

/// Returns all encodings of points of small order, on Curve25519 and its twist (RFC 7748 §5, §7).
/// The highest bit, which is ignored, is clear. Each of them leads to a secret of zeros.
fn x25519_small_order() -> impl Iterator<Item = [u8; 32]> {
    // 0, 1, then p - 1, p and p + 1 for p = 2^255 - 19
    let others = [
        (0, 0, 0),
        (1, 0, 0),
        (0xec, 0xff, 0x7f),
        (0xed, 0xff, 0x7f),
        (0xee, 0xff, 0x7f),
    ];
    let others = others.map(|(first, middle, last)| {
        let mut point = [middle; 32];
        (point[0], point[31]) = (first, last);
        point
    });
    let order_8 = [
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    ];
    let order_8 = order_8.map(|point| from_hex(point).try_into().unwrap());
    others.into_iter().chain(order_8)
}

fn from_hex(digits: &str) -> Vec<u8> {
    let digits = digits.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
