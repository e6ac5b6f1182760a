//! The sending half of a split connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, Range};
#[cfg(feature = "std")]
use std::io;

use rustls_core::crypto::cipher::InsufficientSizeError;

use super::{Facts, wants_sender};
use crate::config::observer::events::Direction;
use crate::conn::common_state::CommonState;
use crate::conn::in_place_error::InPlaceError;
#[cfg(feature = "std")]
use crate::conn::reader::Reader;
use crate::conn::records::Sending;
use crate::conn::sending::EncryptError;
use crate::conn::to_vec::write_to_vec;
use crate::conn::unwinding::fail_on_panic;
use crate::conn::write_access::EndHandshake;
#[cfg(feature = "std")]
use crate::conn::write_access::WriteAccess;
#[cfg(feature = "std")]
use crate::conn::write_outgoing::{write_all, write_or_queue, write_outgoing};
#[cfg(feature = "tls12")]
use crate::enums::AlertDescription;
use crate::error::Error;
use crate::handshake::Link;
use crate::handshake::established::Established;
#[cfg(feature = "tls12")]
use crate::handshake::transport::Transport;
use crate::record::sender::InPlaceRoom;

/// The half of a connection that sends.
///
/// The connection's `into_split` creates it;
/// [`ClientConnection::into_split`](crate::ClientConnection::into_split) has an example. There are
/// three ways to send. They can be mixed, provided that the output of each call is sent before that
/// of the next call:
///
/// - [`writer`](Self::writer) encrypts into the connection's own buffer, and
///   [`write_tls`](Self::write_tls) writes it to the socket.
/// - [`encrypt`](Self::encrypt) encrypts from one of the caller's slices into another.
/// - [`encrypt_in_place`](Self::encrypt_in_place) builds a record around plaintext in the caller's
///   buffer.
///
/// Each of them first handles requests from the [`Receiver`](super::Receiver). A KeyUpdate that the
/// peer requested is sent before the data (RFC 9846 §4.7.3). After a failure, the alert is the last
/// message. If there is no data to send, call [`write_tls`](Self::write_tls) or
/// [`take_tls`](Self::take_tls) while [`wants_write`](Self::wants_write) is true.
///
/// Dropping the sender does not send a close_notify: call
/// [`send_close_notify`](Self::send_close_notify) and send its output first. The receiver continues
/// without it, but ignores the peer's requests for new keys.
pub struct Sender {
    common: CommonState,
    /// The TLS 1.2 session, which is removed from its store if the connection fails.
    session: Option<Box<dyn EndHandshake>>,
    link: Arc<Link>,
    facts: Arc<Facts>,
}

impl Sender {
    pub(super) fn new(
        common: CommonState,
        session: Option<Box<dyn EndHandshake>>,
        link: Arc<Link>,
        facts: Arc<Facts>,
    ) -> Self {
        if common.records.sending == Sending::Closed {
            link.sender_is_done();
        }
        Self {
            common,
            session,
            link,
            facts,
        }
    }

    /// True if there is something to send: queued output, or a message that the receiving half
    /// requested.
    pub fn wants_write(&self) -> bool {
        self.common.wants_write()
            || wants_sender(&self.link)
            || (self.owes_update() && !self.link.has_failed())
    }

    /// Moves queued output to the front of `outgoing_tls`, and encrypts `application_data` after
    /// it. Returns the number of bytes to send.
    ///
    /// # Errors
    ///
    /// - [`EncryptError::InsufficientSize`] if `outgoing_tls` is too short. The error holds the
    ///   size needed. The same call with that much space succeeds, unless the peer requests new
    ///   keys in between, which takes slightly more space.
    /// - [`EncryptError::EncryptExhausted`] if nothing more can be encrypted, for example after a
    ///   close_notify or a failure ([`error`](Self::error)). Queued output can still be taken with
    ///   [`take_tls`](Self::take_tls).
    pub fn encrypt(
        &mut self,
        application_data: &[u8],
        outgoing_tls: &mut [u8],
    ) -> Result<usize, EncryptError> {
        self.after_requests(|common| common.encrypt(application_data, outgoing_tls))
    }

    /// Encrypts like [`Self::encrypt`], but after the first `used` bytes of a `Vec` that grows as
    /// needed. Returns the number of bytes written there. See
    /// [`WriteTraffic::encrypt_to_vec`](crate::unbuffered::WriteTraffic::encrypt_to_vec) for
    /// `used`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::encrypt`], but [`EncryptError::InsufficientSize`] only if
    /// memory cannot be allocated. The length of `outgoing_tls` and its first `used` bytes are then
    /// unchanged.
    pub fn encrypt_to_vec(
        &mut self,
        application_data: &[u8],
        outgoing_tls: &mut Vec<u8>,
        used: usize,
    ) -> Result<usize, EncryptError> {
        self.after_requests(|common| {
            write_to_vec(outgoing_tls, used, |out| {
                common.encrypt(application_data, out)
            })
        })
    }

    /// Returns the space that [`Self::encrypt_in_place`] needs before and after the payload. It
    /// never changes.
    pub fn in_place_room(&self) -> InPlaceRoom {
        self.common.records.sender.in_place_room()
    }

    /// Encrypts the plaintext at `payload` in `buf` in place, and builds a record around it.
    /// Returns the range of the record in `buf`, ready to send.
    ///
    /// ```text
    ///        ┌─ headroom ─┐┌─ payload ────────┐┌─ tailroom ─┐
    ///  buf = │            ││ plaintext        ││            │
    ///        └────────────┘└──────────────────┘└────────────┘
    ///        │ record                                       │   returned range
    /// ```
    ///
    /// An empty payload gives no record: the returned range is empty, too.
    ///
    /// # Errors
    ///
    /// Returns an [`InPlaceError`]. `buf` is then unchanged, except after
    /// [`InPlaceError::CipherFailed`], which ends the connection. [`InPlaceError::OutputPending`]
    /// means that other output must be sent first: call [`Self::write_tls`] or [`Self::take_tls`].
    pub fn encrypt_in_place(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, InPlaceError> {
        self.after_requests(|common| common.encrypt_in_place(buf, payload))
    }

    /// Moves queued TLS bytes to the front of `outgoing_tls`. Returns the number of bytes to send.
    ///
    /// [`Self::write_tls`] writes them to a writer instead.
    ///
    /// # Errors
    ///
    /// Returns [`InsufficientSizeError`] if `outgoing_tls` is too short; nothing is lost.
    pub fn take_tls(&mut self, outgoing_tls: &mut [u8]) -> Result<usize, InsufficientSizeError> {
        self.queue_answers();
        self.common.take_output(outgoing_tls)
    }

    /// Moves queued TLS bytes like [`Self::take_tls`], but after the first `used` bytes of a `Vec`,
    /// like [`Self::encrypt_to_vec`].
    ///
    /// # Errors
    ///
    /// Returns [`InsufficientSizeError`] only if memory cannot be allocated; nothing is lost.
    pub fn take_tls_to_vec(
        &mut self,
        outgoing_tls: &mut Vec<u8>,
        used: usize,
    ) -> Result<usize, InsufficientSizeError> {
        self.queue_answers();
        write_to_vec(outgoing_tls, used, |out| self.common.take_output(out))
    }

    /// Queues a close_notify: nothing more is sent (RFC 9846 §6.1), not even a KeyUpdate that the
    /// peer requests later. The receiving half continues. Does nothing if a close_notify has
    /// already been requested, or if the connection has failed.
    pub fn send_close_notify(&mut self) {
        self.after_requests(CommonState::send_close_notify);
    }

    /// Replaces the keys for both directions: queues a KeyUpdate that requests one in return (RFC
    /// 9846 §4.7.3), unless it is a reply itself, or an earlier request is still unanswered.
    ///
    /// Does nothing after a close_notify, after 2^48 - 1 updates, or while the sending key from an
    /// earlier update is unused and the peer has not requested another update. A key that reaches
    /// its usage limit is replaced automatically, without this call.
    ///
    /// # Errors
    ///
    /// Returns [`Error::HandshakeNotComplete`] in TLS 1.2, which cannot replace keys. Returns
    /// [`Error::EncryptError`] if the cipher fails, which ends the connection. Returns the error
    /// that ended the connection if it has failed.
    pub fn refresh_traffic_keys(&mut self) -> Result<(), Error> {
        self.after_requests(CommonState::refresh_traffic_keys)
    }

    /// Returns the error that ended the connection, in either half.
    pub fn error(&self) -> Option<Error> {
        let own = self.common.check_failed().err();
        own.or_else(|| Some(self.link.failure()?.error.clone()))
    }

    /// Handles requests and failures from the receiving half, and then runs `operation`. A panic in
    /// either step fails the connection.
    #[inline(always)]
    fn after_requests<R>(&mut self, operation: impl FnOnce(&mut CommonState) -> R) -> R {
        let link = &self.link;
        let result = fail_on_panic(&mut self.common, |common| {
            if link.concerns_sender() {
                common.answer(link);
            }
            operation(common)
        });
        if self.common.has_failed() {
            self.session.end();
        }
        result
    }

    #[cfg(feature = "std")]
    #[inline]
    fn handle_requests(&mut self) {
        self.after_requests(|_| ());
    }

    /// Handles requests from the receiving half, and queues a requested KeyUpdate if possible.
    fn queue_answers(&mut self) {
        self.after_requests(CommonState::send_owed_update);
    }

    /// True if a KeyUpdate that the peer requested is still to be sent.
    fn owes_update(&self) -> bool {
        let established = self.common.established.as_ref();
        self.common.records.sending == Sending::Traffic
            && established.is_some_and(Established::owes_update)
    }
}

impl CommonState {
    /// Handles requests and failures from the receiving half.
    #[cold]
    fn answer(&mut self, link: &Link) {
        let requests = link.take_requests();
        if let Some(failure) = link.failure() {
            if !self.has_failed() {
                self.adopt(failure.clone());
            }
            return;
        }
        if requests.update {
            let established = self.established.as_mut();
            if let Some(secrets) = established.and_then(Established::refreshable) {
                secrets.answer_update(&mut self.records);
            }
        }
        #[cfg(feature = "tls12")]
        if requests.refusal {
            let refusal = AlertDescription::NoRenegotiation;
            if let Err(error) = self.records.send_warning(refusal) {
                self.fail(error.into());
            }
        }
    }

    /// Sends the KeyUpdate that the peer requested, if any, unless output is queued. So output does
    /// not grow if the peer requests many updates and reads nothing.
    fn send_owed_update(&mut self) {
        if !self.records.outgoing.is_empty() {
            return;
        }
        let Some(established) = &mut self.established else {
            return;
        };
        match established.send_owed_update(&mut self.records) {
            Ok(true) => self.report_keys(Direction::Sending),
            Ok(false) => {}
            Err(error) => {
                self.fail(error.into());
            }
        }
    }
}

#[cfg(feature = "std")]
impl Sender {
    /// Returns a writer that encrypts plaintext as it is written.
    pub fn writer(&mut self) -> Writer<'_> {
        // first handle requests from the receiving half, because they may reduce the room for data
        self.handle_requests();
        Writer { sender: self }
    }

    /// Writes queued TLS bytes, up to 64 records, with one call to `wr.write_vectored`. Returns the
    /// number of bytes written. Does not call `wr` if nothing is queued.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ConnectionCommon::write_tls`](crate::ConnectionCommon::write_tls).
    pub fn write_tls(&mut self, wr: &mut dyn io::Write) -> Result<usize, io::Error> {
        self.queue_answers();
        write_outgoing(&mut self.common.records.outgoing, wr)
    }

    /// Encrypts the plaintext at `payload` in `buf` in place, and writes the record to `wr`. See
    /// [`ConnectionCommon::send_in_place`](crate::ConnectionCommon::send_in_place).
    ///
    /// # Errors
    ///
    /// Returns the errors of that method.
    pub fn send_in_place(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
        wr: &mut dyn io::Write,
    ) -> io::Result<()> {
        loop {
            write_all(self, Self::wants_write, |sender| sender.write_tls(wr))?;
            match self.encrypt_in_place(buf, payload.clone()) {
                Err(InPlaceError::OutputPending) => {}
                record => {
                    let outgoing = &mut self.common.records.outgoing;
                    return write_or_queue(outgoing, &buf[record?], wr);
                }
            }
        }
    }

    /// Limits the number of TLS bytes that [`Writer`] may queue. `None` removes the limit. By
    /// default, it is the limit set before the split, which is 64 KiB unless set.
    pub fn set_buffer_limit(&mut self, limit: Option<usize>) {
        self.common.buffer_limit = limit;
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.link.sender_is_done();
    }
}

impl Deref for Sender {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.facts
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("facts", &self.facts)
            .field("sending", &self.common.records.sending)
            .finish_non_exhaustive()
    }
}

/// Encrypts plaintext into the outgoing buffer of a [`Sender`], for [`Sender::write_tls`] to send.
///
/// At the buffer limit, a write accepts only part of its input, or nothing (`Ok(0)`). After a
/// close_notify, a write returns [`io::ErrorKind::BrokenPipe`]. After either half has failed, it
/// returns the connection's error as [`io::ErrorKind::InvalidData`].
#[cfg(feature = "std")]
pub struct Writer<'a> {
    sender: &'a mut Sender,
}

#[cfg(feature = "std")]
impl Writer<'_> {
    /// Returns the number of plaintext bytes that the next write accepts, or `None` if there is no
    /// limit. See [`rustls::Writer`](crate::Writer::room_left). The number is 0 after either half
    /// has failed. A message that the receiving half requests before the write may reduce it
    /// slightly.
    pub fn room_left(&self) -> Option<usize> {
        if self.sender.link.has_failed() {
            Some(0)
        } else {
            self.sender.common.plaintext_room()
        }
    }

    /// Encrypts plaintext that another connection received. See
    /// [`rustls::Writer`](crate::Writer::write_received).
    ///
    /// # Errors
    ///
    /// Returns the errors of that method.
    pub fn write_received(&mut self, from: &mut Reader<'_>) -> io::Result<usize> {
        self.connection_writer().write_received(from)
    }

    /// Reads plaintext directly into its place in the next record. See
    /// [`rustls::Writer`](crate::Writer::read_from).
    ///
    /// # Errors
    ///
    /// Returns the errors of that method.
    pub fn read_from(&mut self, rd: &mut dyn io::Read) -> io::Result<usize> {
        self.connection_writer().read_from(rd)
    }

    /// Returns the writer of an unsplit connection, after handling requests from the receiving
    /// half.
    #[inline]
    fn connection_writer(&mut self) -> crate::conn::writer::Writer<'_> {
        self.sender.handle_requests();
        let Sender {
            common, session, ..
        } = &mut *self.sender;
        crate::conn::writer::Writer::new(WriteAccess::new(common, session))
    }

    /// Returns [`io::ErrorKind::BrokenPipe`] instead of success if this side has stopped sending.
    /// The writer of an unsplit connection drops the data instead, because programs written for
    /// rustls 0.23 expect no error.
    #[inline]
    fn broken_pipe_if_over(&self, written: io::Result<usize>) -> io::Result<usize> {
        if self.sender.common.records.is_sending_over() {
            written.and_then(|_| Err(io::ErrorKind::BrokenPipe.into()))
        } else {
            written
        }
    }
}

#[cfg(feature = "std")]
impl io::Write for Writer<'_> {
    /// Accepts bytes up to the buffer limit.
    #[inline]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.connection_writer().write(buf);
        self.broken_pipe_if_over(written)
    }

    /// Accepts bytes up to the buffer limit. Bytes from several slices may share a record.
    fn write_vectored(&mut self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
        let written = self.connection_writer().write_vectored(bufs);
        self.broken_pipe_if_over(written)
    }

    /// Returns the connection's error if it has failed. Does not send anything; call
    /// [`Sender::write_tls`] for that.
    fn flush(&mut self) -> io::Result<()> {
        self.connection_writer().flush()
    }
}

#[cfg(feature = "std")]
impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
