//! DER elements with any tag. The crate `der` rejects some tags, such as GraphicString, and cannot
//! even skip elements that have them.

use x509_cert::der::{Decode, Length, Reader, SliceReader};

use super::error::Malformed;

/// An element: its tag, its contents and its whole encoding.
pub(super) struct Element<'a> {
    /// The first identifier octet. High tag numbers need more octets.
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
    /// All bytes of the element.
    pub(super) der: &'a [u8],
}

impl<'a> Element<'a> {
    /// Reads the next element. Its contents are not checked.
    pub(super) fn read(reader: &mut SliceReader<'a>) -> Result<Self, Malformed> {
        let mut whole = reader.clone();
        let start = reader.position();
        let tag = reader.read_byte()?;
        // X.690 §8.1.2.4: a high number follows, seven bits in each byte
        if tag & HIGH_NUMBER == HIGH_NUMBER {
            while reader.read_byte()? & 0x80 != 0 {}
        }
        let length = Length::decode(reader)?;
        let content = reader.read_slice(length)?;
        let der = whole.read_slice((reader.position() - start)?)?;
        Ok(Self { tag, content, der })
    }
}

const HIGH_NUMBER: u8 = 0x1f;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_any_tag_are_read() {
        let long = [&[0x19, 0x81, 0x80][..], &[7; 0x80]].concat();
        for (der, content) in [
            (&[0x05, 0][..], &[][..]),
            (&[0x19, 1, b'a'], b"a"),
            (&[0x1f, 0x81, 0x01, 2, 8, 9], &[8, 9]),
            (&[0xdf, 0x2a, 1, 8], &[8]),
            (&long, &[7; 0x80]),
        ] {
            let with_more = [der, &[5, 0]].concat();
            let mut reader = SliceReader::new(&with_more).unwrap();
            let element = Element::read(&mut reader).unwrap();
            assert_eq!((element.tag, element.content), (der[0], content));
            assert_eq!(element.der, der);
            assert_eq!(Element::read(&mut reader).unwrap().der, [5, 0]);
            assert!(Element::read(&mut reader).is_err());
        }
    }

    #[test]
    fn malformed_elements_are_rejected() {
        for der in [
            &[][..],
            &[0x19],
            &[0x19, 2, 0],
            &[0x1f],
            &[0x1f, 0x81],
            &[0x1f, 0x81, 0x01],
            // of indefinite length, and a length that is longer than necessary
            &[0x30, 0x80, 0, 0],
            &[0x19, 0x81, 1, 0],
            &[0x19, 0x85, 1, 1, 1, 1, 1, 0],
        ] {
            let mut reader = SliceReader::new(der).unwrap();
            assert!(Element::read(&mut reader).is_err(), "{der:x?}");
        }
    }
}
