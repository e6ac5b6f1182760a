//! Received alerts and change_cipher_spec records.

use super::{Driver, MAX_CHANGE_CIPHER_SPECS};
use crate::conn::records::Receiving;
#[cfg(feature = "tls12")]
use crate::enums::ProtocolVersion;
use crate::enums::{AlertDescription, AlertLevel, ContentType, Side};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::failure::Failure;
use crate::logging::{trace, warn};

impl<Data> Driver<Data> {
    /// Handles an alert (RFC 9846 §6):
    ///
    /// - A close_notify after the handshake ends the peer's direction. During the handshake, it is
    ///   handled like any other alert, because it is not authenticated.
    /// - A warning is counted and otherwise ignored if it is user_canceled, which announces a
    ///   close_notify, or if TLS 1.3 is not negotiated (RFC 5246 §7.2).
    /// - Every other alert ends the connection.
    pub(super) fn handle_alert(&mut self, content: &[u8]) -> Result<(), Failure> {
        let (level, description) = match *content {
            [level, description] => (AlertLevel::from(level), AlertDescription::from(description)),
            [] => return Err(InvalidMessage::InvalidEmptyPayload.into()),
            [_] => return Err(InvalidMessage::MissingData("AlertDescription").into()),
            // RFC 9846 §5.1: a record contains exactly one alert
            _ => return Err(InvalidMessage::TrailingData("AlertMessagePayload").into()),
        };
        if let AlertLevel::Unknown(_) = level {
            // RFC 9846 §6: an invalid enum value is an illegal_parameter
            return Err(Failure::new(
                Error::AlertReceived(description),
                AlertDescription::IllegalParameter,
            ));
        }
        // RFC 9846 §6.1: the end of the data; before the handshake is complete, it is not
        // authenticated
        if description == AlertDescription::CloseNotify && !self.common.is_handshaking() {
            self.common.records.receiving = Receiving::Closed;
            return Ok(());
        }
        let is_tolerated = description == AlertDescription::UserCanceled || !self.is_tls13();
        if level == AlertLevel::Warning && is_tolerated {
            warn!("received warning alert {description:?}");
            return Ok(self.tolerance.count_warning()?);
        }
        Err(Error::AlertReceived(description).into())
    }

    /// Handles a change_cipher_spec. If TLS 1.2 is negotiated, it is a message. Otherwise, up to
    /// two valid ones are dropped between the first ClientHello and the peer's Finished, and any
    /// other is an error (RFC 9846 §5).
    pub(super) fn handle_change_cipher_spec(&mut self, content: &[u8]) -> Result<(), Failure> {
        #[cfg(feature = "tls12")]
        if self.common.negotiated.version == Some(ProtocolVersion::TLSv1_2) {
            return self.change_cipher(content);
        }
        let has_client_hello =
            self.common.side == Side::Client || self.common.negotiated.version.is_some();
        if !has_client_hello || !self.common.is_handshaking() {
            return Err(self.inappropriate(ContentType::ChangeCipherSpec));
        }
        self.change_cipher_specs += 1;
        if content != [1] || self.change_cipher_specs > MAX_CHANGE_CIPHER_SPECS {
            return Err(PeerMisbehaved::IllegalMiddleboxChangeCipherSpec.into());
        }
        trace!("dropped a change_cipher_spec");
        Ok(())
    }

    /// Checks a TLS 1.2 change_cipher_spec, and calls the machine, which knows whether one is
    /// expected now (RFC 5246 §7.1).
    #[cfg(feature = "tls12")]
    fn change_cipher(&mut self, content: &[u8]) -> Result<(), Failure> {
        match content {
            [1] => {}
            [1, ..] => return Err(InvalidMessage::TrailingData("ChangeCipherSpecPayload").into()),
            [] => return Err(InvalidMessage::MissingData("u8").into()),
            _ => return Err(InvalidMessage::InvalidCcs.into()),
        }
        // a change_cipher_spec that was dropped while TLS 1.3 was possible came too early
        if self.change_cipher_specs != 0 {
            return Err(self.inappropriate(ContentType::ChangeCipherSpec));
        }
        let (machine, mut cx) = self.machine_and_context();
        machine.handle_change_cipher_spec(&mut cx)
    }
}
