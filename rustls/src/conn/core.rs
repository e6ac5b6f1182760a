//! What drives a connection: takes records from the record layer, acts on alerts and
//! change_cipher_spec, and hands handshake messages to the state machine.
//!
//! It owns the state machine and the connection's end: the first error stops everything, sends the
//! alert, and is what every later call returns. Buffered ([`super::connection`]) and unbuffered
//! ([`super::unbuffered`]) connections are two faces of it.

use alloc::boxed::Box;
use alloc::vec;
use core::ops::Range;

use super::common_state::CommonState;
use super::machine::{Context, Machine};
#[cfg(feature = "std")]
use crate::crypto::cipher::OutboundChunks;
use crate::enums::{AlertDescription, AlertLevel, ContentType};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::msgs::HandshakeMessage;
use crate::record::receiver::{OpenedRecord, RecordReceiver};
use crate::record::sender::InPlaceError;

/// How many warning alerts are taken in a row.
const MAX_CONSECUTIVE_WARNINGS: u8 = 4;

/// How many change_cipher_spec records are dropped during a handshake.
const MAX_CHANGE_CIPHER_SPECS: u8 = 2;

pub(crate) struct ConnectionCore<Data> {
    pub(crate) machine: Box<dyn Machine<Data>>,
    pub(crate) data: Data,
    pub(crate) common: CommonState,
    /// Why the connection is over.
    failed: Option<Error>,
    consecutive_warnings: u8,
    change_cipher_specs: u8,
}

/// A record taken from the peer.
struct Received {
    record_len: usize,
    content: Content,
}

/// What a record contains, as far as it still has to be acted upon.
enum Content {
    /// Where the plaintext lies in the buffer.
    ApplicationData(Range<usize>),
    /// It is in the receiver's joiner.
    Handshake,
    Alert(AlertLevel, AlertDescription),
    ChangeCipherSpec {
        valid: bool,
    },
    Other(ContentType),
}

/// Reads what lies in `buf` as the content of `record`, other than application data.
#[inline(never)]
fn interpret(
    receiver: &mut RecordReceiver,
    buf: &[u8],
    record: OpenedRecord,
) -> Result<Received, Error> {
    let content = match record.typ {
        ContentType::ApplicationData => Content::ApplicationData(record.payload),
        // RFC 9846 §5.4: zero-length fragments of other types are illegal
        ContentType::Handshake | ContentType::Alert if record.payload.is_empty() => {
            return Err(InvalidMessage::InvalidEmptyPayload.into());
        }
        ContentType::Handshake => {
            receiver.push_handshake(&buf[record.payload])?;
            Content::Handshake
        }
        ContentType::Alert => match buf[record.payload] {
            [level, description] => Content::Alert(level.into(), description.into()),
            [_] => return Err(InvalidMessage::MissingData("AlertDescription").into()),
            // RFC 9846 §5.1: a record contains exactly one alert
            _ => return Err(InvalidMessage::TrailingData("AlertMessagePayload").into()),
        },
        ContentType::ChangeCipherSpec => Content::ChangeCipherSpec {
            valid: buf[record.payload] == [1],
        },
        other => Content::Other(other),
    };
    Ok(Received {
        record_len: record.record_len,
        content,
    })
}

impl<Data> ConnectionCore<Data> {
    pub(crate) fn new(machine: Box<dyn Machine<Data>>, data: Data, common: CommonState) -> Self {
        Self {
            machine,
            data,
            common,
            failed: None,
            consecutive_warnings: 0,
            change_cipher_specs: 0,
        }
    }

    /// The error that ended the connection, if one did.
    pub(crate) fn check_failed(&self) -> Result<(), Error> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Takes one record from the front of `buf` and acts on it; `None` when it is not complete.
    ///
    /// An error ends the connection; the alert for the peer waits to be sent then.
    #[inline]
    pub(crate) fn process_record(&mut self, buf: &mut [u8]) -> Result<Option<Processed>, Error> {
        let record = match self.common.receiver.open(buf) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.fail(error)),
        };
        if self.is_expected_application_data(&record) {
            return Ok(Some(Processed {
                record_len: record.record_len,
                plaintext: record.payload,
            }));
        }
        let received = interpret(&mut self.common.receiver, buf, record);
        self.act_or_fail(received).map(Some)
    }

    /// As [`Self::process_record`], for all that waits in the connection's own receive buffer.
    /// Plaintext stays there to be read.
    #[cfg(feature = "std")]
    pub(crate) fn process_received(&mut self) -> Result<(), Error> {
        self.check_failed()?;
        // RFC 9846 §6.1: data received after a closure alert is ignored
        while !self.common.received_close_notify {
            let common = &mut self.common;
            let record = match common.receiver.open(common.received.unopened()) {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(error) => return Err(self.fail(error)),
            };
            if self.is_expected_application_data(&record) {
                let received = &mut self.common.received;
                received.keep(record.record_len, record.payload);
                continue;
            }
            let common = &mut self.common;
            let content = interpret(&mut common.receiver, common.received.unopened(), record);
            let processed = self.act_or_fail(content)?;
            self.common.received.discard(processed.record_len);
        }
        Ok(())
    }

    /// True for the record that nearly every one is once the handshake is complete: application data,
    /// about which there is nothing to decide.
    #[inline]
    fn is_expected_application_data(&mut self, record: &OpenedRecord) -> bool {
        let expected =
            record.typ == ContentType::ApplicationData && self.common.may_receive_application_data;
        if expected {
            self.common.key_updates_received = 0;
            self.consecutive_warnings = 0;
        }
        expected
    }

    /// Acts on what a record contains, or ends the connection.
    #[inline(never)]
    fn act_or_fail(&mut self, received: Result<Received, Error>) -> Result<Processed, Error> {
        received
            .and_then(|received| self.act(received))
            .map_err(|error| self.fail(error))
    }

    /// Acts on what a record contains, other than application data that is expected.
    fn act(&mut self, received: Received) -> Result<Processed, Error> {
        match received.content {
            // RFC 9846 §4.3.10: early data that is skipped
            Content::ApplicationData(plaintext)
                if plaintext.is_empty() && self.common.receiver.skips_early_data() => {}
            Content::Handshake => self.handle_handshake()?,
            Content::Alert(level, description) => self.handle_alert(level, description)?,
            Content::ChangeCipherSpec { valid } => self.handle_change_cipher_spec(valid)?,
            Content::ApplicationData(_) => {
                return Err(self.inappropriate(ContentType::ApplicationData));
            }
            Content::Other(typ) => return Err(self.inappropriate(typ)),
        }
        Ok(Processed {
            record_len: received.record_len,
            plaintext: Processed::NO_PLAINTEXT,
        })
    }

    fn inappropriate(&self, got_type: ContentType) -> Error {
        Error::InappropriateMessage {
            expect_types: match self.common.may_receive_application_data {
                true => vec![ContentType::ApplicationData, ContentType::Handshake],
                false => vec![ContentType::Handshake],
            },
            got_type,
        }
    }

    fn handle_handshake(&mut self) -> Result<(), Error> {
        self.consecutive_warnings = 0;
        while let Some(message) = self.common.receiver.next_handshake_message()? {
            let message = HandshakeMessage::read(&message)?;
            let mut cx = Context {
                common: &mut self.common,
                data: &mut self.data,
            };
            self.machine.handle(message, &mut cx)?;
        }
        Ok(())
    }

    /// RFC 9846 §6: a closure alert ends the peer's sending, user_canceled announces one, and every
    /// other alert ends the connection, whatever level it claims. But a peer that does not know yet
    /// that this is TLS 1.3 may warn, as before.
    fn handle_alert(
        &mut self,
        level: AlertLevel,
        description: AlertDescription,
    ) -> Result<(), Error> {
        if let AlertLevel::Unknown(_) = level {
            // RFC 9846 §6: an invalid enum value is an illegal_parameter
            self.common
                .send_fatal_alert(AlertDescription::IllegalParameter);
            return Err(Error::AlertReceived(description));
        }
        match (level, description) {
            (_, AlertDescription::CloseNotify) if self.is_closable(level) => {
                self.common.received_close_notify = true;
                Ok(())
            }
            (AlertLevel::Warning, _)
                if description == AlertDescription::UserCanceled
                    || self.common.negotiated_version.is_none() =>
            {
                self.consecutive_warnings += 1;
                match self.consecutive_warnings > MAX_CONSECUTIVE_WARNINGS {
                    true => Err(PeerMisbehaved::TooManyWarningAlertsReceived.into()),
                    false => Ok(()),
                }
            }
            _ => Err(Error::AlertReceived(description)),
        }
    }

    /// Whether a close_notify is an orderly end: after the handshake, whatever its level; and in answer
    /// to nothing yet. In between, it is the peer's refusal to go on.
    fn is_closable(&self, level: AlertLevel) -> bool {
        match self.common.negotiated_version {
            Some(_) => self.common.may_receive_application_data,
            None => level == AlertLevel::Warning,
        }
    }

    /// RFC 9846 §5: dropped during the handshake, illegal before and after.
    fn handle_change_cipher_spec(&mut self, valid: bool) -> Result<(), Error> {
        if !self.common.drops_change_cipher_spec {
            return Err(self.inappropriate(ContentType::ChangeCipherSpec));
        }
        self.change_cipher_specs += 1;
        if !valid || self.change_cipher_specs > MAX_CHANGE_CIPHER_SPECS {
            return Err(PeerMisbehaved::IllegalMiddleboxChangeCipherSpec.into());
        }
        Ok(())
    }

    /// Ends the connection: tells the peer why, and returns what every later call will.
    fn fail(&mut self, error: Error) -> Error {
        if let Some(description) = error.alert() {
            self.common.send_fatal_alert(description);
        }
        self.failed = Some(error.clone());
        error
    }

    /// Queues application data for sending, with new keys where the present ones are worn out.
    ///
    /// # Errors
    ///
    /// [`Error::EncryptError`] when nothing can be encrypted any more.
    #[cfg(feature = "std")]
    pub(crate) fn queue_application_data(
        &mut self,
        payload: OutboundChunks<'_>,
    ) -> Result<(), Error> {
        if !self.common.may_send_application_data {
            payload.copy_to_vec(&mut self.common.early_plaintext);
            return Ok(());
        }
        let mut rest = payload;
        while !rest.is_empty() {
            self.refresh_worn_keys(1)?;
            let (now, later) = rest.split_at(self.common.sender.payload_left());
            self.common
                .seal_to_outgoing(ContentType::ApplicationData, now)?;
            rest = later;
        }
        Ok(())
    }

    /// Goes on with new sending keys when the present ones cannot protect `payload_len` more bytes
    /// (RFC 9846 §5.5).
    #[inline]
    pub(crate) fn refresh_worn_keys(&mut self, payload_len: usize) -> Result<(), Error> {
        if self.common.sender.payload_left() >= payload_len {
            return Ok(());
        }
        self.machine.refresh_traffic_keys(&mut self.common)?;
        match self.common.sender.payload_left() {
            0 => Err(Error::EncryptError),
            _ => Ok(()),
        }
    }

    /// Makes a record of the application data at `payload` of `buf`, in its place.
    pub(crate) fn seal_in_place(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, InPlaceError> {
        if !self.common.can_send_application_data() {
            return Err(InPlaceError::EncryptExhausted);
        }
        self.refresh_worn_keys(1)
            .map_err(|_| InPlaceError::EncryptExhausted)?;
        if self.common.wants_write() {
            return Err(InPlaceError::OutputPending);
        }
        self.common
            .sender
            .seal_in_place(ContentType::ApplicationData, buf, payload)
    }

    pub(crate) fn refresh_traffic_keys(&mut self) -> Result<(), Error> {
        self.check_failed()?;
        self.machine.refresh_traffic_keys(&mut self.common)
    }

    pub(crate) fn export_keying_material<T: AsMut<[u8]>>(
        &self,
        mut output: T,
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<T, Error> {
        self.check_failed()?;
        self.machine
            .export_keying_material(output.as_mut(), label, context)?;
        Ok(output)
    }
}

/// A record that was taken in and acted upon.
pub(crate) struct Processed {
    /// How many bytes of the buffer it took.
    pub(crate) record_len: usize,
    /// Where in the buffer application data lies; empty when there is none.
    pub(crate) plaintext: Range<usize>,
}

impl Processed {
    const NO_PLAINTEXT: Range<usize> = crate::record::HEADER_LEN..crate::record::HEADER_LEN;
}
