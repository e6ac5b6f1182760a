//! Serial numbers (RFC 5280 §4.1.2.2).

use alloc::boxed::Box;
use core::fmt;

use x509_cert::der::asn1::AnyRef;
use x509_cert::der::{Decode, Tag, Tagged};

use super::error::Malformed;

/// A serial number.
///
/// `Display` writes hexadecimal, two digits per byte. Negative numbers, which some old authorities
/// issued, get a minus sign.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SerialNumber(Box<[u8]>);

impl SerialNumber {
    /// Returns the contents of the DER encoding: big-endian, in two's complement. A positive number
    /// whose highest bit is set starts with a zero byte.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// True if the number is less than 0.
    pub fn is_negative(&self) -> bool {
        self.0.first().is_some_and(|byte| byte & 0x80 != 0)
    }

    pub(super) fn read(der: &[u8]) -> Result<Self, Malformed> {
        let element = AnyRef::from_der(der)?;
        match (element.tag(), element.value()) {
            (Tag::Integer, []) => Err(Malformed::Rule("a number without digits")),
            // X.690 §8.3.2: the shortest encoding
            (Tag::Integer, [0, 0..0x80, ..] | [0xff, 0x80..=0xff, ..]) => {
                Err(Malformed::Rule("a padded number"))
            }
            (Tag::Integer, content) => Ok(Self(content.into())),
            _ => Err(Malformed::Rule("no number where one is expected")),
        }
    }
}

impl fmt::Display for SerialNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = match &*self.0 {
            [0, rest @ ..] if !rest.is_empty() => rest,
            all => all,
        };
        if !self.is_negative() {
            return bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"));
        }
        f.write_str("-")?;
        // two's complement: invert all bits and add 1, which restores the trailing zeros
        let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
        let last = bytes.len() - zeros - 1; // the first byte is not 0
        let magnitude = |(index, byte): (usize, &u8)| match index {
            index if index < last => !byte,
            index if index == last => byte.wrapping_neg(),
            _ => 0,
        };
        let leading = bytes
            .iter()
            .enumerate()
            .map(magnitude)
            .take_while(|byte| *byte == 0)
            .count();
        let mut digits = bytes.iter().enumerate().map(magnitude).skip(leading);
        digits.try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}

impl fmt::Debug for SerialNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SerialNumber({self})")
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use super::*;

    fn read(content: &[u8]) -> Result<SerialNumber, Malformed> {
        let der: Vec<u8> = [&[2, content.len() as u8], content].concat();
        SerialNumber::read(&der)
    }

    #[test]
    fn numbers_are_printed_in_hexadecimal() {
        for (content, shown) in [
            (&[0][..], "00"),
            (&[1], "01"),
            (&[0x7f], "7F"),
            (&[0, 0x80], "80"),
            (&[0, 0xff, 0xee], "FFEE"),
            (&[1, 0], "0100"),
            (&[0xff], "-01"),
            (&[0x80], "-80"),
            (&[0xff, 0x00], "-0100"),
            (&[0xff, 0x01], "-FF"),
            (&[0x80, 0x00, 0x00], "-800000"),
            (&[0xfe, 0xff], "-0101"),
        ] {
            let number = read(content).unwrap();
            assert_eq!(number.to_string(), shown);
            assert_eq!(number.as_bytes(), content);
            assert_eq!(number.is_negative(), shown.starts_with('-'));
        }
    }

    #[test]
    fn malformed_integers_are_rejected() {
        for content in [
            &[][..],
            &[0, 0],
            &[0, 0x7f],
            &[0xff, 0x80],
            &[0xff, 0xff, 1],
        ] {
            read(content).unwrap_err();
        }
        for der in [
            &[2, 1][..],
            &[2, 1, 1, 1],
            &[4, 1, 1],
            &[2, 0x81, 1, 1],
            &[],
        ] {
            SerialNumber::read(der).unwrap_err();
        }
    }
}
