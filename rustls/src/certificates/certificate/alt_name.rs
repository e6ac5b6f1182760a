//! Subject alternative names (RFC 5280 §4.2.1.6).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use x509_cert::der::{Reader, SliceReader};

use super::element::Element;
use super::error::Malformed;
use super::name::{Name, ascii};
use super::oid::write_hex;
use crate::logging::is_deceptive;

/// One name of a certificate's subject, a `GeneralName`.
///
/// Authorities have issued names with malformed contents, such as an email address that is not
/// ASCII. Such a name is [`Other`](Self::Other), and the other names of the certificate stay
/// readable.
///
/// `Display` writes the kind and the name: `DNS:example.com`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GeneralName {
    /// `dNSName`: the text in the certificate, possibly with `*` as the first label, in upper or
    /// lower case. ASCII without control characters, but not necessarily a valid DNS name.
    Dns(Box<str>),
    /// `rfc822Name`: an email address. ASCII without control characters.
    Email(Box<str>),
    /// `uniformResourceIdentifier`. ASCII without control characters.
    Uri(Box<str>),
    /// `iPAddress`, of 4 or 16 bytes.
    Ip(IpAddr),
    /// `directoryName`: a distinguished name.
    DirectoryName(Name),
    /// Any other kind, or a name that violates a rule above: the DER of the whole name, with tag
    /// and length.
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

    /// Reads the next element. Only its length must be correct.
    fn read(reader: &mut SliceReader<'_>) -> Result<Self, Malformed> {
        let element = Element::read(reader)?;
        Ok(Self::known(&element).unwrap_or_else(|| Self::Other(element.der.into())))
    }

    /// Returns the name, if its kind is known and its contents have the form of that kind.
    fn known(element: &Element<'_>) -> Option<Self> {
        let content = element.content;
        Some(match element.tag {
            EMAIL => Self::Email(printable(content)?),
            DNS => Self::Dns(printable(content)?),
            DIRECTORY_NAME => Self::DirectoryName(Name::read(content).ok()?),
            URI => Self::Uri(printable(content)?),
            IP => Self::Ip(address(content)?),
            _ => return None,
        })
    }
}

/// The tag `[1]` of `rfc822Name`.
const EMAIL: u8 = 0x81;
/// The tag `[2]` of `dNSName`.
const DNS: u8 = 0x82;
/// The tag `[4]` of `directoryName`, constructed: a CHOICE cannot be tagged implicitly, so this tag
/// is explicit.
const DIRECTORY_NAME: u8 = 0xa4;
/// The tag `[6]` of `uniformResourceIdentifier`.
const URI: u8 = 0x86;
/// The tag `[7]` of `iPAddress`.
const IP: u8 = 0x87;

/// Returns the text of an IA5String. Returns `None` if it is not ASCII, or has control characters:
/// some readers treat NUL as the end of the text, others do not.
fn printable(content: &[u8]) -> Option<Box<str>> {
    let text = ascii(content)?;
    (!text.contains(is_deceptive)).then(|| text.into())
}

fn address(content: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(content) {
        return Some(octets.into());
    }
    let octets = <[u8; 16]>::try_from(content).ok()?;
    Some(octets.into())
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
