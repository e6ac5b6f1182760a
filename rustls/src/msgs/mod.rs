//! The handshake messages of TLS 1.3 (RFC 9846 §4), as structs with a codec.
//!
//! Reading checks syntax only: lengths, bounds, what stands twice. What a message means, and whether it may
//! come now, is decided by the handshakes. Everything read borrows from the message it was read from.
//!
//! ```text
//!   record::joiner ──► HandshakeMessage::read ──► tls13::{client, server}
//!                                                       │
//!   record::sender ◄── one Vec for a flight   ◄── EncodeMessage::encode_message
//! ```
//!
//! One file for each family of messages; extensions that several messages carry, and the table of what may
//! stand where, are in [`extensions`].

pub(crate) mod certificate;
pub(crate) mod certificate_request;
pub(crate) mod certificate_verify;
pub(crate) mod client_extensions;
pub(crate) mod client_hello;
pub(crate) mod encrypted_extensions;
pub(crate) mod extensions;
pub(crate) mod key_update;
pub(crate) mod pre_shared_key;
pub(crate) mod server_hello;
pub(crate) mod server_name;
pub(crate) mod session_ticket;
pub(crate) mod short_list;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader, with_length_prefix};
use rustls_core::enums::{HandshakeType, KeyUpdateRequest};
use rustls_core::error::InvalidMessage;

use self::certificate::CertificateMsg;
use self::certificate_request::CertificateRequest;
use self::certificate_verify::DigitallySignedStruct;
use self::client_hello::ClientHello;
use self::encrypted_extensions::EncryptedExtensions;
use self::server_hello::{HelloRetryRequest, ServerHello};
use self::session_ticket::NewSessionTicket;

/// One received handshake message.
#[derive(Debug)]
pub(crate) struct HandshakeMessage<'a> {
    pub(crate) typ: HandshakeType,
    /// The whole message, header included: what the transcript hashes.
    pub(crate) encoded: &'a [u8],
    pub(crate) payload: HandshakePayload<'a>,
}

impl<'a> HandshakeMessage<'a> {
    /// Reads `encoded`, a complete message with its header and nothing behind it.
    pub(crate) fn read(encoded: &'a [u8]) -> Result<Self, InvalidMessage> {
        let mut r = Reader::new(encoded);
        let typ = HandshakeType::read(&mut r)?;
        let mut body = r.prefixed(LengthSize::U24)?;
        r.expect_empty("HandshakeMessage")?;

        let payload = HandshakePayload::read(typ, &mut body)?;
        body.expect_empty(match payload {
            HandshakePayload::ClientHello(_) => "ClientHelloPayload",
            HandshakePayload::ServerHello(_) => "ServerHelloPayload",
            HandshakePayload::EndOfEarlyData => "EndOfEarlyData",
            _ => "HandshakeMessagePayload",
        })?;
        Ok(Self {
            typ,
            encoded,
            payload,
        })
    }
}

/// What a handshake message says.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one lives at a time, on the stack of its handler"
)]
pub(crate) enum HandshakePayload<'a> {
    ClientHello(ClientHello<'a>),
    ServerHello(ServerHello<'a>),
    /// A ServerHello with the random of RFC 9846 §4.2.3; the message's type is `ServerHello`.
    HelloRetryRequest(HelloRetryRequest<'a>),
    EncryptedExtensions(EncryptedExtensions<'a>),
    CertificateRequest(CertificateRequest<'a>),
    Certificate(CertificateMsg<'a>),
    CertificateVerify(DigitallySignedStruct),
    Finished(&'a [u8]),
    NewSessionTicket(NewSessionTicket<'a>),
    /// May be `KeyUpdateRequest::Unknown`, which ends the connection if a KeyUpdate may come at all.
    KeyUpdate(KeyUpdateRequest),
    EndOfEarlyData,
    /// A message that TLS 1.3 does not know, or this library does not use; its body is passed over.
    Unknown,
}

impl<'a> HandshakePayload<'a> {
    fn read(typ: HandshakeType, r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(match typ {
            HandshakeType::ClientHello => Self::ClientHello(ClientHello::read(r)?),
            HandshakeType::ServerHello => server_hello::read(r)?,
            HandshakeType::EncryptedExtensions => {
                Self::EncryptedExtensions(EncryptedExtensions::read(r)?)
            }
            HandshakeType::CertificateRequest => {
                Self::CertificateRequest(CertificateRequest::read(r)?)
            }
            HandshakeType::Certificate => Self::Certificate(CertificateMsg::read(r)?),
            HandshakeType::CertificateVerify => {
                Self::CertificateVerify(DigitallySignedStruct::read(r)?)
            }
            HandshakeType::Finished => Self::Finished(r.rest()),
            HandshakeType::NewSessionTicket => Self::NewSessionTicket(NewSessionTicket::read(r)?),
            HandshakeType::KeyUpdate => Self::KeyUpdate(KeyUpdateRequest::read(r)?),
            HandshakeType::EndOfEarlyData => Self::EndOfEarlyData,
            // both have a number, and neither is ever sent by that number
            HandshakeType::HelloRetryRequest => {
                return Err(InvalidMessage::UnexpectedMessage("HelloRetryRequest"));
            }
            HandshakeType::MessageHash => {
                return Err(InvalidMessage::UnexpectedMessage("MessageHash"));
            }
            _ => {
                r.rest();
                Self::Unknown
            }
        })
    }
}

/// A message that this side sends.
pub(crate) trait EncodeMessage {
    /// The type in its header.
    const TYPE: HandshakeType;

    /// Appends what follows the header.
    fn encode_body(&self, bytes: &mut Vec<u8>);

    /// Appends the message, header included, to the flight in `bytes`.
    fn encode_message(&self, bytes: &mut Vec<u8>) {
        Self::TYPE.encode(bytes);
        with_length_prefix(bytes, LengthSize::U24, |bytes| self.encode_body(bytes));
    }
}

/// Finished: the `verify_data` of RFC 9846 §4.5.3.
#[derive(Debug)]
pub(crate) struct Finished<'a>(pub(crate) &'a [u8]);

impl EncodeMessage for Finished<'_> {
    const TYPE: HandshakeType = HandshakeType::Finished;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.0);
    }
}
