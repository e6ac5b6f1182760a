//! The handshake messages of TLS 1.3 (RFC 9846 §4) and 1.2 ([`tls12`]), as structs with a codec.
//!
//! Reading checks syntax only: lengths, bounds, duplicates. The handshakes decide what a message means and
//! whether it may come now. Everything read borrows from the message it was read from.
//!
//! ```text
//!   record::joiner ──► HandshakeMessage ──► the tables of handshake, tls13 and tls12, which decode
//!                                                       │
//!   record::sender ◄── one Vec for a flight ◄── EncodeMessage::encode_message
//! ```
//!
//! One file for each family of messages; extensions that several messages carry, and the table of which may
//! stand in which message, are in [`extensions`].

pub(crate) mod certificate;
pub(crate) mod certificate_request;
pub(crate) mod certificate_verify;
pub(crate) mod client_extensions;
pub(crate) mod client_hello;
pub(crate) mod compressed_certificate;
pub(crate) mod ech;
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
#[cfg(feature = "tls12")]
pub(crate) mod tls12;
pub(crate) mod transport_parameters;

use alloc::format;
use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader, with_length_prefix};
use rustls_core::enums::HandshakeType;
use rustls_core::error::{Error, InvalidMessage};
/// Length in bytes of a handshake message's header: type and 24-bit length (RFC 9846 §4).
pub(crate) use rustls_core::record::joiner::HANDSHAKE_HEADER_LEN;

use crate::logging::trace;

/// One received handshake message. The handshake knows how to decode it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandshakeMessage<'a> {
    pub(crate) typ: HandshakeType,
    /// The whole message, header included: what the transcript hashes.
    pub(crate) encoded: &'a [u8],
}

impl<'a> HandshakeMessage<'a> {
    /// Takes `encoded`, a complete message with its header and nothing behind it.
    pub(crate) fn new(encoded: &'a [u8]) -> Result<Self, InvalidMessage> {
        let mut r = Reader::new(encoded);
        let typ = HandshakeType::read(&mut r)?;
        let _body = r.prefixed(LengthSize::U24)?;
        r.expect_empty("HandshakeMessage")?;
        Ok(Self { typ, encoded })
    }

    /// Decodes the body with `read`, which has to take all of it.
    pub(crate) fn decode<T>(
        &self,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, InvalidMessage>,
    ) -> Result<T, InvalidMessage> {
        let body = self.encoded.get(HANDSHAKE_HEADER_LEN..).unwrap_or_default();
        let mut r = Reader::new(body);
        let decoded = read(&mut r)?;
        r.expect_empty(match self.typ {
            HandshakeType::ClientHello => "ClientHelloPayload",
            HandshakeType::ServerHello => "ServerHelloPayload",
            HandshakeType::EndOfEarlyData => "EndOfEarlyData",
            _ => "HandshakeMessagePayload",
        })?;
        Ok(decoded)
    }
}

/// A message that this side sends.
///
/// Much of a message's content comes from configuration and from the application's own resolvers, verifiers,
/// signers and tickets, so it can be too long. [`Self::encode_message`] detects that: a vector that exceeds
/// its two-byte length makes the whole message exceed [`Self::MAX_LEN`].
pub(crate) trait EncodeMessage {
    /// The type in its header.
    const TYPE: HandshakeType;

    /// How long its body may be, in bytes. Where that is more than 2^16 - 1, [`Self::check_inner_lengths`]
    /// checks the parts that have a two-byte length.
    const MAX_LEN: usize = LengthSize::U16.max_len();

    /// Appends what follows the header.
    fn encode_body(&self, bytes: &mut Vec<u8>);

    /// Checks the parts of a message whose own length may be more than 2^16 - 1.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when a part of a message that is itself not too long has too many bytes.
    fn check_inner_lengths(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Appends the message, header included, to the flight in `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when it would be too long, or a part of it; `bytes` is as it was then.
    fn encode_message(&self, bytes: &mut Vec<u8>) -> Result<(), Error> {
        trace!("sending {:?}", Self::TYPE);
        self.encode_part(bytes)
    }

    /// The same of a message that is not sent as it stands, but goes into another one.
    ///
    /// # Errors
    ///
    /// As for [`Self::encode_message`].
    fn encode_part(&self, bytes: &mut Vec<u8>) -> Result<(), Error> {
        self.check_inner_lengths()?;
        let start = bytes.len();
        Self::TYPE.encode(bytes);
        with_length_prefix(bytes, LengthSize::U24, |bytes| self.encode_body(bytes));

        let len = bytes.len() - start - HANDSHAKE_HEADER_LEN;
        if len > Self::MAX_LEN {
            bytes.truncate(start);
            return Err(Error::General(format!(
                "{:?} cannot be sent: its contents take {len} bytes, {} at most",
                Self::TYPE,
                Self::MAX_LEN
            )));
        }
        Ok(())
    }
}

/// EndOfEarlyData: RFC 9846 §4.6. It has no content.
#[derive(Debug)]
pub(crate) struct EndOfEarlyData;

impl EncodeMessage for EndOfEarlyData {
    const TYPE: HandshakeType = HandshakeType::EndOfEarlyData;

    fn encode_body(&self, _: &mut Vec<u8>) {}
}

/// Finished: the `verify_data` of RFC 9846 §4.5.3, or of RFC 5246 §7.4.9.
#[derive(Debug)]
pub(crate) struct Finished<'a>(pub(crate) &'a [u8]);

impl<'a> Finished<'a> {
    pub(crate) fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self(r.rest()))
    }
}

impl EncodeMessage for Finished<'_> {
    const TYPE: HandshakeType = HandshakeType::Finished;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.0);
    }
}
