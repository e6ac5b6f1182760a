//! The extension types of a ClientHello, parsed from its bytes. With few exceptions, a server may
//! reply only to these (RFC 9846 §4.3).

use rustls_core::codec::{Codec, LengthSize, Reader};

use crate::enums::ExtensionType;
use crate::error::InvalidMessage;
use crate::msgs::HANDSHAKE_HEADER_LEN;
use crate::msgs::client_hello::{Random, SessionId};
use crate::msgs::extensions::ExtensionSet;

/// The extension types that were sent.
#[derive(Debug, Default)]
pub(crate) struct OfferedExtensions(ExtensionSet);

impl OfferedExtensions {
    /// Returns the types in `message`, an encoded ClientHello of this client.
    pub(super) fn of(message: &[u8]) -> Self {
        // if the message is unreadable, no extension counts as offered
        read_types(message).map(Self).unwrap_or_default()
    }

    pub(crate) fn contains(&self, typ: ExtensionType) -> bool {
        self.0.contains(typ)
    }
}

/// Skips the fields before the extensions (RFC 9846 §4.2.2), and reads the type of each extension.
fn read_types(message: &[u8]) -> Result<ExtensionSet, InvalidMessage> {
    let body = message.get(HANDSHAKE_HEADER_LEN..).unwrap_or_default();
    let mut r = Reader::new(body);
    let _legacy_version = u16::read(&mut r)?;
    Random::read(&mut r)?;
    SessionId::read(&mut r)?;
    let _cipher_suites = r.prefixed(LengthSize::U16)?;
    let _compression_methods = r.prefixed(LengthSize::U8)?;

    let mut types = ExtensionSet::default();
    let mut block = r.prefixed(LengthSize::U16)?;
    while block.any_left() {
        types.insert(ExtensionType::read(&mut block)?);
        let _body = block.prefixed(LengthSize::U16)?;
    }
    Ok(types)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Encodes a ClientHello with two extensions: server_name, and one of an unknown type.
    fn hello() -> Vec<u8> {
        let mut body = [3; 2 + 32].to_vec();
        body.extend([2, 7, 7]); // legacy_session_id
        body.extend([0, 2, 0x13, 1]); // cipher_suites
        body.extend([1, 0]); // legacy_compression_methods
        body.extend([0, 11, 0, 0, 0, 3, 1, 2, 3, 0xfa, 0xfa, 0, 0]);
        [&[1, 0, 0, body.len() as u8][..], &body].concat()
    }

    #[test]
    fn exactly_the_extensions_in_the_message_count_as_offered() {
        let offered = OfferedExtensions::of(&hello());
        assert!(offered.contains(ExtensionType::ServerName));
        assert!(offered.contains(ExtensionType::Unknown(0xfafa)));
        for typ in 1..=70 {
            assert!(!offered.contains(ExtensionType::from(typ)), "{typ}");
        }
    }

    #[test]
    fn a_truncated_message_offers_nothing() {
        let hello = hello();
        for len in 0..hello.len() {
            let offered = OfferedExtensions::of(&hello[..len]);
            assert!(!offered.contains(ExtensionType::ServerName), "cut to {len}");
        }
    }
}
