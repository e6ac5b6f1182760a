//! The boundaries of the fields and extensions of a certificate. Their contents are parsed on
//! demand.

use alloc::boxed::Box;
use alloc::vec::Vec;

use x509_cert::der::asn1::AnyRef;
use x509_cert::der::{Decode, Header, Reader, SliceReader, Tag, TagMode, TagNumber, Tagged};

use super::element::Element;
use super::error::Malformed;
use super::span::Span;

/// The positions of a certificate's fields, in the order of RFC 5280 §4.1, except the unique
/// identifiers and the signature.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// The INTEGER, without the tag `[0]` around it.
    pub(super) version: Option<Span>,
    pub(super) serial_number: Span,
    /// The algorithm in the signed part.
    pub(super) signature: Span,
    pub(super) issuer: Span,
    pub(super) validity: Span,
    pub(super) subject: Span,
    pub(super) subject_public_key_info: Span,
    /// `Extensions`, without the tag `[3]` around them.
    pub(super) extensions: Option<Span>,
    /// The algorithm outside the signed part, before the signature.
    pub(super) signature_algorithm: Span,
}

impl Frame {
    pub(super) fn read(der: &[u8]) -> Result<Self, Malformed> {
        let mut reader = SliceReader::new(der)?;
        let frame = reader.sequence(|reader| {
            let mut frame = reader.sequence(Self::read_signed)?;
            frame.signature_algorithm = element(reader)?;
            let signature = AnyRef::decode(reader)?;
            match signature.tag() {
                Tag::BitString => Ok(frame),
                _ => Err(Malformed::Rule("no signature where one is expected")),
            }
        })?;
        // trailing bytes are not part of the certificate and not signed
        reader.finish()?;
        Ok(frame)
    }

    /// Parses the `TBSCertificate`.
    fn read_signed(reader: &mut SliceReader<'_>) -> Result<Self, Malformed> {
        let mut frame = Self {
            version: tagged(reader, 0)?,
            serial_number: element(reader)?,
            signature: element(reader)?,
            issuer: element(reader)?,
            validity: element(reader)?,
            subject: element(reader)?,
            subject_public_key_info: element(reader)?,
            extensions: None,
            signature_algorithm: Span::EMPTY,
        };
        // issuerUniqueID and subjectUniqueID are obsolete
        for number in [1, 2] {
            reader.context_specific::<BitString<'_>>(TagNumber(number), TagMode::Implicit)?;
        }
        frame.extensions = tagged(reader, 3)?;
        Ok(frame)
    }
}

type BitString<'a> = x509_cert::der::asn1::BitStringRef<'a>;

/// Skips the next element, of any type, and returns its position.
fn element(reader: &mut SliceReader<'_>) -> Result<Span, Malformed> {
    let start = reader.position();
    Element::read(reader)?;
    Ok(Span::new(start, reader.position()))
}

/// Skips the next element if its tag is `[number]`, and returns the position of the single element
/// inside.
fn tagged(reader: &mut SliceReader<'_>, number: u32) -> Result<Option<Span>, Malformed> {
    if reader.is_finished() {
        return Ok(None);
    }
    let header = Header::peek(reader)?;
    let expected = Tag::ContextSpecific {
        constructed: true,
        number: TagNumber(number),
    };
    if header.tag() != expected {
        return Ok(None);
    }
    Header::decode(reader)?;
    reader.read_nested(header.length(), element).map(Some)
}

/// The extensions of a certificate, in order.
#[derive(Debug)]
pub(super) struct ExtensionIndex(Box<[Entry]>);

/// An extension, as positions in the DER of all extensions.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The contents of the object identifier.
    oid: Span,
    is_critical: bool,
    /// The contents of the OCTET STRING.
    value: Span,
}

impl ExtensionIndex {
    /// Creates the index of a certificate without extensions.
    pub(super) fn empty() -> Self {
        Self(Box::default())
    }

    /// Parses `Extensions`.
    pub(super) fn read(der: &[u8]) -> Result<Self, Malformed> {
        let mut reader = SliceReader::new(der)?;
        let entries = reader.sequence(|reader| {
            let mut entries = Vec::new();
            while !reader.is_finished() {
                entries.push(reader.sequence(Entry::read)?);
            }
            Ok::<_, Malformed>(entries)
        })?;
        reader.finish()?;
        // RFC 5280 §4.1: at least one
        if entries.is_empty() {
            return Err(Malformed::Rule("an empty list of extensions"));
        }
        Ok(Self(entries.into()))
    }

    /// Returns the criticality and the value of the extension `oid`. `der` must be the input of
    /// [`read`](Self::read).
    pub(super) fn find<'a>(
        &self,
        oid: &[u8],
        der: &'a [u8],
    ) -> Result<Option<(bool, &'a [u8])>, Malformed> {
        let mut found = self.0.iter().filter(|entry| entry.oid.of(der) == oid);
        match (found.next(), found.next()) {
            // RFC 5280 §4.2: at most one per type
            (Some(_), Some(_)) => Err(Malformed::Rule("an extension that occurs twice")),
            (Some(entry), None) => Ok(Some((entry.is_critical, entry.value.of(der)))),
            (None, _) => Ok(None),
        }
    }
}

impl Entry {
    fn read(reader: &mut SliceReader<'_>) -> Result<Self, Malformed> {
        // a malformed identifier matches no search, and does not affect the other extensions
        let oid = content(reader, Tag::ObjectIdentifier)?;
        // an explicit FALSE is not DER, but many certificates have it
        let is_critical = reader.decode::<Option<bool>>()?.unwrap_or(false);
        let value = content(reader, Tag::OctetString)?;
        Ok(Self {
            oid,
            is_critical,
            value,
        })
    }
}

/// Returns the contents of the next element, which must have this tag.
fn content(reader: &mut SliceReader<'_>, tag: Tag) -> Result<Span, Malformed> {
    let header = Header::decode(reader)?;
    if header.tag() != tag {
        return Err(Malformed::Rule("an extension that is built otherwise"));
    }
    let start = reader.position();
    reader.read_slice(header.length())?;
    Ok(Span::new(start, reader.position()))
}
