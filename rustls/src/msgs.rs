//! The handshake messages of TLS 1.3 (RFC 9846 §4) and 1.2 ([`tls12`]), as structs with a codec.
//!
//! Reading checks syntax, for example lengths, bounds and duplicates. The handshakes decide what a
//! message means and whether it is allowed at that point. Most values borrow from the message they
//! were read from.
//!
//! ```text
//!   record::joiner ──► HandshakeMessage ──► the tables of handshake::{machine, tls13, tls12}
//!                                                       │ decode
//!   record::sender ◄── one Vec for a flight ◄── EncodeMessage::encode_message
//! ```
//!
//! There is one file for each family of messages. A message with extensions has a table of its
//! extensions ([`extension_block`]). Bodies of extensions that occur in several messages are in
//! [`extensions`] or have their own files. The table of which extension is allowed in which message
//! is in [`extensions`].

pub(crate) mod certificate;
pub(crate) mod certificate_request;
pub(crate) mod certificate_verify;
pub(crate) mod client_extensions;
pub(crate) mod client_hello;
pub(crate) mod compressed_certificate;
pub(crate) mod ech;
pub(crate) mod encrypted_extensions;
mod extension_block;
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
use core::fmt;

use rustls_core::codec::{Codec, LengthSize, Reader, with_length_prefix};
use rustls_core::enums::HandshakeType;
use rustls_core::error::{Error, InvalidMessage};
/// The length in bytes of a handshake message's header: type and 24-bit length (RFC 9846 §4).
pub(crate) use rustls_core::record::joiner::HANDSHAKE_HEADER_LEN;

use crate::logging::trace;

/// A received handshake message. The handshake decodes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandshakeMessage<'a> {
    pub(crate) typ: HandshakeType,
    /// The whole message, header included, as the transcript hashes it.
    pub(crate) encoded: &'a [u8],
}

impl<'a> HandshakeMessage<'a> {
    /// Creates a message from `encoded`: a complete message with its header and nothing after it.
    pub(crate) fn new(encoded: &'a [u8]) -> Result<Self, InvalidMessage> {
        let mut r = Reader::new(encoded);
        let typ = HandshakeType::read(&mut r)?;
        let _body = r.prefixed(LengthSize::U24)?;
        r.expect_empty("HandshakeMessage")?;
        Ok(Self { typ, encoded })
    }

    /// Decodes the body with `read`, which must consume all of it.
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

/// A message to send.
///
/// Much of a message's content comes from configuration and from the application's resolvers,
/// verifiers, signers and tickets, so it can be too long. [`Self::encode_message`] detects that: a
/// vector that exceeds its two-byte length makes the whole message exceed [`Self::MAX_LEN`].
pub(crate) trait EncodeMessage {
    /// The type in the header.
    const TYPE: HandshakeType;

    /// The maximum length of the body in bytes. If it is more than 2^16 - 1,
    /// [`Self::check_inner_lengths`] checks the parts with a two-byte length.
    const MAX_LEN: usize = LengthSize::U16.max_len();

    /// Appends the body of the message.
    fn encode_body(&self, bytes: &mut Vec<u8>);

    /// Checks the parts that may be too long for their length fields although the whole message is
    /// not too long.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if a part is too long.
    fn check_inner_lengths(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Appends the message, header included, to the flight in `bytes`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if the message or a part of it is too long, and leaves `bytes`
    /// unchanged.
    fn encode_message(&self, bytes: &mut Vec<u8>) -> Result<(), Error> {
        trace!("sending {:?}", Self::TYPE);
        self.encode_part(bytes)
    }

    /// Like [`Self::encode_message`], but without the line in the log. An outer ClientHello is
    /// encoded with it, because its inner one has been logged.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::encode_message`].
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

/// EndOfEarlyData: RFC 9846 §4.6. It is empty.
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

/// Prints bytes in hexadecimal, in the format used by rustls 0.23.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Debug for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
