//! The received records that wait while the handshake is waiting for an application operation.

use rustls_core::crypto::aead::TAG_LEN;

use super::common_state::CommonState;
use crate::enums::{AlertLevel, ContentType, ProtocolVersion};
use crate::handshake::wait::Opens;
use crate::record::receiver::RecordHeader;
use crate::record::{ALERT_LEN, HEADER_LEN};

/// The length of a TLS 1.3 alert without padding: its content, its type, and the tag.
const PROTECTED_ALERT_LEN: usize = ALERT_LEN + 1 + TAG_LEN;

impl CommonState {
    /// True if the handshake cannot complete without more bytes from the peer. If the stream of
    /// bytes ends now, the handshake has failed, even if it [is waiting](Self::is_waiting) for an
    /// operation. So code that polls can drop the operation if the peer has disconnected.
    ///
    /// False if the handshake is complete, or if it is waiting and the peer's last message may
    /// already have arrived. Call this once all received bytes have been processed or must wait.
    pub fn needs_peer(&self) -> bool {
        let joiner = match &self.quic {
            Some(quic) => &quic.joiner,
            None => &self.records.joiner,
        };
        match self.wait.map(|wait| wait.opens) {
            None => self.is_handshaking(),
            Some(Opens::Nothing) => false,
            Some(Opens::Alerts) => joiner.is_empty() && !self.records.received.has_record(),
        }
    }

    /// True if the handshake is waiting for an operation, and the record at the front of `buf` must
    /// wait as well. An alert, or a change_cipher_spec that TLS 1.3 drops, may be handled now, but
    /// only if no handshake bytes precede it and the peer has not sent its Finished.
    ///
    /// `drops_change_cipher_spec` is true if TLS 1.3 would drop another change_cipher_spec.
    pub(super) fn must_wait(&self, buf: &[u8], drops_change_cipher_spec: bool) -> bool {
        let records = &self.records;
        match self.wait.map(|wait| wait.opens) {
            None => return false,
            Some(Opens::Nothing) => return true,
            Some(Opens::Alerts) if !records.joiner.is_empty() => return true,
            Some(Opens::Alerts) => {}
        }
        let header = match RecordHeader::read(buf) {
            Ok(Some(header)) if header.record_len() <= buf.len() => header,
            _ => return true,
        };
        let is_tls13 = self.negotiated.version == Some(ProtocolVersion::TLSv1_3);
        let is_handled = match header.typ {
            // a warning may be an error in TLS 1.3, so it waits until the version is known
            ContentType::Alert => {
                header.payload_len == ALERT_LEN
                    && (self.negotiated.version.is_some()
                        || buf.get(HEADER_LEN) == Some(&u8::from(AlertLevel::Fatal)))
            }
            // TLS 1.3 drops a valid one, and an alert may follow
            ContentType::ChangeCipherSpec => {
                is_tls13
                    && buf.get(HEADER_LEN..header.record_len()) == Some(&[1])
                    && drops_change_cipher_spec
            }
            // TLS 1.3 encrypts the type, but the length shows which record may be an alert
            ContentType::ApplicationData => {
                is_tls13
                    && records.receiver.is_decrypting()
                    && header.payload_len == PROTECTED_ALERT_LEN
            }
            _ => false,
        };
        !is_handled
    }
}
