//! The `pre_shared_key` extension of a ClientHello: RFC 9846 §4.3.11.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes, encode_list};
use rustls_core::error::InvalidMessage;

use super::extensions::{read_list, read_value};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfferedPsks<'a> {
    pub(crate) identities: Vec<PskIdentity<'a>>,
    pub(crate) binders: Vec<PskBinderEntry<'a>>,
}

impl OfferedPsks<'_> {
    /// Returns the length of the binders at the end of the ClientHello in bytes, including their
    /// length prefix.
    ///
    /// The binders authenticate everything before them: RFC 9846 §4.3.11.2.
    pub(crate) fn binders_len(&self) -> usize {
        let binders: usize = self
            .binders
            .iter()
            .map(|binder| LengthSize::U8.width() + binder.0.len())
            .sum();
        LengthSize::U16.width() + binders
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PskIdentity<'a> {
    /// The identity of the key: a ticket, or random bytes in a GREASE PSK. Never empty in a decoded
    /// message.
    pub(crate) identity: &'a [u8],
    pub(crate) obfuscated_ticket_age: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PskBinderEntry<'a>(pub(crate) &'a [u8]);

impl<'a> Codec<'a> for OfferedPsks<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_list(bytes, LengthSize::U16, &self.identities);
        encode_list(bytes, LengthSize::U16, &self.binders);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            identities: read_list(r, LengthSize::U16, "PskIdentities")?,
            binders: read_list(r, LengthSize::U16, "PskBinders")?,
        })
    }
}

impl<'a> Codec<'a> for PskIdentity<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_bytes(bytes, LengthSize::U16, self.identity);
        self.obfuscated_ticket_age.encode(bytes);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            // RFC 9846 §4.3.11: an identity has at least one byte
            identity: read_value(r, LengthSize::U16)?,
            obfuscated_ticket_age: u32::read(r)?,
        })
    }
}

impl<'a> Codec<'a> for PskBinderEntry<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_bytes(bytes, LengthSize::U8, self.0);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        read_value(r, LengthSize::U8).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn binders_len_is_the_length_of_the_binders() {
        let offered = OfferedPsks {
            identities: vec![
                PskIdentity {
                    identity: b"first",
                    obfuscated_ticket_age: 1,
                },
                PskIdentity {
                    identity: b"second",
                    obfuscated_ticket_age: 2,
                },
            ],
            binders: vec![PskBinderEntry(&[7; 32]), PskBinderEntry(&[8; 48])],
        };
        let bytes = offered.get_encoding();
        let (identities, binders) = bytes.split_at(bytes.len() - offered.binders_len());
        assert_eq!(identities[..2], (identities.len() as u16 - 2).to_be_bytes());
        assert_eq!(binders[..3], [0, 33 + 49, 32]);
    }
}
