//! The driver of a connection: takes records from the record layer, and passes their contents to
//! the application, to the handshake, or to the handlers in `alerts`.

use alloc::boxed::Box;
use alloc::vec;
use core::ops::Range;

use super::common_state::CommonState;
use super::records::Receiving;
#[cfg(feature = "tls12")]
use super::shared_session::SharedSession;
use super::unwinding::Abandon;
use super::write_access::{EndHandshake, WriteAccess};
use crate::enums::{ContentType, ProtocolVersion};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::failure::Failure;
#[cfg(feature = "tls12")]
use crate::handshake::SessionInUse;
use crate::handshake::tolerance::Tolerance;
use crate::handshake::{Context, Machine};
use crate::logging::trace;
use crate::msgs::HandshakeMessage;
use crate::record::HEADER_LEN;
#[cfg(feature = "std")]
use crate::record::buffer::ReceiveBuffer;
#[cfg(feature = "std")]
use crate::record::receiver::RecordOpenedInto;
#[cfg(feature = "std")]
use crate::record::traffic::Traffic;

mod alerts;
mod messages;

/// The maximum number of change_cipher_spec records that are dropped during a handshake.
const MAX_CHANGE_CIPHER_SPECS: u8 = 2;

/// A connection without its API: for example the state that all connections share, and the
/// handshake.
///
/// ```text
///   process_received ─┐                   ┌─► plaintext: a range of the same buffer
///   (own buffer)      ├─► process_record ─┤
///   process           │    opens a record ├─► handshake bytes ─► handle_piece ─────────────┐
///   (caller's buffer)─┘                   └─► alert, change_cipher_spec                     │
///                                                                                           ▼
///   QUIC's CRYPTO frames ─► process_crypto ─► handle_piece ◄─► joiner ───────────────► Machine
///                                                                                           ▲
///   a wake-up, while the handshake waits for an operation ─► poll_operation ────────────────┘
/// ```
///
/// Buffered ([`super::connection`]), unbuffered ([`super::unbuffered`]) and QUIC connections, the
/// receiving half of a split one, and [`super::kernel`] are built on it. Writers use only
/// [`Self::write_access`].
///
/// The first failure ends the connection: it drops the handshake and all secrets, and each later
/// call that processes input returns the same error. While the handshake is waiting for an
/// application operation, received messages wait, except alerts before the peer's Finished.
pub(crate) struct Driver<Data> {
    /// The connection's records or QUIC messages, secrets, properties and error.
    pub(crate) common: CommonState,
    /// The data that only clients or only servers have.
    pub(crate) data: Data,
    handshake: DrivenHandshake<Data>,
    /// Counts the peer's useless messages.
    tolerance: Tolerance,
    /// The number of change_cipher_spec records received, except those that are messages of TLS
    /// 1.2.
    change_cipher_specs: u8,
    /// The length in bytes of the record whose content ended the connection; 0 if it is not
    /// consumed. Records are shorter than 2^16.
    refused_len: u16,
}

/// The handshake of a connection, and the session that is removed from its store if the connection
/// fails.
struct DrivenHandshake<Data> {
    /// The state machine of the handshake. It stays after the handshake, for messages such as
    /// tickets and KeyUpdates.
    machine: Box<dyn Machine<Data>>,
    /// The session that is removed from its store if the connection fails.
    #[cfg(feature = "tls12")]
    session: Option<Box<dyn SessionInUse>>,
}

impl<Data> EndHandshake for DrivenHandshake<Data> {
    #[cold]
    fn end(&mut self) {
        self.machine.fail();
        #[cfg(feature = "tls12")]
        if let Some(session) = self.session.take() {
            session.forget();
        }
    }
}

pub(crate) struct Processed {
    /// The length of the processed record in the buffer, in bytes.
    pub(crate) record_len: usize,
    /// The range of application data in the buffer; empty if there is none.
    pub(crate) plaintext: Range<usize>,
}

impl Processed {
    /// Creates the result for a record without application data. The empty range lies after the
    /// header, where the receive buffer expects all plaintext.
    const fn without_plaintext(record_len: usize) -> Self {
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
            handshake: DrivenHandshake {
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

    /// Returns the parts of the connection that a writer uses.
    #[inline]
    pub(crate) fn write_access(&mut self) -> WriteAccess<'_> {
        WriteAccess::new(&mut self.common, &mut self.handshake)
    }

    /// Takes the length of the consumed record whose content caused the last error; 0 if there is
    /// none, for example because the record could not be opened.
    pub(crate) fn take_refused_len(&mut self) -> usize {
        core::mem::take(&mut self.refused_len).into()
    }

    /// Processes one record at the front of `buf`. Returns `None` if it is incomplete.
    ///
    /// An error ends the connection.
    // inlined into the loops over received records, so that the result stays in registers
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
            Ok(is_early_data) => Ok(Some(if is_early_data {
                Processed {
                    record_len: record.record_len,
                    plaintext: record.payload,
                }
            } else {
                Processed::without_plaintext(record.record_len)
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

    /// Processes the records in the connection's own receive buffer, until one is incomplete or
    /// must wait. Plaintext stays there to be read, except early data.
    #[cfg(feature = "std")]
    pub(crate) fn process_received(&mut self) -> Result<(), Error> {
        self.check_failed()?;
        let TakenBuffer { driver, received } = &mut TakenBuffer::of(self);
        driver.process_all(received)
    }

    /// Like [`Self::process_received`], and then reads plaintext into `out`. Opens records directly
    /// into `out` while that is possible. Returns the number of bytes read.
    ///
    /// After an error, all plaintext is still unread.
    #[cfg(feature = "std")]
    pub(crate) fn process_received_into(&mut self, out: &mut [u8]) -> Result<usize, Error> {
        self.check_failed()?;
        let TakenBuffer { driver, received } = &mut TakenBuffer::of(self);
        let mut opened = OpenedInto {
            received,
            out,
            len: 0,
        };
        // unread plaintext comes first
        while opened.received.unread() == 0 {
            let rest = &mut opened.out[opened.len..];
            let Some(record) = driver.process_record_into(opened.received.unopened(), rest)? else {
                break;
            };
            opened.received.discard(record.record_len);
            opened.len += record.len;
        }
        driver.process_all(opened.received)?;
        let len = core::mem::take(&mut opened.len);
        driver.common.records.drains_immediately |= len != 0;
        Ok(len + opened.received.read(&mut opened.out[len..]))
    }

    /// Processes the record at the front of `buf`, with its content at the front of `out`. Returns
    /// `None` if it has to be processed by [`Self::process_record`].
    #[cfg(feature = "std")]
    fn process_record_into(
        &mut self,
        buf: &[u8],
        out: &mut [u8],
    ) -> Result<Option<RecordOpenedInto>, Error> {
        let records = &mut self.common.records;
        if records.receiving != Receiving::Traffic || !records.joiner.is_empty() {
            return Ok(None);
        }
        let record = match records.receiver.open_into(buf, out) {
            None => return Ok(None),
            Some(Ok(record)) => record,
            Some(Err(error)) => return Err(self.fail(error.into())),
        };
        if record.typ == ContentType::ApplicationData && record.len != 0 {
            self.tolerance.reset_key_updates();
            return Ok(Some(record));
        }
        self.process_rare_content(record, out).map(Some)
    }

    /// Handles the content of `record` at the front of `out`, which is not for the application, and
    /// clears it there.
    #[cfg(feature = "std")]
    #[cold]
    fn process_rare_content(
        &mut self,
        record: RecordOpenedInto,
        out: &mut [u8],
    ) -> Result<RecordOpenedInto, Error> {
        let content = Cleared(&mut out[..record.len]);
        let handled = self.handle_content(record.typ, content.0);
        drop(content);
        match handled {
            Ok(_) => Ok(RecordOpenedInto { len: 0, ..record }),
            Err(failure) => Err(self.refuse(failure, record.record_len)),
        }
    }

    /// Processes the records in `received`, until one is incomplete or must wait.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn process_all(&mut self, received: &mut ReceiveBuffer) -> Result<(), Error> {
        loop {
            match self.common.records.receiving {
                // RFC 9846 §6.1: data received after a closure alert is ignored
                Receiving::Closed => {
                    received.drop_unopened();
                    return Ok(());
                }
                Receiving::EarlyData { .. } => {
                    if !self.process_early_record(received)? {
                        return Ok(());
                    }
                }
                Receiving::Handshake if self.must_wait(received.unopened()) => {
                    self.common.records.unpolled.report_wait();
                    return Ok(());
                }
                // separate from the last case, so that data after the handshake does not check for
                // an observer
                Receiving::Handshake => match self.process_record(received.unopened())? {
                    Some(record) => received.keep(record.record_len, record.plaintext),
                    None => {
                        self.end_work();
                        return Ok(());
                    }
                },
                _ => match self.process_record(received.unopened())? {
                    Some(record) => received.keep(record.record_len, record.plaintext),
                    None => return Ok(()),
                },
            }
        }
    }

    /// Like [`Self::process_record`], but never inlined. Use it where application data is rare.
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
            self.end_work();
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
    /// Returns `None` if it is incomplete. The message, and bytes after it, stay buffered for
    /// [`Self::start_handshake`]. Counts the records in `received`.
    #[cfg(feature = "std")]
    pub(crate) fn first_message<T>(
        &mut self,
        received: &mut Traffic,
        look: impl FnOnce(HandshakeMessage<'_>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Error> {
        self.check_failed()?;
        self.receive_first_message(received)?;
        let message = self.common.records.joiner.peek();
        let looked = message.map(|message| look(HandshakeMessage::new(message)?));
        self.end_work();
        looked.transpose().map_err(|failure| self.fail(failure))
    }

    #[cfg(feature = "std")]
    fn receive_first_message(&mut self, traffic: &mut Traffic) -> Result<(), Error> {
        let TakenBuffer { driver, received } = &mut TakenBuffer::of(self);
        while driver.common.records.joiner.peek().is_none() {
            match driver.process_rare_record(received.unopened())? {
                Some(record) => {
                    traffic.add(1, record.record_len);
                    received.keep(record.record_len, record.plaintext);
                }
                None => break,
            }
        }
        Ok(())
    }

    /// Installs `machine`, which handles the message found by [`Self::first_message`] and all later
    /// ones. Does not open further records.
    #[cfg(feature = "std")]
    pub(crate) fn start_handshake(&mut self, machine: Box<dyn Machine<Data>>) -> Result<(), Error> {
        self.handshake.machine = machine;
        let handled = self.handle_messages();
        self.end_work();
        handled.map_err(|failure| self.fail(failure))
    }

    /// Handles the content of a record other than expected application data. Returns true if it is
    /// early data for the application.
    #[inline(never)]
    fn handle_content(&mut self, typ: ContentType, content: &[u8]) -> Result<bool, Failure> {
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
                Ok(false)
            }
            ContentType::ApplicationData => self.handle_application_data(content.len()),
            ContentType::Handshake => self.handle_handshake(content).map(|()| false),
            ContentType::Alert => self.handle_alert(content).map(|()| false),
            ContentType::ChangeCipherSpec => {
                self.handle_change_cipher_spec(content).map(|()| false)
            }
            other => Err(self.inappropriate(other)),
        }
    }

    /// Counts `len` bytes of early data, and returns true if they are for the application. All
    /// other non-empty application data has already been handled, or is unexpected.
    fn handle_application_data(&mut self, len: usize) -> Result<bool, Failure> {
        match &mut self.common.records.receiving {
            Receiving::EarlyData { left } => {
                // RFC 9846 §4.7.1: early data beyond the ticket's limit is an unexpected_message
                *left = u32::try_from(len)
                    .ok()
                    .and_then(|len| left.checked_sub(len))
                    .ok_or(PeerMisbehaved::TooMuchEarlyDataReceived)?;
                Ok(true)
            }
            // RFC 9846 §5.1: application data may be empty; it does not reset the tolerance
            Receiving::Traffic if len == 0 => Ok(false),
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
                // TLS 1.2 expects no handshake messages after the handshake
                vec![ContentType::ApplicationData]
            },
            got_type,
        }
        .into()
    }

    /// True if the record at the front of `buf` must wait for a handshake operation; see
    /// [`CommonState::must_wait`].
    pub(super) fn must_wait(&self, buf: &[u8]) -> bool {
        let drops_change_cipher_spec = self.change_cipher_specs < MAX_CHANGE_CIPHER_SPECS;
        self.common.must_wait(buf, drops_change_cipher_spec)
    }

    fn machine_and_context(&mut self) -> (&mut dyn Machine<Data>, Context<'_, Data>) {
        let callbacks = self.common.callbacks;
        let (transport, negotiated, established, recorder) = self.common.parts();
        let cx = Context {
            transport,
            negotiated,
            established,
            tolerance: &mut self.tolerance,
            #[cfg(feature = "tls12")]
            session: &mut self.handshake.session,
            data: &mut self.data,
            callbacks,
            recorder,
        };
        (&mut *self.handshake.machine, cx)
    }

    fn is_tls13(&self) -> bool {
        self.common.negotiated.version == Some(ProtocolVersion::TLSv1_3)
    }

    /// Handles a NewSessionTicket that the owner of a [`super::kernel`] connection received. An
    /// error ends the connection.
    pub(super) fn handle_ticket_from_kernel(
        &mut self,
        message: HandshakeMessage<'_>,
    ) -> Result<(), Error> {
        let (machine, mut cx) = self.machine_and_context();
        let handled = machine.handle(message, &mut cx);
        handled.map_err(|failure| self.fail(failure))?;
        self.report();
        Ok(())
    }

    /// Returns the error that ended the connection, if it has failed. In that case, also ends the
    /// handshake, because a panic of the application's code leaves that to the next call.
    #[inline]
    pub(crate) fn check_failed(&mut self) -> Result<(), Error> {
        let failed = self.common.check_failed();
        if failed.is_err() {
            self.handshake.end();
        }
        failed
    }

    /// Ends the connection: sends the alert if possible, and stores the error for later calls.
    #[cold]
    pub(super) fn fail(&mut self, failure: Failure) -> Error {
        let server_name = self.handshake.machine.server_name(&self.data);
        let error = self.common.fail_at(failure, server_name);
        self.handshake.end();
        error
    }
}

impl<Data> Driver<Data> {
    /// Ends the connection because the other half has failed. That half reports the error.
    #[cold]
    pub(super) fn adopt(&mut self, failure: Failure) {
        self.common.adopt(failure);
        self.handshake.end();
    }
}

impl<Data> Abandon for Driver<Data> {
    /// Fails the connection. Leaves ending the handshake to a later call, because it calls the
    /// session's store, which may panic as well.
    fn abandon(&mut self) {
        self.common.fail_after_panic();
    }
}

/// Plaintext that has been opened to the front of `out`. Dropping this makes it unread again, so
/// that an error or a panic loses nothing.
#[cfg(feature = "std")]
struct OpenedInto<'a> {
    received: &'a mut ReceiveBuffer,
    out: &'a mut [u8],
    len: usize,
}

#[cfg(feature = "std")]
impl Drop for OpenedInto<'_> {
    fn drop(&mut self) {
        if self.len != 0 {
            self.received.keep_discarded(&self.out[..self.len]);
        }
    }
}

/// Content for the connection itself. Dropping this clears it, even on a panic, so that no ticket
/// stays in the application's memory.
#[cfg(feature = "std")]
struct Cleared<'a>(&'a mut [u8]);

#[cfg(feature = "std")]
impl Drop for Cleared<'_> {
    fn drop(&mut self) {
        self.0.fill(0);
    }
}

/// The receive buffer of a connection, taken out of [`CommonState`] while the driver processes its
/// bytes. At other times it stays there, because `CommonState::wants_read` is public and depends on
/// it. Dropping this returns it, even on a panic, so that unread plaintext is not lost.
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
