//! What is left of a connection whose records are made by another: the operating system's kernel, as a rule.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, encode_bytes};

use super::driver::Driver;
use super::established::Established;
use super::unwinding::whole;
use crate::client::ClientConnectionData;
use crate::enums::{HandshakeType, ProtocolVersion};
use crate::error::{Error, InvalidMessage};
use crate::msgs::HandshakeMessage;
use crate::msgs::session_ticket::NewSessionTicket;
use crate::record::joiner::MAX_HANDSHAKE_LEN;
use crate::suites::{ConnectionTrafficSecrets, ExtractedSecrets, SupportedCipherSuite};

/// A connection whose records are protected outside of this library, with the secrets that it was left for.
///
/// It has no keys for records and no buffers. What remains are the secrets that the next keys are derived from,
/// and, of a client, what it takes to store session tickets.
pub struct KernelConnection<Data> {
    /// Without record keys.
    driver: Driver<Data>,
    suite: SupportedCipherSuite,
}

impl<Data> KernelConnection<Data> {
    /// The secrets of `driver`, and what is left of it.
    ///
    /// # Errors
    ///
    /// As for [`CommonState::extract_secrets`](super::CommonState::extract_secrets).
    pub(super) fn new(mut driver: Driver<Data>) -> Result<(ExtractedSecrets, Self), Error> {
        let common = &mut driver.common;
        let secrets = common.extract_secrets()?;
        let Some(suite) = common.negotiated.suite else {
            return Err(Error::HandshakeNotComplete);
        };
        common.records.sender.close();
        common.records.receiver.close();
        Ok((secrets, Self { driver, suite }))
    }

    /// The cipher suite that was negotiated.
    pub fn negotiated_cipher_suite(&self) -> SupportedCipherSuite {
        self.suite
    }

    /// The protocol version that was negotiated.
    pub fn protocol_version(&self) -> ProtocolVersion {
        self.suite.version().version
    }

    /// Replaces the sending key (RFC 9846 §4.7.3); returns the new one and its first sequence number.
    ///
    /// Send a KeyUpdate under the present key, and everything after it under the new one. That is due when the
    /// peer's KeyUpdate requests it, before the next application data, and before the present key has
    /// protected as many records as `confidentiality_limit` of the cipher suite says.
    ///
    /// # Errors
    ///
    /// [`Error::General`] in TLS 1.2, which cannot replace keys, and after 2^48 - 1 updates; the error that ended
    /// the connection.
    pub fn update_tx_secret(&mut self) -> Result<(u64, ConnectionTrafficSecrets), Error> {
        self.update(Established::update_extracted_sending)
    }

    /// Replaces the receiving key; returns the new one and its first sequence number.
    ///
    /// The peer has sent a KeyUpdate, and protects everything behind it with the new key.
    ///
    /// # Errors
    ///
    /// [`Error::General`] in TLS 1.2, which cannot replace keys; the error that ended the connection.
    pub fn update_rx_secret(&mut self) -> Result<(u64, ConnectionTrafficSecrets), Error> {
        self.update(Established::update_extracted_receiving)
    }

    fn update(
        &mut self,
        next: impl FnOnce(&mut Established) -> Result<ConnectionTrafficSecrets, Error>,
    ) -> Result<(u64, ConnectionTrafficSecrets), Error> {
        let common = &mut self.driver.common;
        common.check_failed()?;
        whole(common, |common| {
            let established = common.established.as_mut();
            Ok((0, next(established.ok_or(Error::HandshakeNotComplete)?)?))
        })
    }
}

impl KernelConnection<ClientConnectionData> {
    /// Stores the ticket in a NewSessionTicket, for a later connection to the same server (RFC 9846 §4.7.1).
    ///
    /// `payload` is what follows the message's type and length:
    ///
    /// ```text
    ///   │ 4 │ length, 3 bytes │ payload │
    /// ```
    ///
    /// One handshake record may have several messages, and one message may take several records.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidMessage`] and [`Error::PeerMisbehaved`] for what the server got wrong; tell it by a fatal
    /// alert. The latter ends the connection: its secrets are gone (RFC 9846 §6), and each further call returns the
    /// same error. [`Error::General`] in TLS 1.2, where tickets come during the handshake only.
    pub fn handle_new_session_ticket(&mut self, payload: &[u8]) -> Result<(), Error> {
        if self.suite.tls13().is_none() {
            return Err(Error::General(
                "TLS 1.2 session tickets may not be sent once the handshake has completed".into(),
            ));
        }
        self.driver.check_failed()?;
        if payload.len() > MAX_HANDSHAKE_LEN {
            return Err(InvalidMessage::HandshakePayloadTooLarge.into());
        }
        let mut encoded = Vec::with_capacity(payload.len() + 4);
        HandshakeType::NewSessionTicket.encode(&mut encoded);
        encode_bytes(&mut encoded, LengthSize::U24, payload);

        let message = HandshakeMessage::new(&encoded)?;
        // what cannot be read is no reason to give up tickets: the caller may have cut it wrong
        message.decode(NewSessionTicket::read)?;
        self.driver.handle_message(message)
    }
}
