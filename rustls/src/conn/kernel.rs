//! A connection whose records are processed outside this library, usually by the kernel.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, encode_bytes};

use super::driver::Driver;
use super::unwinding::fail_on_panic;
use crate::config::observer::events::Direction;
use crate::enums::{HandshakeType, ProtocolVersion};
use crate::error::{Error, InvalidMessage};
use crate::handshake::client::connection_data::ClientConnectionData;
use crate::handshake::established::Established;
use crate::msgs::HandshakeMessage;
use crate::msgs::session_ticket::NewSessionTicket;
use crate::record::joiner::MAX_HANDSHAKE_LEN;
use crate::suites::{ConnectionTrafficSecrets, ExtractedSecrets, SupportedCipherSuite};

/// A connection whose records are protected outside this library.
///
/// It has neither record keys nor buffers. It keeps the secrets from which the next keys are
/// derived. On a client, it also stores received session tickets.
pub struct KernelConnection<Data> {
    /// The driver, which has no record keys.
    driver: Driver<Data>,
    suite: SupportedCipherSuite,
}

impl<Data> KernelConnection<Data> {
    /// Returns the record keys of `driver`, and the rest of the connection.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`CommonState::extract_secrets`](super::CommonState::extract_secrets).
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

    /// Notes for the observer that the application has the keys.
    pub(super) fn report_extraction(&mut self) {
        self.driver.common.report_extraction();
    }

    /// Returns the negotiated cipher suite.
    pub fn negotiated_cipher_suite(&self) -> SupportedCipherSuite {
        self.suite
    }

    /// Returns the negotiated protocol version.
    pub fn protocol_version(&self) -> ProtocolVersion {
        self.suite.version().version
    }

    /// Replaces the sending key (RFC 9846 §4.7.3). Returns the new key and its first sequence
    /// number.
    ///
    /// Send a KeyUpdate under the current key, and everything after it under the new one. Do this
    /// if the peer's KeyUpdate requests it, before the next application data. Also do it before the
    /// number of records under the current key reaches the suite's `confidentiality_limit`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`], and does not replace the key,
    ///
    /// - in TLS 1.2, which has no key updates;
    /// - after 2^48 - 1 updates;
    /// - if the crypto provider does not export the key.
    ///
    /// Returns the error that ended the connection if it has failed.
    pub fn update_tx_secret(&mut self) -> Result<(u64, ConnectionTrafficSecrets), Error> {
        self.update(Direction::Sending, Established::update_extracted_sending)
    }

    /// Replaces the receiving key. Returns the new key and its first sequence number.
    ///
    /// Call this when the peer has sent a KeyUpdate: everything after the KeyUpdate uses the new
    /// key.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`], and does not replace the key,
    ///
    /// - in TLS 1.2, which has no key updates;
    /// - if the crypto provider does not export the key.
    ///
    /// Returns the error that ended the connection if it has failed.
    pub fn update_rx_secret(&mut self) -> Result<(u64, ConnectionTrafficSecrets), Error> {
        self.update(
            Direction::Receiving,
            Established::update_extracted_receiving,
        )
    }

    fn update(
        &mut self,
        direction: Direction,
        next: impl FnOnce(&mut Established) -> Result<ConnectionTrafficSecrets, Error>,
    ) -> Result<(u64, ConnectionTrafficSecrets), Error> {
        fail_on_panic(&mut self.driver, |driver| {
            driver.check_failed()?;
            let established = driver.common.established.as_mut();
            let secrets = next(established.ok_or(Error::HandshakeNotComplete)?)?;
            driver.common.report_keys(direction);
            Ok((0, secrets))
        })
    }
}

impl KernelConnection<ClientConnectionData> {
    /// Stores the ticket of a NewSessionTicket message for a later connection to the same server
    /// (RFC 9846 §4.7.1).
    ///
    /// `payload` is the part of the message after its type and length:
    ///
    /// ```text
    ///   │ 4 │ length, 3 bytes │ payload │
    /// ```
    ///
    /// One handshake record may contain several messages, and one message may span several records.
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidMessage`] if the message is malformed. Send the server a fatal alert.
    /// - [`Error::PeerMisbehaved`] if the server violated the protocol. Send a fatal alert. The
    ///   connection has ended: its secrets are dropped (RFC 9846 §6), and each later call returns
    ///   the same error.
    /// - [`Error::General`] in TLS 1.2, which sends tickets only during the handshake.
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
        // a malformed message does not end the connection: the caller may have split it wrongly
        message.decode(NewSessionTicket::read)?;
        fail_on_panic(&mut self.driver, |driver| {
            driver.handle_ticket_from_kernel(message)
        })
    }
}
