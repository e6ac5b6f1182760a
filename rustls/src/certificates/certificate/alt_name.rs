//! Subject alternative names (RFC 5280 §4.2.1.6).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use x509_cert::der::asn1::AnyRef;
use x509_cert::der::{Decode, Reader, SliceReader, Tag, TagNumber, Tagged};

use super::error::Malformed;
use super::name::{Name, ascii, is_deceptive};
use super::oid::write_hex;

/// A name of a subject, a `GeneralName`.
///
/// `Display` writes the kind and the name: `DNS:example.com`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GeneralName {
    /// `dNSName`: the text of the certificate, perhaps with `*` as the first label, in upper or
    /// lower case. ASCII without control characters, but not necessarily a valid DNS name.
    Dns(Box<str>),
    /// `rfc822Name`: a mail address. ASCII without control characters.
    Email(Box<str>),
    /// `uniformResourceIdentifier`. ASCII without control characters.
    Uri(Box<str>),
    /// `iPAddress`.
    Ip(IpAddr),
    /// `directoryName`.
    DirectoryName(Name),
    /// Any other kind: the DER of the whole name, tag and length included.
    Other(Box<[u8]>),
}

impl GeneralName {
    /// Parses `GeneralNames`.
    pub(super) fn read_all(der: &[u8]) -> Result<Box<[Self]>, Malformed> {
        let mut reader = SliceReader::new(der)?;
        let names = reader.sequence(|reader| {
            let mut names = Vec::new();
            while !reader.is_finished() {
                names.push(Self::read(reader)?);
            }
            Ok::<_, Malformed>(names)
        })?;
        reader.finish()?;
        // RFC 5280 §4.2.1.6: at least one
        if names.is_empty() {
            return Err(Malformed::Rule("an empty list of names"));
        }
        Ok(names.into())
    }

    fn read(reader: &mut SliceReader<'_>) -> Result<Self, Malformed> {
        let mut element = reader.clone();
        let name = AnyRef::decode(reader)?;
        let Tag::ContextSpecific {
            number,
            constructed,
        } = name.tag()
        else {
            return Err(Malformed::Rule("an element that is no name"));
        };
        let content = name.value();
        Ok(match (number, constructed) {
            (TagNumber(1), false) => Self::Email(printable(content)?),
            (TagNumber(2), false) => Self::Dns(printable(content)?),
            // a CHOICE cannot be tagged implicitly, so this tag is explicit
            (TagNumber(4), true) => Self::DirectoryName(Name::read(content)?),
            (TagNumber(6), false) => Self::Uri(printable(content)?),
            (TagNumber(7), false) => Self::Ip(address(content)?),
            (TagNumber(0 | 3 | 5), true) | (TagNumber(8), false) => {
                Self::Other(element.tlv_bytes()?.into())
            }
            _ => return Err(Malformed::Rule("a name of a kind that there is not")),
        })
    }
}

/// Parses an IA5String without control characters: some readers take a NUL for the end, others do
/// not.
fn printable(content: &[u8]) -> Result<Box<str>, Malformed> {
    match ascii(content) {
        Some(text) if !text.contains(is_deceptive) => Ok(text.into()),
        _ => Err(Malformed::Rule(
            "a name with control characters or beyond ASCII",
        )),
    }
}

fn address(content: &[u8]) -> Result<IpAddr, Malformed> {
    if let Ok(octets) = <[u8; 4]>::try_from(content) {
        return Ok(octets.into());
    }
    if let Ok(octets) = <[u8; 16]>::try_from(content) {
        return Ok(octets.into());
    }
    Err(Malformed::Rule("an IP address of neither 4 nor 16 bytes"))
}

impl fmt::Display for GeneralName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => write!(f, "DNS:{name}"),
            Self::Email(address) => write!(f, "email:{address}"),
            Self::Uri(uri) => write!(f, "URI:{uri}"),
            Self::Ip(address) => write!(f, "IP:{address}"),
            Self::DirectoryName(name) => write!(f, "directory:{name}"),
            Self::Other(der) => {
                f.write_str("other:#")?;
                write_hex(f, der)
            }
        }
    }
}

#[cfg(test)]
mod tests;
