//! Object identifiers: their DER contents and their dotted-decimal text.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use smallvec::SmallVec;
use x509_cert::der::asn1::AnyRef;
use x509_cert::der::{Decode, Reader, SliceReader, Tag, Tagged};

use super::error::Malformed;

/// An object identifier of an algorithm, attribute type, extension or purpose.
///
/// `Display` and `FromStr` use dotted-decimal text, such as `2.5.4.3`. `Display` prints the
/// encoding of a number beyond 128 bits in hexadecimal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(SmallVec<[u8; 16]>);

impl Oid {
    /// Returns the contents of the DER encoding, without tag and length.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Parses the contents of a DER-encoded OBJECT IDENTIFIER (X.690 §8.19).
    pub(super) fn from_content(content: &[u8]) -> Result<Self, Malformed> {
        let mut is_first = true;
        for byte in content {
            // X.690 §8.19.2: a number must not start with zero bits
            if is_first && *byte == 0x80 {
                return Err(Malformed::Rule("a padded number in an object identifier"));
            }
            is_first = byte & 0x80 == 0;
        }
        if content.is_empty() || !is_first {
            return Err(Malformed::Rule("an object identifier that ends too early"));
        }
        Ok(Self(SmallVec::from_slice(content)))
    }

    /// Parses the next element, which must be an OBJECT IDENTIFIER.
    pub(super) fn read<'a>(reader: &mut SliceReader<'a>) -> Result<Self, Malformed> {
        let element = AnyRef::decode(reader)?;
        match element.tag() {
            Tag::ObjectIdentifier => Self::from_content(element.value()),
            _ => Err(Malformed::Rule(
                "no object identifier where one is expected",
            )),
        }
    }

    /// Parses all elements, which must be OBJECT IDENTIFIERs.
    pub(super) fn read_all(reader: &mut SliceReader<'_>) -> Result<Vec<Self>, Malformed> {
        let mut oids = Vec::new();
        while !reader.is_finished() {
            oids.push(Self::read(reader)?);
        }
        Ok(oids)
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self.0.split_inclusive(|byte| byte & 0x80 == 0);
        for (index, number) in numbers.enumerate() {
            // X.690 §8.19.4: the first number encodes two
            let first = match (index, number) {
                (0, [0..40]) => Some(0u128),
                (0, [40..80]) => Some(1),
                (0, _) => Some(2),
                _ => None,
            };
            if let Some(first) = first {
                write!(f, "{first}")?;
            }
            // numbers below 2.25 have 128 bits; larger ones are printed as bytes
            let Some(value) = to_number(number) else {
                f.write_str(".0x")?;
                write_hex(f, number)?;
                continue;
            };
            write!(f, ".{}", value - first.unwrap_or_default() * 40)?;
        }
        Ok(())
    }
}

fn to_number(bytes: &[u8]) -> Option<u128> {
    bytes.iter().try_fold(0u128, |number, byte| {
        let shifted = number.checked_mul(0x80)?;
        Some(shifted | u128::from(byte & 0x7f))
    })
}

/// Writes each byte as two hexadecimal digits.
pub(super) fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Oid({self})")
    }
}

impl FromStr for Oid {
    type Err = InvalidOid;

    /// # Errors
    ///
    /// Returns [`InvalidOid`] unless `text` consists of two or more decimal numbers, separated by
    /// dots. The first is at most 2. The second is at most 39, unless the first is 2. None has a
    /// leading zero or more than 128 bits, which is also the limit of the number that encodes the
    /// first two.
    fn from_str(text: &str) -> Result<Self, InvalidOid> {
        let mut numbers = text.split('.').map(|number| {
            let is_plain = number.bytes().all(|byte| byte.is_ascii_digit())
                && (number == "0" || !number.starts_with('0'));
            number.parse::<u128>().ok().filter(|_| is_plain)
        });
        let mut next = || numbers.next().map(|number| number.ok_or(InvalidOid));
        let first = next().ok_or(InvalidOid)??;
        let second = next().ok_or(InvalidOid)??;
        if first > 2 || (first < 2 && second > 39) {
            return Err(InvalidOid);
        }
        let mut bytes = SmallVec::new();
        push_number(
            &mut bytes,
            second.checked_add(first * 40).ok_or(InvalidOid)?,
        );
        while let Some(number) = next() {
            push_number(&mut bytes, number?);
        }
        Ok(Self(bytes))
    }
}

/// Appends seven bits per byte, with the high bit set in all bytes but the last.
fn push_number(bytes: &mut SmallVec<[u8; 16]>, number: u128) {
    let groups = (128 - number.leading_zeros()).div_ceil(7).max(1);
    for group in (0..groups).rev() {
        let more = if group == 0 { 0 } else { 0x80 };
        bytes.push((number >> (7 * group)) as u8 & 0x7f | more);
    }
}

/// The error for text that is not an object identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidOid;

impl fmt::Display for InvalidOid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an object identifier")
    }
}

impl core::error::Error for InvalidOid {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn bytes_and_text_round_trip() {
        for (text, bytes) in [
            ("0.0", &[0][..]),
            ("1.39", &[79]),
            ("2.0", &[80]),
            ("2.5.4.3", &[0x55, 4, 3]),
            ("2.999.3", &[0x88, 0x37, 3]),
            ("1.2.840.113549", &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d]),
        ] {
            let oid = Oid::from_content(bytes).unwrap();
            assert_eq!(oid.to_string(), text);
            assert_eq!(text.parse(), Ok(oid));
        }
        let uuid = "2.25.329800735698586629295641978511506172918";
        assert_eq!(uuid.parse::<Oid>().unwrap().to_string(), uuid);
    }

    #[test]
    fn numbers_beyond_128_bits_are_printed_as_bytes() {
        let long = [&[0x2a, 0x8f][..], &[0xff; 18], &[0x7f]].concat();
        let shown = Oid::from_content(&long).unwrap().to_string();
        assert!(shown.starts_with("1.2.0x8FFF"), "{shown}");
    }

    #[test]
    fn malformed_object_identifiers_are_rejected() {
        for bytes in [&[][..], &[0x80, 1], &[0x2a, 0x80, 1], &[0x2a, 0x81]] {
            Oid::from_content(bytes).unwrap_err();
        }
        for text in [
            "",
            "1",
            "1.",
            ".1",
            "3.1",
            "1.40",
            "1.2.x",
            "1.2.-3",
            "1.2.03",
            "1.2.+3",
            "1..2",
            "2.340282366920938463463374607431768211455",
        ] {
            assert_eq!(text.parse::<Oid>(), Err(InvalidOid), "{text}");
        }
    }
}
