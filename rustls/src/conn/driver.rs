//! The driver of a connection. It takes records from the record layer, handles alerts and
//! change_cipher_spec, and passes handshake messages to the handshake.
//!
//! While the handshake waits for an operation of the application, only alerts are handled.
//!
//! It owns the handshake. The first failure ends the connection, and every later call returns it.
//! Buffered ([`super::connection`]) and unbuffered ([`super::unbuffered`]) connections are both
//! built on it.

use alloc::boxed::Box;
use alloc::vec;
use core::ops::Range;
use core::task::{self, Poll, ready};

use super::common_state::CommonState;
use super::records::Receiving;
#[cfg(feature = "tls12")]
use super::shared_session::SharedSession;
use super::unwinding::Abandon;
use super::write_access::{EndHandshake, WriteAccess};
use crate::enums::{AlertDescription, AlertLevel, ContentType, ProtocolVersion, Side};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::failure::Failure;
#[cfg(feature = "tls12")]
use crate::handshake::SessionInUse;
use crate::handshake::operation::Wait;
use crate::handshake::tolerance::Tolerance;
use crate::handshake::{Context, Machine};
use crate::logging::{trace, warn};
use crate::msgs::{HANDSHAKE_HEADER_LEN, HandshakeMessage};
use crate::record::HEADER_LEN;
#[cfg(feature = "std")]
use crate::record::buffer::ReceiveBuffer;
use crate::record::receiver::RecordHeader;

/// The length of an alert.
const ALERT_LEN: usize = 2;

/// The length of a TLS 1.3 alert without padding: its content, its type, and the tag.
const PROTECTED_ALERT_LEN: usize = ALERT_LEN + 1 + 16;

/// The maximum number of bytes from QUIC that are buffered while a handshake waits: a message of
/// maximum length, and as much for those behind it.
const MAX_WAITING_CRYPTO: usize = 2 * (HANDSHAKE_HEADER_LEN + 0xffff);

/// The maximum number of change_cipher_spec records that are dropped during a handshake.
const MAX_CHANGE_CIPHER_SPECS: u8 = 2;

pub(crate) struct Driver<Data> {
    pub(crate) common: CommonState,
    pub(crate) data: Data,
    handshake: Handshake<Data>,
    tolerance: Tolerance,
    change_cipher_specs: u8,
    /// The length in bytes of the record whose content ended the connection. Records are shorter
    /// than 2^16.
    refused_len: u16,
}

/// The handshake of a connection, and the session that ends with it.
struct Handshake<Data> {
    machine: Box<dyn Machine<Data>>,
    /// The session that is removed from its store if the connection fails.
    #[cfg(feature = "tls12")]
    session: Option<Box<dyn SessionInUse>>,
}

impl<Data> EndHandshake for Handshake<Data> {
    #[cold]
    fn end(&mut self) {
        self.machine.fail();
        #[cfg(feature = "tls12")]
        if let Some(session) = self.session.take() {
            session.forget();
        }
    }
}

/// A processed record.
pub(crate) struct Processed {
    /// The length of the record in the buffer, in bytes.
    pub(crate) record_len: usize,
    /// The range of application data in the buffer; empty if there is none.
    pub(crate) plaintext: Range<usize>,
}

/// The result for a record other than plain application data.
enum Handled {
    /// The content was handled.
    Done,
    /// The content is early data for the application.
    EarlyData,
}

impl Processed {
    pub(crate) const fn without_plaintext(record_len: usize) -> Self {
        Self {
            record_len,
            plaintext: HEADER_LEN..HEADER_LEN,
        }
    }
}

impl<Data> Driver<Data> {
    pub(crate) fn new(machine: Box<dyn Machine<Data>>, data: Data, common: CommonState) -> Self {
        Self {
            common,
            data,
            handshake: Handshake {
                machine,
                #[cfg(feature = "tls12")]
                session: None,
            },
            tolerance: Tolerance::default(),
            change_cipher_specs: 0,
            refused_len: 0,
        }
    }

    /// Sets the session that is removed from its store if the connection fails.
    #[cfg(feature = "tls12")]
    pub(crate) fn with_session(mut self, session: Option<Box<dyn SessionInUse>>) -> Self {
        self.handshake.session = session;
        self
    }

    /// Shares the session with the sending half of a split connection.
    pub(super) fn share_session(&mut self) -> Option<Box<dyn EndHandshake>> {
        #[cfg(feature = "tls12")]
        {
            let session = SharedSession::new(self.handshake.session.take()?);
            self.handshake.session = Some(Box::new(session.clone()));
            Some(Box::new(session))
        }
        #[cfg(not(feature = "tls12"))]
        None
    }

    /// Returns the parts that a writer uses.
    #[inline]
    pub(crate) fn write_access(&mut self) -> WriteAccess<'_> {
        WriteAccess::new(&mut self.common, &mut self.handshake)
    }

    /// Returns the length of the record whose content caused the last error, once. Returns 0 if
    /// there is none, for example if the record could not be opened.
    pub(crate) fn take_refused_len(&mut self) -> usize {
        core::mem::take(&mut self.refused_len).into()
    }

    /// Processes one record at the front of `buf`. Returns `None` if it is incomplete.
    ///
    /// An error ends the connection; the alert for the peer is queued.
    // inlined into the two loops over received records: a call would return its result through
    // memory
    #[inline(always)]
    pub(crate) fn process_record(&mut self, buf: &mut [u8]) -> Result<Option<Processed>, Error> {
        let records = &mut self.common.records;
        let record = match records.receiver.open(buf) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.fail(error.into())),
        };
        // the fast path for nearly every record
        if record.typ == ContentType::ApplicationData
            && records.receiving == Receiving::Traffic
            && records.joiner.is_empty()
            && !record.payload.is_empty()
        {
            self.tolerance.reset_key_updates();
            return Ok(Some(Processed {
                record_len: record.record_len,
                plaintext: record.payload,
            }));
        }
        match self.handle_content(record.typ, &buf[record.payload.clone()]) {
            Ok(Handled::Done) => Ok(Some(Processed::without_plaintext(record.record_len))),
            Ok(Handled::EarlyData) => Ok(Some(Processed {
                record_len: record.record_len,
                plaintext: record.payload,
            })),
            Err(failure) => Err(self.refuse(failure, record.record_len)),
        }
    }

    /// Ends the connection because of the content of a record of `record_len` bytes.
    #[cold]
    fn refuse(&mut self, failure: Failure, record_len: usize) -> Error {
        // these two errors do not count the record in `discard`, because 0.23 finds them before it
        // consumes the record
        let is_taken = !matches!(
            failure.error,
            Error::InvalidMessage(InvalidMessage::HandshakePayloadTooLarge)
                | Error::PeerMisbehaved(PeerMisbehaved::MessageInterleavedWithHandshakeMessage)
        );
        if is_taken {
            self.refused_len = u16::try_from(record_len).unwrap_or(u16::MAX);
        }
        self.fail(failure)
    }

    /// Processes all records in the connection's own receive buffer. Plaintext stays there to be
    /// read.
    #[cfg(feature = "std")]
    pub(crate) fn process_received(&mut self) -> Result<(), Error> {
        self.check_failed()?;
        let TakenBuffer { driver, received } = &mut TakenBuffer::of(self);
        loop {
            match driver.common.records.receiving {
                // RFC 9846 §6.1: data received after a closure alert is ignored
                Receiving::Closed => {
                    received.drop_unopened();
                    return Ok(());
                }
                Receiving::EarlyData { .. } => {
                    if !driver.process_early_record(received)? {
                        return Ok(());
                    }
                }
                Receiving::Handshake if driver.must_wait(received.unopened()) => {
                    driver.common.records.unpolled.report_wait();
                    return Ok(());
                }
                _ => match driver.process_record(received.unopened())? {
                    Some(record) => received.keep(record.record_len, record.plaintext),
                    None => return Ok(()),
                },
            }
        }
    }

    /// Calls [`Self::process_record`] where speed does not matter.
    #[cold]
    #[inline(never)]
    pub(crate) fn process_rare_record(
        &mut self,
        buf: &mut [u8],
    ) -> Result<Option<Processed>, Error> {
        self.process_record(buf)
    }

    /// Processes a record that may contain early data, and moves the data out of the buffer.
    /// Returns false if the record is incomplete.
    #[cfg(feature = "std")]
    #[cold]
    fn process_early_record(&mut self, received: &mut ReceiveBuffer) -> Result<bool, Error> {
        let Some(record) = self.process_rare_record(received.unopened())? else {
            return Ok(false);
        };
        let early_data = &received.unopened()[record.plaintext];
        if !early_data.is_empty() {
            self.common.records.keep_early_data(early_data);
        }
        received.discard(record.record_len);
        Ok(true)
    }

    /// Processes received bytes up to the first handshake message, and calls `look` with it.
    /// Returns `None` if it is incomplete. The message, and bytes behind it, stay buffered for
    /// [`Self::start_handshake`].
    #[cfg(feature = "std")]
    pub(crate) fn first_message<T>(
        &mut self,
        look: impl FnOnce(HandshakeMessage<'_>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Error> {
        self.check_failed()?;
        self.receive_first_message()?;
        let Some(message) = self.common.records.joiner.peek() else {
            return Ok(None);
        };
        let looked = HandshakeMessage::new(message)
            .map_err(Failure::from)
            .and_then(look);
        looked.map(Some).map_err(|failure| self.fail(failure))
    }

    #[cfg(feature = "std")]
    fn receive_first_message(&mut self) -> Result<(), Error> {
        let TakenBuffer { driver, received } = &mut TakenBuffer::of(self);
        while driver.common.records.joiner.peek().is_none() {
            match driver.process_rare_record(received.unopened())? {
                Some(record) => received.keep(record.record_len, record.plaintext),
                None => break,
            }
        }
        Ok(())
    }

    /// Installs `machine`, which handles the message of [`Self::first_message`] and all later ones.
    /// Does not open further records.
    #[cfg(feature = "std")]
    pub(crate) fn start_handshake(&mut self, machine: Box<dyn Machine<Data>>) -> Result<(), Error> {
        self.handshake.machine = machine;
        self.handle_messages().map_err(|failure| self.fail(failure))
    }

    /// Handles the content of a record other than expected application data.
    #[inline(never)]
    fn handle_content(&mut self, typ: ContentType, content: &[u8]) -> Result<Handled, Failure> {
        let records = &self.common.records;
        let is_skipped = typ == ContentType::ApplicationData
            && content.is_empty()
            && records.receiver.skips_early_data();
        // RFC 9846 §5.1: handshake messages must not be interleaved with other record types
        if typ != ContentType::Handshake && !records.joiner.is_empty() {
            return Err(if is_skipped {
                PeerMisbehaved::RejectedEarlyDataInterleavedWithHandshakeMessage.into()
            } else {
                PeerMisbehaved::MessageInterleavedWithHandshakeMessage.into()
            });
        }
        match typ {
            // RFC 9846 §4.3.10: skip early data that was not negotiated
            ContentType::ApplicationData if is_skipped => {
                trace!("dropped early data that was not negotiated");
                Ok(Handled::Done)
            }
            ContentType::ApplicationData => self.handle_application_data(content.len()),
            ContentType::Handshake => self.handle_handshake(content).map(|()| Handled::Done),
            ContentType::Alert => self.handle_alert(content).map(|()| Handled::Done),
            ContentType::ChangeCipherSpec => self
                .handle_change_cipher_spec(content)
                .map(|()| Handled::Done),
            other => Err(self.inappropriate(other)),
        }
    }

    /// Counts `len` bytes of early data. All other non-empty application data was handled before,
    /// or is unexpected.
    fn handle_application_data(&mut self, len: usize) -> Result<Handled, Failure> {
        match &mut self.common.records.receiving {
            Receiving::EarlyData { left } => {
                // RFC 9846 §4.7.1: early data beyond the ticket's limit is an unexpected_message
                *left = u32::try_from(len)
                    .ok()
                    .and_then(|len| left.checked_sub(len))
                    .ok_or(PeerMisbehaved::TooMuchEarlyDataReceived)?;
                Ok(Handled::EarlyData)
            }
            // RFC 9846 §5.1: application data may be empty; it does not reset the tolerance
            Receiving::Traffic if len == 0 => Ok(Handled::Done),
            _ => Err(self.inappropriate(ContentType::ApplicationData)),
        }
    }

    fn inappropriate(&self, got_type: ContentType) -> Failure {
        Error::InappropriateMessage {
            expect_types: if self.common.is_handshaking() {
                vec![ContentType::Handshake]
            } else if self.is_tls13() {
                vec![ContentType::ApplicationData, ContentType::Handshake]
            } else {
                // TLS 1.2: all other messages are rejected
                vec![ContentType::ApplicationData]
            },
            got_type,
        }
        .into()
    }

    fn handle_handshake(&mut self, payload: &[u8]) -> Result<(), Failure> {
        // RFC 9846 §5.1: a handshake record is not empty
        if payload.is_empty() {
            return Err(InvalidMessage::InvalidEmptyPayload.into());
        }
        self.common.joiner().push(payload)?;
        self.handle_messages()
    }

    /// Processes the next handshake bytes from QUIC CRYPTO frames, and handles the messages that
    /// are complete.
    pub(crate) fn process_crypto(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.check_failed()?;
        let is_waiting = self.common.is_waiting();
        if is_waiting {
            self.common.records.unpolled.called();
        }
        let joiner = self.common.joiner();
        if is_waiting && joiner.len() + bytes.len() > MAX_WAITING_CRYPTO {
            return Err(self.fail(InvalidMessage::HandshakePayloadTooLarge.into()));
        }
        let pushed = joiner.push(bytes).map_err(Failure::from);
        pushed
            .and_then(|()| self.handle_messages())
            .map_err(|failure| self.fail(failure))
    }

    fn handle_messages(&mut self) -> Result<(), Failure> {
        while self.handshake.machine.is_ready() {
            let Some(message) = self.common.joiner().next_message()? else {
                break;
            };
            let message_in = HandshakeMessage::new(&message)?;
            trace!("received {:?}, {} bytes", message_in.typ, message.len());
            let (machine, mut cx) = self.machine_and_context();
            machine.handle(message_in, &mut cx)?;
            self.common.wait = machine.wait();
            if self.common.wait != Wait::No {
                self.common.records.unpolled.begin();
            }
            self.common.joiner().give_back(message);
            self.common.send_buffered()?;
        }
        Ok(())
    }

    /// True if the handshake waits for an operation, and the record at the front of `buf` has to
    /// wait as well. An alert does not, unless it comes after handshake bytes or the peer's
    /// Finished.
    pub(super) fn must_wait(&self, buf: &[u8]) -> bool {
        let records = &self.common.records;
        match self.common.wait {
            Wait::No => return false,
            Wait::AfterFinished => return true,
            Wait::BeforeFinished if !records.joiner.is_empty() => return true,
            Wait::BeforeFinished => {}
        }
        let header = match RecordHeader::read(buf) {
            Ok(Some(header)) if header.record_len() <= buf.len() => header,
            _ => return true,
        };
        let is_handled = match header.typ {
            // a warning may be an error in TLS 1.3, so it waits until the version is known
            ContentType::Alert => {
                header.payload_len == ALERT_LEN
                    && (self.common.negotiated.version.is_some()
                        || buf.get(HEADER_LEN) == Some(&u8::from(AlertLevel::Fatal)))
            }
            // TLS 1.3 drops a valid one, and an alert may follow
            ContentType::ChangeCipherSpec => {
                self.is_tls13()
                    && buf.get(HEADER_LEN..header.record_len()) == Some(&[1])
                    && self.change_cipher_specs < MAX_CHANGE_CIPHER_SPECS
            }
            // TLS 1.3 encrypts the type, but the length shows which record may be an alert
            ContentType::ApplicationData => {
                self.is_tls13()
                    && records.receiver.is_decrypting()
                    && header.payload_len == PROTECTED_ALERT_LEN
            }
            _ => false,
        };
        !is_handled
    }

    /// Polls the operation that the handshake waits for. Continues the handshake with its result,
    /// and with the messages that have been buffered. Ready if it waits for none.
    pub(crate) fn poll_operation(
        &mut self,
        task: &mut task::Context<'_>,
    ) -> Poll<Result<(), Error>> {
        self.check_failed()?;
        while self.common.is_waiting() {
            self.common.records.unpolled.polled();
            let (machine, mut cx) = self.machine_and_context();
            let polled = ready!(machine.poll_operation(task, &mut cx));
            self.common.wait = machine.wait();
            polled
                .and_then(|()| Ok(self.common.send_buffered()?))
                .and_then(|()| self.handle_messages())
                .map_err(|failure| self.fail(failure))?;
        }
        Poll::Ready(Ok(()))
    }

    fn machine_and_context(&mut self) -> (&mut dyn Machine<Data>, Context<'_, Data>) {
        let asking = self.common.asking;
        let (transport, negotiated, established) = self.common.parts();
        let cx = Context {
            transport,
            negotiated,
            established,
            tolerance: &mut self.tolerance,
            #[cfg(feature = "tls12")]
            session: &mut self.handshake.session,
            data: &mut self.data,
            asking,
        };
        (&mut *self.handshake.machine, cx)
    }

    fn is_tls13(&self) -> bool {
        self.common.negotiated.version == Some(ProtocolVersion::TLSv1_3)
    }

    /// Handles a message that did not arrive in this connection's records. An error ends the
    /// connection.
    pub(super) fn handle_message(&mut self, message: HandshakeMessage<'_>) -> Result<(), Error> {
        let (machine, mut cx) = self.machine_and_context();
        let handled = machine.handle(message, &mut cx);
        handled.map_err(|failure| self.fail(failure))
    }

    /// Handles an alert (RFC 9846 §6). A close_notify ends the peer's direction, user_canceled
    /// announces one, and every other alert ends the connection, regardless of its level. Unless
    /// TLS 1.3 is negotiated, the peer may send warnings (RFC 5246 §7.2). A close_notify during a
    /// TLS 1.2 handshake counts as a warning, because it is not authenticated.
    fn handle_alert(&mut self, content: &[u8]) -> Result<(), Failure> {
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
        let is_tolerated = description == AlertDescription::UserCanceled
            || self.common.negotiated.version != Some(ProtocolVersion::TLSv1_3);
        if level == AlertLevel::Warning && is_tolerated {
            warn!("received warning alert {description:?}");
            return Ok(self.tolerance.count_warning()?);
        }
        Err(Error::AlertReceived(description).into())
    }

    /// Handles a change_cipher_spec. TLS 1.3 drops it from the first ClientHello to the peer's
    /// Finished, and rejects it before and after (RFC 9846 §5). TLS 1.2 handles it as a message.
    fn handle_change_cipher_spec(&mut self, content: &[u8]) -> Result<(), Failure> {
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

    /// Checks the content and passes it to the machine, which knows if it is expected now (RFC 5246
    /// §7.1).
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

    /// Returns the error that ended the connection, if it has failed. Ends the handshake if the
    /// application's code has panicked since the last call.
    #[inline]
    pub(crate) fn check_failed(&mut self) -> Result<(), Error> {
        let failed = self.common.check_failed();
        if failed.is_err() {
            self.handshake.end();
        }
        failed
    }

    /// Ends the connection: queues the alert, and stores the error for later calls.
    #[cold]
    pub(super) fn fail(&mut self, failure: Failure) -> Error {
        let server_name = self.handshake.machine.server_name(&self.data);
        let error = self.common.fail_at(failure, server_name);
        self.handshake.end();
        error
    }
}

impl<Data> Driver<Data> {
    /// Ends the connection because the other half has failed. That half has logged the error.
    #[cold]
    pub(super) fn adopt(&mut self, failure: Failure) {
        self.common.end(failure);
        self.handshake.end();
    }
}

impl<Data> Abandon for Driver<Data> {
    /// Fails the connection. The next call ends the handshake, because that calls the session's
    /// store.
    fn abandon(&mut self) {
        self.common.fail_after_panic();
    }
}

/// The receive buffer of a connection while its records are processed. Dropping this returns it,
/// also on a panic, so that unread plaintext is not lost.
#[cfg(feature = "std")]
struct TakenBuffer<'a, Data> {
    driver: &'a mut Driver<Data>,
    received: ReceiveBuffer,
}

#[cfg(feature = "std")]
impl<'a, Data> TakenBuffer<'a, Data> {
    #[inline(always)]
    fn of(driver: &'a mut Driver<Data>) -> Self {
        let received = core::mem::take(&mut driver.common.records.received);
        Self { driver, received }
    }
}

#[cfg(feature = "std")]
impl<Data> Drop for TakenBuffer<'_, Data> {
    #[inline]
    fn drop(&mut self) {
        self.received.park();
        self.driver.common.records.received = core::mem::take(&mut self.received);
    }
}
