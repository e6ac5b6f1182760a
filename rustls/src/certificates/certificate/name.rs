//! Distinguished names of subjects and issuers: RFC 5280 §4.1.2.4; as text, RFC 4514.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use x509_cert::der::{Decode, Header, Reader, SliceReader, Tag};

use super::element::Element;
use super::error::Malformed;
use super::oid::{Oid, write_hex};
use super::span::Span;
use crate::logging::is_deceptive;

/// A distinguished name.
///
/// Names are equal if their DER is equal. That is stricter than RFC 5280 §7.1, which ignores case
/// and the string type.
///
/// An attribute may have any value. A value that is not text, or cannot be decoded as text, has no
/// [text](Attribute::text) and is written as `#` with its DER in hexadecimal.
///
/// `Display` writes the format of RFC 4514, the last set of attributes first, for example
/// `CN=Ann Example,O=Example\, Inc.,C=NO`. It escapes control characters, and some characters that
/// are invisible or change the direction of text: each byte is written as `\` with two hexadecimal
/// digits.
#[derive(Clone)]
pub struct Name(Box<Parts>);

/// The contents of a [`Name`], boxed so that a list of general names stays small.
#[derive(Clone)]
struct Parts {
    der: Box<[u8]>,
    attributes: Box<[Entry]>,
}

/// A parsed attribute.
#[derive(Clone)]
struct Entry {
    /// True if it is in the same set as the previous attribute.
    joins_previous: bool,
    oid: Oid,
    value: Span,
    text: Option<Box<str>>,
}

impl Name {
    /// Returns the DER encoding, with tag and length.
    pub fn der(&self) -> &[u8] {
        &self.0.der
    }

    /// True if there are no attributes. The subject may be empty if all names are in
    /// subjectAltName.
    pub fn is_empty(&self) -> bool {
        self.0.attributes.is_empty()
    }

    /// Iterates over the attributes in the order of the DER: usually from the country to the common
    /// name.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'_>> {
        self.0
            .attributes
            .iter()
            .map(|entry| Attribute { name: self, entry })
    }

    /// Returns the common name, if there is exactly one and it is text.
    ///
    /// If there are several, no rule says which one to use; see [`attributes`](Self::attributes).
    /// The text may contain any character, including NUL.
    pub fn common_name(&self) -> Option<&str> {
        let is_common_name = |entry: &&Entry| entry.oid.as_bytes() == COMMON_NAME;
        let mut found = self.0.attributes.iter().filter(is_common_name);
        match (found.next(), found.next()) {
            (Some(entry), None) => entry.text.as_deref(),
            _ => None,
        }
    }

    /// Parses the DER of a `Name`.
    pub(super) fn read(der: &[u8]) -> Result<Self, Malformed> {
        let mut reader = SliceReader::new(der)?;
        let mut attributes = Vec::new();
        reader.sequence(|reader| {
            while !reader.is_finished() {
                read_set(reader, &mut attributes)?;
            }
            Ok::<_, Malformed>(())
        })?;
        reader.finish()?;
        Ok(Self(Box::new(Parts {
            der: der.into(),
            attributes: attributes.into(),
        })))
    }
}

/// Parses a RelativeDistinguishedName.
fn read_set(reader: &mut SliceReader<'_>, attributes: &mut Vec<Entry>) -> Result<(), Malformed> {
    let header = Header::decode(reader)?;
    if header.tag() != Tag::Set {
        return Err(Malformed::Rule(
            "no set of attributes where one is expected",
        ));
    }
    let first = attributes.len();
    reader.read_nested(header.length(), |reader| {
        while !reader.is_finished() {
            let entry = reader.sequence(|reader| {
                let oid = Oid::read(reader)?;
                let start = reader.position();
                let text = read_text(&Element::read(reader)?);
                Ok::<_, Malformed>(Entry {
                    joins_previous: attributes.len() > first,
                    oid,
                    value: Span::new(start, reader.position()),
                    text,
                })
            })?;
            attributes.push(entry);
        }
        Ok::<_, Malformed>(())
    })?;
    if attributes.len() == first {
        return Err(Malformed::Rule("an empty set of attributes"));
    }
    Ok(())
}

/// Returns the text of a value, if its type is one of the text types of RFC 5280 and its bytes can
/// be decoded.
fn read_text(value: &Element<'_>) -> Option<Box<str>> {
    let bytes = value.content;
    let text = match value.tag {
        UTF8_STRING => core::str::from_utf8(bytes).ok()?.to_owned(),
        // authorities do not respect the smaller character set of PrintableString
        PRINTABLE_STRING | IA5_STRING | NUMERIC_STRING | VISIBLE_STRING => ascii(bytes)?.to_owned(),
        // T.61 officially, but everybody writes ISO 8859-1
        TELETEX_STRING => bytes.iter().copied().map(char::from).collect(),
        BMP_STRING => bmp(bytes)?,
        UNIVERSAL_STRING => universal(bytes)?,
        _ => return None,
    };
    Some(text.into_boxed_str())
}

const UTF8_STRING: u8 = 0x0c;
const NUMERIC_STRING: u8 = 0x12;
const PRINTABLE_STRING: u8 = 0x13;
const TELETEX_STRING: u8 = 0x14;
const IA5_STRING: u8 = 0x16;
const VISIBLE_STRING: u8 = 0x1a;
const UNIVERSAL_STRING: u8 = 0x1c;
const BMP_STRING: u8 = 0x1e;

/// Returns the bytes as text if they are ASCII.
pub(super) fn ascii(bytes: &[u8]) -> Option<&str> {
    core::str::from_utf8(bytes)
        .ok()
        .filter(|text| text.is_ascii())
}

fn bmp(bytes: &[u8]) -> Option<String> {
    let units = bytes.chunks_exact(2);
    if !units.remainder().is_empty() {
        return None;
    }
    let units = units.map(|unit| u16::from_be_bytes([unit[0], unit[1]]));
    char::decode_utf16(units).collect::<Result<_, _>>().ok()
}

fn universal(bytes: &[u8]) -> Option<String> {
    let chars = bytes.chunks_exact(4);
    if !chars.remainder().is_empty() {
        return None;
    }
    let chars = chars.map(|char| u32::from_be_bytes([char[0], char[1], char[2], char[3]]));
    chars.map(char::from_u32).collect()
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.0.der == other.0.der
    }
}

impl Eq for Name {}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // RFC 4514 §2.1: the last set first
        let mut rest = &*self.0.attributes;
        while let Some(start) = rest.iter().rposition(|entry| !entry.joins_previous) {
            let (before, set) = rest.split_at(start);
            for (index, entry) in set.iter().enumerate() {
                if index > 0 {
                    f.write_char('+')?;
                }
                Attribute { name: self, entry }.fmt(f)?;
            }
            if !before.is_empty() {
                f.write_char(',')?;
            }
            rest = before;
        }
        Ok(())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({self})")
    }
}

/// A part of a [`Name`], such as the country or the common name.
///
/// `Display` writes the format of RFC 4514: `O=Example\, Inc.`
#[derive(Clone, Copy)]
pub struct Attribute<'a> {
    name: &'a Name,
    entry: &'a Entry,
}

impl<'a> Attribute<'a> {
    /// Returns the object identifier of the attribute's type.
    pub fn oid(&self) -> &'a Oid {
        &self.entry.oid
    }

    /// Returns the attribute's value as text, or `None` if its type is not a text type or its bytes
    /// cannot be decoded.
    ///
    /// The text may contain any character, including NUL.
    pub fn text(&self) -> Option<&'a str> {
        self.entry.text.as_deref()
    }

    /// Returns the DER encoding of the attribute's value.
    pub fn value_der(&self) -> &'a [u8] {
        self.entry.value.of(&self.name.0.der)
    }

    /// True if the attribute is in the same set (RelativeDistinguishedName) as the previous one.
    /// `Display` joins such attributes with `+`.
    pub fn joins_previous(&self) -> bool {
        self.entry.joins_previous
    }
}

impl fmt::Display for Attribute<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let descriptor = descriptor(self.oid());
        match descriptor {
            Some(descriptor) => f.write_str(descriptor)?,
            None => self.oid().fmt(f)?,
        }
        f.write_char('=')?;
        match self.text() {
            // RFC 4514 §2.4: hexadecimal after numeric types and for values that are not text
            Some(text) if descriptor.is_some() => write_escaped(f, text),
            _ => {
                f.write_char('#')?;
                write_hex(f, self.value_der())
            }
        }
    }
}

impl fmt::Debug for Attribute<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attribute({self})")
    }
}

/// Escapes special characters (RFC 4514 §2.4).
fn write_escaped(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for (index, char) in text.char_indices() {
        let is_first = index == 0;
        let is_last = index + char.len_utf8() == text.len();
        match char {
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' => write!(f, "\\{char}")?,
            '#' if is_first => f.write_str("\\#")?,
            ' ' if is_first || is_last => f.write_str("\\ ")?,
            char if is_deceptive(char) => {
                let mut bytes = [0; 4];
                let bytes = char.encode_utf8(&mut bytes).bytes();
                bytes
                    .into_iter()
                    .try_for_each(|byte| write!(f, "\\{byte:02X}"))?;
            }
            char => f.write_char(char)?,
        }
    }
    Ok(())
}

/// The contents of the object identifier 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 4, 3];

/// Returns the short name of an attribute type: from RFC 4514 §3, the LDAP registry (RFC 4520),
/// X.520, or PKCS #9.
fn descriptor(oid: &Oid) -> Option<&'static str> {
    Some(match oid.as_bytes() {
        // id-at, 2.5.4
        [0x55, 4, attribute] => match attribute {
            3 => "CN",
            4 => "SN",
            5 => "serialNumber",
            6 => "C",
            7 => "L",
            8 => "ST",
            9 => "STREET",
            10 => "O",
            11 => "OU",
            12 => "title",
            13 => "description",
            15 => "businessCategory",
            16 => "postalAddress",
            17 => "postalCode",
            18 => "postOfficeBox",
            20 => "telephoneNumber",
            41 => "name",
            42 => "GN",
            43 => "initials",
            44 => "generationQualifier",
            45 => "x500UniqueIdentifier",
            46 => "dnQualifier",
            65 => "pseudonym",
            97 => "organizationIdentifier",
            _ => return None,
        },
        // 0.9.2342.19200300.100.1
        [
            0x09,
            0x92,
            0x26,
            0x89,
            0x93,
            0xf2,
            0x2c,
            0x64,
            0x01,
            attribute,
        ] => match attribute {
            1 => "UID",
            25 => "DC",
            _ => return None,
        },
        // pkcs-9, 1.2.840.113549.1.9
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1] => "emailAddress",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
