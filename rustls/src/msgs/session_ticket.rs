//! NewSessionTicket: RFC 9846 §4.7.1.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes};
use rustls_core::enums::{ExtensionType, HandshakeType};
use rustls_core::error::InvalidMessage;

use super::EncodeMessage;
use super::extensions::{ExtensionContext, encode_extensions, read_extensions};
use super::short_list::ShortList;

/// `NewSessionTicket`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewSessionTicket<'a> {
    /// `ticket_lifetime`, in seconds.
    pub(crate) lifetime: u32,
    /// `ticket_age_add`.
    pub(crate) age_add: u32,
    /// `ticket_nonce`.
    pub(crate) nonce: &'a [u8],
    /// `ticket`, not empty if received.
    pub(crate) ticket: &'a [u8],
    /// `early_data`: the number of bytes of 0-RTT data that the ticket allows, if any.
    pub(crate) max_early_data_size: Option<u32>,
    /// The types of all received extensions, in order. Not sent.
    pub(crate) received: ShortList<ExtensionType>,
}

impl<'a> Codec<'a> for NewSessionTicket<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.lifetime.encode(bytes);
        self.age_add.encode(bytes);
        encode_bytes(bytes, LengthSize::U8, self.nonce);
        encode_bytes(bytes, LengthSize::U16, self.ticket);
        encode_extensions(bytes, |block| {
            block.value(ExtensionType::EarlyData, self.max_early_data_size.as_ref());
        });
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut message = Self {
            lifetime: u32::read(r)?,
            age_add: u32::read(r)?,
            nonce: r.prefixed_bytes(LengthSize::U8)?,
            ticket: r.prefixed_bytes(LengthSize::U16)?,
            ..Self::default()
        };
        // RFC 9846 §4.7.1: a ticket has at least one byte
        if message.ticket.is_empty() {
            return Err(InvalidMessage::EmptyTicketValue);
        }

        message.received = read_extensions(r, ExtensionContext::NewSessionTicket, |typ, body| {
            match typ {
                ExtensionType::EarlyData => {
                    message.max_early_data_size = Some(u32::read(body)?);
                }
                // RFC 9846 §4.7.1: clients ignore unrecognized extensions
                _ => {
                    body.rest();
                }
            }
            Ok(())
        })?;
        Ok(message)
    }
}

impl EncodeMessage for NewSessionTicket<'_> {
    const TYPE: HandshakeType = HandshakeType::NewSessionTicket;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
}
