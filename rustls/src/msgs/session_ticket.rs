//! NewSessionTicket: RFC 9846 §4.7.1.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes};
use rustls_core::enums::{ExtensionType, HandshakeType};
use rustls_core::error::InvalidMessage;

use super::EncodeMessage;
use super::extension_block::{ExtensionBlock, Value, extension_block};
use super::short_list::ShortList;

extension_block! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct NewSessionTicket<'a> in NewSessionTicket {
        /// The number of bytes of 0-RTT data that the ticket allows, if any.
        EarlyData => max_early_data_size: Option<u32> as Value,
    }
    besides {
        /// `ticket_lifetime`, in seconds.
        lifetime: u32,
        /// `ticket_age_add`.
        age_add: u32,
        /// `ticket_nonce`.
        nonce: &'a [u8],
        /// `ticket`; never empty in a decoded message.
        ticket: &'a [u8],
        /// The types of all received extensions, in order. Not sent.
        received: ShortList<ExtensionType>,
    }
}

impl<'a> Codec<'a> for NewSessionTicket<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.lifetime.encode(bytes);
        self.age_add.encode(bytes);
        encode_bytes(bytes, LengthSize::U8, self.nonce);
        encode_bytes(bytes, LengthSize::U16, self.ticket);
        self.encode_block(bytes);
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

        // RFC 9846 §4.7.1: clients ignore unrecognized extensions
        message.received = message.read_block(r)?;
        Ok(message)
    }
}

impl EncodeMessage for NewSessionTicket<'_> {
    const TYPE: HandshakeType = HandshakeType::NewSessionTicket;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
}
