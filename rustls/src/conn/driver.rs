//! What drives a connection: takes records from the record layer, acts on alerts and
//! change_cipher_spec, and hands handshake messages to the handshake.
//!
//! It owns the handshake, and ends the connection on the first failure, which every later call returns.
//! Buffered ([`super::connection`]) and unbuffered ([`super::unbuffered`]) connections are both built on it.

use alloc::boxed::Box;
use alloc::vec;
use core::ops::Range;

use super::common_state::CommonState;
use super::records::Receiving;
use super::tolerance::Tolerance;
use super::unwinding::{Unfinished, whole};
use crate::enums::{AlertDescription, AlertLevel, ContentType, ProtocolVersion, Side};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::handshake::{Context, Failure, Machine};
use crate::logging::{trace, warn};
use crate::msgs::HandshakeMessage;
use crate::record::HEADER_LEN;
#[cfg(feature = "std")]
use crate::record::buffer::ReceiveBuffer;

/// How many change_cipher_spec records are dropped during a handshake.
const MAX_CHANGE_CIPHER_SPECS: u8 = 2;

pub(crate) struct Driver<Data> {
    pub(crate) common: CommonState,
    pub(crate) data: Data,
    machine: Box<dyn Machine<Data>>,
    tolerance: Tolerance,
    change_cipher_specs: u8,
    /// Length in bytes of the record whose content has ended the connection. No record has 2^16.
    refused_len: u16,
}

/// A record that was taken in and acted upon.
pub(crate) struct Processed {
    /// How many bytes of the buffer it took.
    pub(crate) record_len: usize,
    /// Where in the buffer application data lies; empty when there is none.
    pub(crate) plaintext: Range<usize>,
}

/// What came of a record that is not plain application data.
enum Acted {
    /// It was acted upon.
    Done,
    /// Its content is early data for the application.
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
            machine,
            tolerance: Tolerance::default(),
            change_cipher_specs: 0,
            refused_len: 0,
        }
    }

    /// Returns the length of the record whose content has caused the last error, once; 0 when there is none, as when
    /// it could not be opened.
    pub(crate) fn take_refused_len(&mut self) -> usize {
        core::mem::take(&mut self.refused_len).into()
    }

    /// Takes one record from the front of `buf` and acts on it; `None` when it is not complete.
    ///
    /// An error ends the connection; the alert for the peer waits to be sent then.
    // a part of the two loops over received records: as a call it would pass its result through memory
    #[inline(always)]
    pub(crate) fn process_record(&mut self, buf: &mut [u8]) -> Result<Option<Processed>, Error> {
        let unfinished = Unfinished(self);
        let processed = unfinished.0.open_record(buf);
        unfinished.finish();
        processed
    }

    #[inline(always)]
    fn open_record(&mut self, buf: &mut [u8]) -> Result<Option<Processed>, Error> {
        let records = &mut self.common.records;
        let record = match records.receiver.open(buf) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.fail(error.into())),
        };
        // what nearly every record is: there is nothing to decide
        if record.typ == ContentType::ApplicationData
            && records.receiving == Receiving::Traffic
            && records.joiner.is_empty()
            && !record.payload.is_empty()
        {
            self.tolerance.forget_key_updates();
            return Ok(Some(Processed {
                record_len: record.record_len,
                plaintext: record.payload,
            }));
        }
        match self.act(record.typ, &buf[record.payload.clone()]) {
            Ok(Acted::Done) => Ok(Some(Processed::without_plaintext(record.record_len))),
            Ok(Acted::EarlyData) => Ok(Some(Processed {
                record_len: record.record_len,
                plaintext: record.payload,
            })),
            Err(failure) => Err(self.refuse(failure, record.record_len)),
        }
    }

    /// Ends the connection because of what a record of `record_len` bytes carries.
    #[cold]
    fn refuse(&mut self, failure: Failure, record_len: usize) -> Error {
        // 0.23 takes a record off its input once the message in it is complete, and reads these errors before
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

    /// Processes all records that wait in the connection's own receive buffer. Plaintext stays there to be
    /// read.
    #[cfg(feature = "std")]
    pub(crate) fn process_received(&mut self) -> Result<(), Error> {
        self.check_failed()?;
        let mut taken = TakenBuffer::of(self);
        let result = taken.driver.process_all(&mut taken.received);
        taken.give_back();
        result
    }

    #[cfg(feature = "std")]
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
                _ => match self.process_record(received.unopened())? {
                    Some(record) => received.keep(record.record_len, record.plaintext),
                    None => return Ok(()),
                },
            }
        }
    }

    /// [`Self::process_record`] where speed is no matter.
    #[cold]
    #[inline(never)]
    pub(crate) fn process_rare_record(
        &mut self,
        buf: &mut [u8],
    ) -> Result<Option<Processed>, Error> {
        self.process_record(buf)
    }

    /// Processes a record that may carry early data, which is taken out of the buffer; false when it is not
    /// complete.
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

    /// Processes what was received up to the first handshake message, and has `look` see it; `None` when it is
    /// not complete yet. The message stays where it is, and so does what was received behind it, for
    /// [`Self::go_on_with`].
    #[cfg(feature = "std")]
    pub(crate) fn first_message<T>(
        &mut self,
        look: impl FnOnce(HandshakeMessage<'_>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Error> {
        self.check_failed()?;
        let mut taken = TakenBuffer::of(self);
        let result = taken.driver.receive_first_message(&mut taken.received);
        taken.give_back();
        result?;
        let Some(message) = self.common.records.joiner.peek() else {
            return Ok(None);
        };
        let looked = HandshakeMessage::new(message)
            .map_err(Failure::from)
            .and_then(look);
        looked.map(Some).map_err(|failure| self.fail(failure))
    }

    #[cfg(feature = "std")]
    fn receive_first_message(&mut self, received: &mut ReceiveBuffer) -> Result<(), Error> {
        while self.common.records.joiner.peek().is_none() {
            match self.process_rare_record(received.unopened())? {
                Some(record) => received.keep(record.record_len, record.plaintext),
                None => break,
            }
        }
        Ok(())
    }

    /// Has `machine` handle the message that [`Self::first_message`] has shown, and all that follow. Records
    /// behind it are not opened yet.
    #[cfg(feature = "std")]
    pub(crate) fn go_on_with(&mut self, machine: Box<dyn Machine<Data>>) -> Result<(), Error> {
        self.machine = machine;
        whole(self, |driver| {
            let handled = driver.handle_messages();
            handled.map_err(|failure| driver.fail(failure))
        })
    }

    /// Acts on the content of a record, other than expected application data.
    #[inline(never)]
    fn act(&mut self, typ: ContentType, content: &[u8]) -> Result<Acted, Failure> {
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
            // RFC 9846 §4.3.10: early data that was not agreed on
            ContentType::ApplicationData if is_skipped => {
                trace!("dropped early data that was not agreed on");
                Ok(Acted::Done)
            }
            ContentType::ApplicationData => self.handle_application_data(content.len()),
            ContentType::Handshake => self.handle_handshake(content).map(|()| Acted::Done),
            ContentType::Alert => self.handle_alert(content).map(|()| Acted::Done),
            ContentType::ChangeCipherSpec => self
                .handle_change_cipher_spec(content)
                .map(|()| Acted::Done),
            other => Err(self.inappropriate(other)),
        }
    }

    /// Counts `len` bytes of early data. All other application data that is not empty was handed out before, or
    /// must not be there.
    fn handle_application_data(&mut self, len: usize) -> Result<Acted, Failure> {
        match &mut self.common.records.receiving {
            Receiving::EarlyData { left } => {
                // RFC 9846 §4.7.1: more of it than the ticket allows is an unexpected_message
                *left = u32::try_from(len)
                    .ok()
                    .and_then(|len| left.checked_sub(len))
                    .ok_or(PeerMisbehaved::TooMuchEarlyDataReceived)?;
                Ok(Acted::EarlyData)
            }
            // RFC 9846 §5.1: application data may be empty. That is none, and makes up for nothing
            Receiving::Traffic if len == 0 => Ok(Acted::Done),
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
                // no message is left but what is refused
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

    /// Takes the next bytes of the handshake, which came in CRYPTO frames of QUIC, and has the handshake handle what is
    /// complete of them.
    pub(crate) fn process_crypto(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.check_failed()?;
        whole(self, |driver| {
            let pushed = driver.common.joiner().push(bytes).map_err(Failure::from);
            pushed
                .and_then(|()| driver.handle_messages())
                .map_err(|failure| driver.fail(failure))
        })
    }

    fn handle_messages(&mut self) -> Result<(), Failure> {
        while self.machine.is_ready() {
            let Some(message) = self.common.joiner().next_message()? else {
                break;
            };
            let message_in = HandshakeMessage::new(&message)?;
            trace!("received {:?}, {} bytes", message_in.typ, message.len());
            let (machine, mut cx) = self.machine_and_context();
            machine.handle(message_in, &mut cx)?;
            self.common.joiner().give_back(message);
            self.common.send_what_waited()?;
        }
        Ok(())
    }

    fn machine_and_context(&mut self) -> (&mut dyn Machine<Data>, Context<'_, Data>) {
        let (transport, negotiated, established) = self.common.parts();
        let cx = Context {
            transport,
            negotiated,
            established,
            tolerance: &mut self.tolerance,
            data: &mut self.data,
        };
        (&mut *self.machine, cx)
    }

    fn is_tls13(&self) -> bool {
        self.common.negotiated.version == Some(ProtocolVersion::TLSv1_3)
    }

    /// Has the handshake handle a message that came by another way than this connection's records. An error ends
    /// the connection.
    pub(super) fn handle_message(&mut self, message: HandshakeMessage<'_>) -> Result<(), Error> {
        whole(self, |driver| {
            let (machine, mut cx) = driver.machine_and_context();
            let handled = machine.handle(message, &mut cx);
            handled.map_err(|failure| driver.fail(failure))
        })
    }

    /// RFC 9846 §6: a closure alert ends the peer's sending, user_canceled announces one, and every other
    /// alert ends the connection, whatever level it claims. Unless TLS 1.3 is negotiated the peer may send
    /// warnings (RFC 5246 §7.2). A close_notify during a handshake of TLS 1.2 is one: nobody has authenticated it.
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
        // RFC 9846 §6.1: the end of the data, but before the handshake is complete nobody has authenticated
        // it
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

    /// RFC 9846 §5: dropped from the first ClientHello to the peer's Finished, illegal before and after. In TLS
    /// 1.2 it is a message like others.
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

    /// The machine decides whether the one place of the message is here (RFC 5246 §7.1).
    #[cfg(feature = "tls12")]
    fn change_cipher(&mut self, content: &[u8]) -> Result<(), Failure> {
        match content {
            [1] => {}
            [1, ..] => return Err(InvalidMessage::TrailingData("ChangeCipherSpecPayload").into()),
            [] => return Err(InvalidMessage::MissingData("u8").into()),
            _ => return Err(InvalidMessage::InvalidCcs.into()),
        }
        // one that was dropped while TLS 1.3 was possible came too early
        if self.change_cipher_specs != 0 {
            return Err(self.inappropriate(ContentType::ChangeCipherSpec));
        }
        let (machine, mut cx) = self.machine_and_context();
        machine.handle_change_cipher_spec(&mut cx)
    }

    /// The error that ended the connection, if one did. If a write has failed since the last call, this drops
    /// the handshake's secrets.
    #[inline]
    pub(crate) fn check_failed(&mut self) -> Result<(), Error> {
        let failed = self.common.check_failed();
        if failed.is_err() {
            self.machine.fail();
        }
        failed
    }

    /// Ends the connection: tells the peer why, and returns the error of every later call.
    #[cold]
    pub(super) fn fail(&mut self, failure: Failure) -> Error {
        let error = self.common.fail(failure);
        self.machine.fail();
        error
    }
}

/// The receive buffer of a connection while its records are processed. A panic gives it back, too, so that none of the
/// plaintext that waits in it is lost.
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

    #[inline(always)]
    fn give_back(mut self) {
        self.put_back();
        core::mem::forget(self);
    }

    #[inline(always)]
    fn put_back(&mut self) {
        self.received.park();
        self.driver.common.records.received = core::mem::take(&mut self.received);
    }
}

#[cfg(feature = "std")]
impl<Data> Drop for TakenBuffer<'_, Data> {
    #[cold]
    fn drop(&mut self) {
        self.put_back();
    }
}
