//! The traffic secrets of a connection: installing their keys, replacing them by KeyUpdate (RFC 9846
//! §4.7.3), and exporting from them (§7.5).
//!
//! The handshakes install handshake and first application keys; [`Traffic`] is what is left of the key
//! schedule once they are done.

use alloc::vec::Vec;

use super::key_schedule;
use crate::conn::CommonState;
use crate::crypto::tls13::OkmBlock;
use crate::enums::{AlertDescription, KeyUpdateRequest, ProtocolVersion};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::msgs::EncodeMessage;
use crate::suites::Tls13CipherSuite;

/// How many KeyUpdates are taken in a row, without application data in between.
const MAX_KEY_UPDATES: u8 = 32;

/// RFC 9846 §4.7.3: a sender must not update its keys more often.
const MAX_SENDING_UPDATES: u64 = (1 << 48) - 1;

/// Seals all that follows with the keys of `secret`.
pub(crate) fn set_sending_secret(
    suite: &'static Tls13CipherSuite,
    secret: &OkmBlock,
    common: &mut CommonState,
) {
    let (key, iv) = key_schedule::traffic_key(suite, secret);
    common.sender.set_encrypter(
        suite.aead_alg.encrypter(key, iv),
        ProtocolVersion::TLSv1_3,
        suite.common.confidentiality_limit,
    );
}

/// Opens all that follows with the keys of `secret`.
///
/// # Errors
///
/// [`PeerMisbehaved::KeyEpochWithPendingFragment`] when handshake bytes wait that came under the old keys.
pub(crate) fn set_receiving_secret(
    suite: &'static Tls13CipherSuite,
    secret: &OkmBlock,
    common: &mut CommonState,
) -> Result<(), PeerMisbehaved> {
    // RFC 9846 §5.1: handshake messages must not span key changes
    common.receiver.check_aligned()?;
    let (key, iv) = key_schedule::traffic_key(suite, secret);
    common
        .receiver
        .set_decrypter(suite.aead_alg.decrypter(key, iv), ProtocolVersion::TLSv1_3)
}

/// The secrets of an established connection.
pub(crate) struct Traffic {
    suite: &'static Tls13CipherSuite,
    sending: OkmBlock,
    receiving: OkmBlock,
    exporter_secret: OkmBlock,
    /// N of the sending `application_traffic_secret_N`.
    sending_updates: u64,
    /// We requested a KeyUpdate, and none came since.
    awaits_update: bool,
}

impl Traffic {
    /// `sending` and `receiving` are the `application_traffic_secret_0` of either direction, of which the
    /// keys are installed already.
    pub(crate) fn new(
        suite: &'static Tls13CipherSuite,
        sending: OkmBlock,
        receiving: OkmBlock,
        exporter_secret: OkmBlock,
    ) -> Self {
        Self {
            suite,
            sending,
            receiving,
            exporter_secret,
            sending_updates: 0,
            awaits_update: false,
        }
    }

    pub(crate) fn suite(&self) -> &'static Tls13CipherSuite {
        self.suite
    }

    /// Handles the peer's KeyUpdate.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved::KeyEpochWithPendingFragment`] when more handshake bytes follow it under the old
    /// keys; [`PeerMisbehaved::TooManyKeyUpdateRequests`]; [`InvalidMessage::InvalidKeyUpdate`], with its
    /// own alert queued.
    pub(crate) fn read_key_update(
        &mut self,
        request: KeyUpdateRequest,
        common: &mut CommonState,
    ) -> Result<(), Error> {
        // RFC 9846 §5.1: handshake messages must not span key changes
        common.receiver.check_aligned()?;
        let responds = match request {
            KeyUpdateRequest::UpdateRequested => true,
            KeyUpdateRequest::UpdateNotRequested => false,
            // RFC 9846 §4.7.3: any other value is an illegal_parameter
            _ => {
                common.send_fatal_alert(AlertDescription::IllegalParameter);
                return Err(InvalidMessage::InvalidKeyUpdate.into());
            }
        };
        let awaited = core::mem::take(&mut self.awaits_update);
        if responds || !awaited {
            count_key_update(common)?;
        }

        // RFC 9846 §4.7.3: a receiver must update its receiving keys
        let next = key_schedule::next_application_traffic_secret(self.suite, &self.receiving);
        set_receiving_secret(self.suite, &next, common)?;
        self.receiving = next;

        // RFC 9846 §4.7.3: a request must be answered before the next application data, and several
        // of them by a single answer
        if responds && !common.key_update_queued {
            common.key_update_queued =
                self.send_key_update(KeyUpdateRequest::UpdateNotRequested, common);
        }
        Ok(())
    }

    /// Sends a KeyUpdate that requests one in return, and goes on with new sending keys.
    pub(crate) fn refresh(&mut self, common: &mut CommonState) {
        // RFC 9846 §4.7.3: no second request until a KeyUpdate has come
        let request = match self.awaits_update {
            true => KeyUpdateRequest::UpdateNotRequested,
            false => KeyUpdateRequest::UpdateRequested,
        };
        if self.send_key_update(request, common) {
            self.awaits_update = true;
        }
    }

    /// Returns whether it was sent.
    fn send_key_update(&mut self, request: KeyUpdateRequest, common: &mut CommonState) -> bool {
        // RFC 9846 §4.7.3: the number of updates is limited, requested or not. §6.1: nothing is sent
        // after close_notify
        if self.sending_updates >= MAX_SENDING_UPDATES || common.sent_close_notify {
            return false;
        }
        self.sending_updates += 1;

        // RFC 9846 §4.7.3: a KeyUpdate is encrypted with the old keys
        let mut message = Vec::with_capacity(5);
        request.encode_message(&mut message);
        common.send_handshake(&message);

        self.sending = key_schedule::next_application_traffic_secret(self.suite, &self.sending);
        set_sending_secret(self.suite, &self.sending, common);
        true
    }

    /// Fills `output` with keying material.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when `output` is empty or longer than 255 times the hash function's output
    /// length, or `label` is longer than 249 bytes.
    pub(crate) fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<(), Error> {
        if output.is_empty() {
            return Err(Error::General(
                "no keying material is asked for: the output is empty".into(),
            ));
        }
        key_schedule::exporter(self.suite, &self.exporter_secret, label, context, output)
            .map_err(|_| Error::General("the exporter's output or label is too long".into()))
    }
}

/// Bounds how often a peer can make us derive keys for nothing.
fn count_key_update(common: &mut CommonState) -> Result<(), PeerMisbehaved> {
    if common.key_updates_received >= MAX_KEY_UPDATES {
        return Err(PeerMisbehaved::TooManyKeyUpdateRequests);
    }
    common.key_updates_received += 1;
    Ok(())
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
