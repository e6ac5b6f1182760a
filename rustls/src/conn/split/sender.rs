//! The sending half of a split connection.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, Range};
#[cfg(feature = "std")]
use std::io;

use super::{Facts, Link, wants_sender};
use crate::conn::common_state::CommonState;
use crate::conn::established::Established;
use crate::conn::records::Sending;
#[cfg(feature = "tls12")]
use crate::conn::transport::Transport;
use crate::conn::unbuffered::EncryptError;
use crate::conn::unbuffered::to_vec::write_to_vec;
use crate::conn::unwinding::whole;
#[cfg(feature = "std")]
use crate::conn::write_outgoing::write_outgoing;
use crate::crypto::cipher::InsufficientSizeError;
#[cfg(feature = "tls12")]
use crate::enums::AlertDescription;
use crate::error::Error;
use crate::record::sender::{InPlaceError, InPlaceRoom};

/// The half of a connection that sends.
///
/// [`ClientConnection::into_split`](crate::ClientConnection::into_split) makes it, and has an example. There are three
/// ways to send, which may take turns as long as what one has made is sent before what the next makes:
///
/// - [`writer`](Self::writer) encrypts into the connection's own buffer, and [`write_tls`](Self::write_tls) writes it
///   to the socket;
/// - [`encrypt`](Self::encrypt) encrypts from the caller's slice into the caller's slice;
/// - [`encrypt_in_place`](Self::encrypt_in_place) makes a record around plaintext in the caller's buffer.
///
/// Each of them looks first what the [`Receiver`](super::Receiver) has met that is to be answered: a peer's request
/// for a KeyUpdate, which goes out ahead of the data (RFC 9846 §4.7.3); a failure, whose alert is the last that is sent.
/// If no data is to be sent, [`wants_write`](Self::wants_write) says so, and [`write_tls`](Self::write_tls) or
/// [`take_tls`](Self::take_tls) send the answer.
///
/// Dropping it does not send a close_notify: call [`send_close_notify`](Self::send_close_notify) and send what that
/// makes. The receiver goes on without it; but what the peer asks for, nobody answers then.
pub struct Sender {
    common: CommonState,
    link: Arc<Link>,
    facts: Arc<Facts>,
}

impl Sender {
    pub(super) fn new(common: CommonState, link: Arc<Link>, facts: Arc<Facts>) -> Self {
        if common.records.sending == Sending::Closed {
            link.sender_is_done();
        }
        Self {
            common,
            link,
            facts,
        }
    }

    /// True when there is something to send: what was written, or what the receiving half has met that is to be
    /// answered.
    pub fn wants_write(&self) -> bool {
        self.common.wants_write()
            || wants_sender(&self.link)
            || (self.owes_update() && !self.link.has_failed())
    }

    /// Encrypts `application_data` into the front of `outgoing_tls`, behind what waits; returns how many bytes are to be
    /// sent.
    ///
    /// # Errors
    ///
    /// [`EncryptError::InsufficientSize`] when `outgoing_tls` is too short: it says how much is needed, and the same
    /// call with that much succeeds, unless the peer asks for new keys in between: then it may need a little more.
    /// [`EncryptError::EncryptExhausted`] when nothing can be encrypted any more, as after a close_notify or a failure
    /// ([`error`](Self::error)); what waits can still be taken by [`take_tls`](Self::take_tls).
    pub fn encrypt(
        &mut self,
        application_data: &[u8],
        outgoing_tls: &mut [u8],
    ) -> Result<usize, EncryptError> {
        self.hear();
        self.common.encrypt(application_data, outgoing_tls)
    }

    /// As [`Self::encrypt`], behind the first `used` bytes of a `Vec` that grows as needed; returns how many bytes were
    /// written there. [`WriteTraffic::encrypt_to_vec`](crate::unbuffered::WriteTraffic::encrypt_to_vec) says more about
    /// `used`.
    ///
    /// # Errors
    ///
    /// Those of [`Self::encrypt`]; [`EncryptError::InsufficientSize`] only where the memory cannot be had. The length of
    /// `outgoing_tls` and its first `used` bytes are as before then.
    pub fn encrypt_to_vec(
        &mut self,
        application_data: &[u8],
        outgoing_tls: &mut Vec<u8>,
        used: usize,
    ) -> Result<usize, EncryptError> {
        self.hear();
        write_to_vec(outgoing_tls, used, |out| {
            self.common.encrypt(application_data, out)
        })
    }

    /// How many bytes [`Self::encrypt_in_place`] needs before and behind the payload. They stay the same.
    pub fn in_place_room(&self) -> InPlaceRoom {
        self.common.records.sender.in_place_room()
    }

    /// Makes a record of the plaintext at `payload` of `buf`, around it and in its place; returns where in `buf` the
    /// record is, to be sent as it is.
    ///
    /// ```text
    ///        ┌─ headroom ─┐┌─ payload ────────┐┌─ tailroom ─┐
    ///  buf = │            ││ plaintext        ││            │
    ///        └────────────┘└──────────────────┘└────────────┘
    ///        │ record                                       │   returned range
    /// ```
    ///
    /// # Errors
    ///
    /// [`InPlaceError`]; `buf` is unchanged then, unless the cipher failed, which ends the connection. On
    /// [`InPlaceError::OutputPending`] something else has to be sent first: [`Self::write_tls`] or [`Self::take_tls`]
    /// hand it out.
    pub fn encrypt_in_place(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, InPlaceError> {
        self.hear();
        self.common.encrypt_in_place(buf, payload)
    }

    /// Copies the TLS bytes that wait to the front of `outgoing_tls`; returns how many there are, which are to be sent.
    ///
    /// [`Self::write_tls`] does the same for a writer.
    ///
    /// # Errors
    ///
    /// [`InsufficientSizeError`] when `outgoing_tls` is too short; nothing is lost.
    pub fn take_tls(&mut self, outgoing_tls: &mut [u8]) -> Result<usize, InsufficientSizeError> {
        self.hear();
        self.settle();
        self.common.take_output(outgoing_tls)
    }

    /// As [`Self::take_tls`], behind the first `used` bytes of a `Vec`, as [`Self::encrypt_to_vec`] writes.
    ///
    /// # Errors
    ///
    /// [`InsufficientSizeError`] only where the memory cannot be had; nothing is lost.
    pub fn take_tls_to_vec(
        &mut self,
        outgoing_tls: &mut Vec<u8>,
        used: usize,
    ) -> Result<usize, InsufficientSizeError> {
        self.hear();
        self.settle();
        write_to_vec(outgoing_tls, used, |out| self.common.take_output(out))
    }

    /// Queues a close_notify: nothing more will be sent (RFC 9846 §6.1), not even an answer to what the peer asks for.
    /// The receiving half goes on. Does nothing when a close_notify or a fatal alert was queued before.
    pub fn send_close_notify(&mut self) {
        self.hear();
        self.common.send_close_notify();
    }

    /// Replaces the keys of both directions: sends a KeyUpdate that requests one in return (RFC 9846 §4.7.3).
    ///
    /// There is no need to call this because of a key's limits: worn keys are replaced without it.
    ///
    /// # Errors
    ///
    /// [`Error::HandshakeNotComplete`] in TLS 1.2, which cannot replace keys, as of a whole connection; the error that
    /// ended the connection.
    pub fn refresh_traffic_keys(&mut self) -> Result<(), Error> {
        self.hear();
        self.common.refresh_traffic_keys()
    }

    /// The error that has ended the connection, in this half or in the other.
    pub fn error(&self) -> Option<Error> {
        let own = self.common.check_failed().err();
        own.or_else(|| Some(self.link.failure()?.error.clone()))
    }

    /// Acts on what the receiving half has met.
    #[inline]
    fn hear(&mut self) {
        if self.link.has_news() {
            self.act_on_news();
        }
    }

    #[cold]
    fn act_on_news(&mut self) {
        let news = self.link.take_news();
        if let Some(failure) = self.link.failure() {
            if !self.common.has_failed() {
                self.common.fail(failure.clone());
            }
            return;
        }
        let common = &mut self.common;
        if news.update {
            let established = common.established.as_mut();
            if let Some(secrets) = established.and_then(Established::refreshable) {
                secrets.answer_update(&mut common.records);
            }
        }
        #[cfg(feature = "tls12")]
        if news.refusal {
            whole(common, |common| {
                let refusal = AlertDescription::NoRenegotiation;
                if let Err(error) = common.records.send_warning(refusal) {
                    common.fail(error.into());
                }
            });
        }
    }

    /// True when the peer's request for a KeyUpdate was taken from the other half, and not answered yet.
    fn owes_update(&self) -> bool {
        let established = self.common.established.as_ref();
        self.common.records.sending == Sending::Traffic
            && established.is_some_and(Established::owes_update)
    }

    /// Sends the KeyUpdate that is owed, if nothing else waits to be sent: a peer that asks for many and reads none
    /// makes the output no longer.
    fn settle(&mut self) {
        whole(&mut self.common, |common| {
            if !common.records.outgoing.is_empty() {
                return;
            }
            let Some(established) = &mut common.established else {
                return;
            };
            if let Err(error) = established.settle(&mut common.records) {
                common.fail(error.into());
            }
        });
    }
}

#[cfg(feature = "std")]
impl Sender {
    /// An object to write plaintext to, which is encrypted as it is written.
    pub fn writer(&mut self) -> Writer<'_> {
        // what is to be answered takes room
        self.hear();
        Writer { sender: self }
    }

    /// Writes TLS bytes that wait to be sent to `wr`, in one call of its `write_vectored`; makes no call when nothing
    /// waits.
    ///
    /// # Errors
    ///
    /// Those of `wr`; what was not written still waits.
    pub fn write_tls(&mut self, wr: &mut dyn io::Write) -> Result<usize, io::Error> {
        self.hear();
        self.settle();
        write_outgoing(&mut self.common.records.outgoing, wr)
    }

    /// Limits how many bytes of TLS to be sent this half holds before [`Writer`] accepts less; `None` for no limit. What
    /// it was for the connection, or 64 KiB, unless set.
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

/// Encrypts what is written to it into the outgoing buffer of a [`Sender`], from which [`Sender::write_tls`] sends.
///
/// When the buffer limit is reached, less is accepted than was given, down to nothing (`Ok(0)`). After a close_notify
/// nothing is accepted: [`io::ErrorKind::BrokenPipe`]. After a failure of either half the error is that of the
/// connection, as [`io::ErrorKind::InvalidData`].
#[cfg(feature = "std")]
pub struct Writer<'a> {
    sender: &'a mut Sender,
}

#[cfg(feature = "std")]
impl Writer<'_> {
    /// How many bytes of plaintext the next write takes; `None` when there is no limit. It is that of
    /// [`rustls::Writer`](crate::Writer::room_left), and 0 after a failure of either half, too. What the receiving half
    /// meets before that write, and is to be answered, may make it a little less.
    pub fn room_left(&self) -> Option<usize> {
        if self.sender.link.has_failed() {
            Some(0)
        } else {
            self.sender.common.plaintext_room()
        }
    }

    /// The writer of a whole connection, once what has to be acted on is.
    #[inline]
    fn whole(&mut self) -> crate::Writer<'_> {
        self.sender.hear();
        crate::Writer::new(&mut self.sender.common)
    }

    /// Returns what came of a write, but [`io::ErrorKind::BrokenPipe`] where sending is over: the writer of a whole
    /// connection drops data then, for the sake of programs written for 0.23.
    #[inline]
    fn unless_dropped(&self, written: io::Result<usize>) -> io::Result<usize> {
        if self.sender.common.records.is_sending_over() {
            written.and_then(|_| Err(io::ErrorKind::BrokenPipe.into()))
        } else {
            written
        }
    }
}

#[cfg(feature = "std")]
impl io::Write for Writer<'_> {
    /// Accepts up to the buffer limit.
    #[inline]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.whole().write(buf);
        self.unless_dropped(written)
    }

    /// Accepts up to the buffer limit. The pieces are cut into records as one, not each by itself.
    fn write_vectored(&mut self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
        let written = self.whole().write_vectored(bufs);
        self.unless_dropped(written)
    }

    /// Sends nothing, [`Sender::write_tls`] does; returns the connection's failure if there is one.
    fn flush(&mut self) -> io::Result<()> {
        self.whole().flush()
    }
}

#[cfg(feature = "std")]
impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
