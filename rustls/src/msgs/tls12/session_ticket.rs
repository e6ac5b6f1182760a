//! The TLS 1.2 NewSessionTicket: RFC 5077 §3.3.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes};
use rustls_core::enums::HandshakeType;
use rustls_core::error::InvalidMessage;

use crate::msgs::EncodeMessage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewSessionTicket<'a> {
    /// `ticket_lifetime_hint`, in seconds; 0 if unspecified.
    pub(crate) lifetime_hint: u32,
    /// `ticket`; empty if the server does not send one after all.
    pub(crate) ticket: &'a [u8],
}

impl<'a> Codec<'a> for NewSessionTicket<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.lifetime_hint.encode(bytes);
        encode_bytes(bytes, LengthSize::U16, self.ticket);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            lifetime_hint: u32::read(r)?,
            ticket: r.prefixed_bytes(LengthSize::U16)?,
        })
    }
}

impl EncodeMessage for NewSessionTicket<'_> {
    const TYPE: HandshakeType = HandshakeType::NewSessionTicket;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
}
