//! The buffered connection: the application reads and writes plaintext, `read_tls` and `write_tls`
//! move TLS bytes, and the connection owns the buffers in between.

use core::fmt;
use core::ops::{Deref, DerefMut, Range};
use core::task::{self, Poll, ready};
use std::io;

use super::common_state::CommonState;
use super::driver::Driver;
use super::parking::park_until_ready;
use super::reader::Reader;
use super::records::Receiving;
use super::sending::invalid_data;
use super::unwinding::fail_on_panic;
use super::write_outgoing::{write_all, write_or_queue, write_outgoing};
use super::writer::Writer;
use crate::conn::in_place_error::InPlaceError;
use crate::error::Error;
use crate::record::sender::InPlaceRoom;
use crate::suites::ExtractedSecrets;

/// Methods that client and server connections share.
///
/// A connection does no I/O itself. The caller moves bytes between it and the socket:
///
/// ```text
///                ┌──────────────────────────────────────────┐
///   writer() ───►│ seal ──► outgoing buffer ────────────────┼──► write_tls()
///                │                                          │
///   reader() ◄───┤ plaintext, in the receive buffer ◄ open ◄┼─── read_tls()
///                │                    process_new_packets() │
///                └──────────────────────────────────────────┘
/// ```
///
/// There are five kinds of methods. Call those of the first four kinds in turn:
///
/// 1. **Bytes from the socket**: call [`read_tls`](Self::read_tls) while
///    [`wants_read`](CommonState::wants_read) is true and the socket is readable.
/// 2. **Progress**: call [`process_new_packets`](Self::process_new_packets) after each `read_tls`
///    that read any bytes. If its [`IoState::is_waiting`] is true, call
///    [`poll_operation`](Self::poll_operation) until that is ready. Only connections with
///    [`set_async`](CommonState::set_async) wait.
/// 3. **Application plaintext**: read from [`reader`](Self::reader) what
///    [`IoState::plaintext_bytes_to_read`] reports, before the next `read_tls`: unread plaintext
///    makes `wants_read` false. Write to [`writer`](Self::writer) at any time. Writing,
///    [`send_close_notify`](Self::send_close_notify) and
///    [`refresh_traffic_keys`](Self::refresh_traffic_keys) queue bytes for the next kind.
///    [`encrypt_in_place`](Self::encrypt_in_place) returns a record instead, which must be sent
///    after the queued bytes.
/// 4. **Bytes for the socket**: call [`write_tls`](Self::write_tls) while
///    [`wants_write`](CommonState::wants_write) is true and the socket is writable. Do so even
///    after an error of `process_new_packets`, which may leave an alert to send.
/// 5. **Properties and settings**, in any order: [`is_handshaking`](CommonState::is_handshaking)
///    and the other accessors of [`CommonState`], [`set_buffer_limit`](Self::set_buffer_limit),
///    [`export_keying_material`](Self::export_keying_material).
///
/// [`complete_io`](Self::complete_io) calls the methods of the first, second and fourth kind for
/// blocking sockets. [`Stream`](crate::Stream) also calls those of the third kind.
pub struct ConnectionCommon<Data> {
    pub(crate) driver: Driver<Data>,
}

impl<Data> ConnectionCommon<Data> {
    pub(crate) fn new(driver: Driver<Data>) -> Self {
        Self { driver }
    }

    /// Returns a reader for the plaintext that [`Self::process_new_packets`] decrypted.
    pub fn reader(&mut self) -> Reader<'_> {
        Reader::new(&mut self.driver.common)
    }

    /// Returns a writer for plaintext, which is encrypted and queued for [`Self::write_tls`].
    pub fn writer(&mut self) -> Writer<'_> {
        Writer::new(self.driver.write_access())
    }

    /// Reads TLS bytes into the connection's receive buffer, with at most one call to `rd.read`.
    ///
    /// Returns the number of bytes read: 0 at the end of the stream, and also, without a call to
    /// `rd`, after the peer's close_notify. Call [`Self::process_new_packets`] next.
    ///
    /// # Errors
    ///
    /// - The errors of `rd`.
    /// - [`io::ErrorKind::Other`] if more than 16 KiB of plaintext are unread, or if `rd` returns
    ///   more than the length of its buffer.
    /// - [`io::ErrorKind::InvalidData`] if the unprocessed bytes are already as long as the longest
    ///   possible record (18 437 bytes).
    pub fn read_tls(&mut self, rd: &mut dyn io::Read) -> Result<usize, io::Error> {
        self.read_tls_for(rd, 0)
    }

    /// Reads TLS bytes like [`Self::read_tls`], for a caller that either has a buffer of `len`
    /// bytes for [`Self::process_new_packets_into`], or passes on all plaintext after each call
    /// ([`Writer::write_received`], [`Reader::write_to`]).
    ///
    /// While the peer streams long records, one call may then read `len` / 16 KiB of them, at least
    /// one and at most four.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::read_tls`].
    pub fn read_tls_for(&mut self, rd: &mut dyn io::Read, len: usize) -> Result<usize, io::Error> {
        self.driver.common.records.read_tls_for(rd, len)
    }

    /// Writes queued TLS bytes, up to 64 records, with one call to `wr.write_vectored`. Returns the
    /// number of bytes written. Does not call `wr` if nothing is queued.
    ///
    /// # Errors
    ///
    /// - The errors of `wr`. Unwritten bytes stay queued.
    /// - [`io::ErrorKind::Other`] if `wr` returns more than the length of its input. All of the
    ///   input then counts as written.
    pub fn write_tls(&mut self, wr: &mut dyn io::Write) -> Result<usize, io::Error> {
        write_outgoing(&mut self.driver.common.records.outgoing, wr)
    }

    /// Processes the complete records that [`Self::read_tls`] read: continues the handshake, and
    /// decrypts application data for [`Self::reader`]. While the handshake [is
    /// waiting](CommonState::is_waiting), most records are not processed.
    ///
    /// # Errors
    ///
    /// Any [`Error`] ends the connection. The alert for the peer, if any, is queued for
    /// [`Self::write_tls`], and plaintext received earlier can still be read. Each later call
    /// returns the same error.
    pub fn process_new_packets(&mut self) -> Result<IoState, Error> {
        fail_on_panic(&mut self.driver, Driver::process_received)?;
        Ok(self.io_state())
    }

    /// Processes received bytes like [`Self::process_new_packets`], and then reads plaintext into
    /// `buf` like [`Self::reader`]. Returns the number of bytes read, and the state after that.
    ///
    /// A record that fits into the rest of `buf` is usually opened there directly, which saves a
    /// copy, if the crypto provider can do so: aws-lc-rs can, except for AES-GCM with feature
    /// `fips`; ring cannot. With TLS 1.3, a record needs at least one byte more than its plaintext.
    /// So `buf` should be longer than 16 KiB, best a little more than 64 KiB: while the peer
    /// streams, [`Self::read_tls_for`] then reads several records at a time.
    ///
    /// Bytes of `buf` after those read may be overwritten, but never with unauthenticated data. If
    /// no bytes are read, [`Reader`] returns the reason.
    ///
    /// ```
    /// # use std::io::{self, Read};
    /// /// Reads from `sock`, which is non-blocking, until there is plaintext in `buf`.
    /// fn read(
    ///     conn: &mut rustls::ClientConnection,
    ///     sock: &mut impl Read,
    ///     buf: &mut [u8],
    /// ) -> io::Result<usize> {
    ///     loop {
    ///         let (len, _) = conn.process_new_packets_into(buf).map_err(io::Error::other)?;
    ///         if len != 0 || !conn.wants_read() || conn.read_tls_for(sock, buf.len())? == 0 {
    ///             return if len != 0 { Ok(len) } else { conn.reader().read(buf) };
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::process_new_packets`]. All plaintext can then still be read
    /// from [`Self::reader`].
    pub fn process_new_packets_into(&mut self, buf: &mut [u8]) -> Result<(usize, IoState), Error> {
        let len = fail_on_panic(&mut self.driver, |driver| driver.process_received_into(buf))?;
        Ok((len, self.io_state()))
    }

    fn io_state(&self) -> IoState {
        let records = &self.driver.common.records;
        IoState {
            queued: records.outgoing.len(),
            readable: records.received.unread(),
            is_closed: records.receiving == Receiving::Closed,
            is_waiting: self.is_waiting(),
        }
    }

    /// Polls the operation that the handshake is waiting for, and continues the handshake with its
    /// result. Returns `Ready` if the handshake is not waiting for an operation. Otherwise, the
    /// task of `cx` is woken when it is worth polling again.
    ///
    /// Call it if [`IoState::is_waiting`] is true, which only happens with
    /// [`set_async`](CommonState::set_async). While it is pending, the connection can write, and
    /// should read as long as [`wants_read`](CommonState::wants_read) is true. Received messages
    /// wait, except an alert if it comes next and before the peer's Finished. When the operation is
    /// over, this method processes them like [`Self::process_new_packets`]; call
    /// `process_new_packets` to get the new [`IoState`]. Dropping the connection drops the
    /// operation.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::process_new_packets`], which end the connection in the same
    /// way.
    pub fn poll_operation(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        fail_on_panic(&mut self.driver, |driver| {
            loop {
                ready!(driver.poll_operation(cx))?;
                driver.process_received()?;
                if !driver.common.is_waiting() {
                    return Poll::Ready(Ok(()));
                }
            }
        })
    }

    /// Moves TLS bytes between the connection and `io` until there is progress.
    ///
    /// During the handshake, it continues until the handshake is complete or `io` would block.
    /// Afterwards, it writes the queued bytes, or reads once if none are queued or writing would
    /// block.
    ///
    /// If the handshake is waiting for an application operation, this parks the thread until the
    /// operation is over. Timeouts of `io` do not apply during that time.
    ///
    /// Returns the numbers of bytes read and written. Two zeros mean that there was nothing to do,
    /// that the stream has ended, or that `io.write` returned 0.
    ///
    /// # Errors
    ///
    /// - The errors of `io`. [`io::ErrorKind::Interrupted`] from `io.read` is retried.
    ///   [`io::ErrorKind::WouldBlock`] from `io.read` or `io.write` is returned only if no bytes
    ///   were moved in that direction.
    /// - [`io::ErrorKind::UnexpectedEof`] if the stream ends during the handshake.
    /// - [`io::ErrorKind::InvalidData`] with the [`Error`] of [`Self::process_new_packets`], after
    ///   an attempt to send the alert. A failed connection does not read again.
    pub fn complete_io<T>(&mut self, io: &mut T) -> Result<(usize, usize), io::Error>
    where
        Self: Sized,
        T: io::Read + io::Write,
    {
        self.complete_io_into(io, &mut 0, &mut [])
    }

    /// Like [`Self::complete_io`], and reads plaintext into `buf`, unless the handshake is
    /// incomplete at the start. Sets `plaintext_len` to the number of plaintext bytes if it reads.
    pub(super) fn complete_io_into<T>(
        &mut self,
        io: &mut T,
        plaintext_len: &mut usize,
        buf: &mut [u8],
    ) -> Result<(usize, usize), io::Error>
    where
        Self: Sized,
        T: io::Read + io::Write,
    {
        // after a panic, this call drops the handshake's secrets and the session
        let _ = fail_on_panic(&mut self.driver, Driver::check_failed);
        let handshaking = self.driver.common.records.is_handshaking();
        let (mut read, mut written) = (0, 0);
        let mut eof = false;
        loop {
            let blocked = match self.write_all_tls(io, &mut written)? {
                WriteEnd::AllWritten => None,
                WriteEnd::Blocked(error) => Some(error),
                WriteEnd::NothingTaken => return Ok((read, written)),
            };
            if !handshaking && written != 0 || handshaking && !self.is_handshaking() {
                return Ok((read, written));
            }
            if self.is_waiting() {
                self.await_operation(io)?;
                continue;
            }
            if !self.wants_read() || eof {
                return match (blocked, handshaking) {
                    (Some(error), _) if written == 0 => Err(error),
                    // the end of the stream also ends the loop during the handshake: there is
                    // nothing left to wait for (RUSTSEC-2024-0336)
                    (None, true) => Err(io::ErrorKind::UnexpectedEof.into()),
                    _ => Ok((read, written)),
                };
            }
            // do not read after a failure: the read could block forever, and its data would be
            // ignored
            self.driver.common.check_failed().map_err(invalid_data)?;
            let buf = if handshaking { &mut [] } else { &mut *buf };
            match self.read_tls_for(io, buf.len()) {
                Ok(len) => {
                    read += len;
                    eof = len == 0;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && read != 0 => {
                    return Ok((read, written));
                }
                Err(error) => return Err(error),
            }
            *plaintext_len = self.process_or_alert(io, buf)?;
            if !handshaking {
                return Ok((read, written));
            }
        }
    }

    /// Writes all queued bytes, or as many as `io` accepts. Then flushes `io` if bytes were
    /// written, or if `io.write` returned 0.
    fn write_all_tls<T: io::Write>(
        &mut self,
        io: &mut T,
        written: &mut usize,
    ) -> Result<WriteEnd, io::Error> {
        let before = *written;
        let end = loop {
            if !self.wants_write() {
                break WriteEnd::AllWritten;
            }
            match self.write_tls(io) {
                Ok(0) => break WriteEnd::NothingTaken,
                Ok(len) => *written += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    break WriteEnd::Blocked(error);
                }
                Err(error) => return Err(error),
            }
        };
        if *written != before || matches!(end, WriteEnd::NothingTaken) {
            io.flush()?;
        }
        Ok(end)
    }

    /// Processes received bytes, and reads plaintext into `buf`. On an error, tries to send the
    /// alert, because the caller will not.
    fn process_or_alert<T: io::Write>(
        &mut self,
        io: &mut T,
        buf: &mut [u8],
    ) -> Result<usize, io::Error> {
        let processed = if buf.is_empty() {
            self.process_new_packets().map(|_| 0)
        } else {
            self.process_new_packets_into(buf).map(|(len, _)| len)
        };
        processed.map_err(|error| self.send_alert_of(error, io))
    }

    /// Parks the thread until the operation that the handshake is waiting for is over.
    fn await_operation<T: io::Write>(&mut self, io: &mut T) -> Result<(), io::Error> {
        let result = park_until_ready(|cx| self.poll_operation(cx));
        result.map_err(|error| self.send_alert_of(error, io))
    }

    fn send_alert_of<T: io::Write>(&mut self, error: Error, io: &mut T) -> io::Error {
        // return this error to the caller, not one from sending the alert; a writer without its
        // own `write_vectored` accepts one record per call, and the alert is the last
        let _ = self.write_all_tls(io, &mut 0);
        invalid_data(error)
    }

    /// Limits the number of bytes that [`Writer`] may queue: plaintext until it may be sent, TLS
    /// bytes afterwards. `None` removes the limit. The default is 64 KiB. [`Writer::room_left`]
    /// returns what is left of it.
    ///
    /// Without a limit, [`Writer`] accepts as much as memory allows.
    pub fn set_buffer_limit(&mut self, limit: Option<usize>) {
        self.driver.common.buffer_limit = limit;
    }

    /// Derives keying material from the connection (RFC 9846 §7.5, RFC 5705) and returns it in
    /// `output`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::HandshakeNotComplete`] before the handshake is complete, and the error that
    /// ended the connection if it has failed. Returns [`Error::General`] if `output` is empty; in
    /// TLS 1.3, if `output` is too long or `label` is longer than 249 bytes; in TLS 1.2, if
    /// `context` is longer than 65 535 bytes, or the peer does not support the extended master
    /// secret.
    pub fn export_keying_material<T: AsMut<[u8]>>(
        &self,
        output: T,
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<T, Error> {
        self.driver
            .common
            .export_keying_material(output, label, context)
    }

    /// Replaces the keys for both directions: queues a KeyUpdate that requests one in return (RFC
    /// 9846 §4.7.3), unless it is a reply itself, or an earlier request is still unanswered.
    ///
    /// Does nothing after a close_notify, after 2^48 - 1 updates, or while the sending key from an
    /// earlier update is unused and the peer has not requested another update. A key that reaches
    /// its usage limit is replaced automatically, without this call.
    ///
    /// A peer that uses this crate fails if it receives more than 32 KeyUpdates without application
    /// data between them. KeyUpdates that only reply to its own requests do not count.
    ///
    /// # Errors
    ///
    /// Returns [`Error::HandshakeNotComplete`] before the handshake is complete, and in TLS 1.2,
    /// which cannot replace keys. Returns [`Error::EncryptError`] if the cipher fails, which ends
    /// the connection. Returns the error that ended the connection if it has failed.
    pub fn refresh_traffic_keys(&mut self) -> Result<(), Error> {
        self.driver
            .write_access()
            .send(CommonState::refresh_traffic_keys)
    }

    /// Queues a close_notify, as [`CommonState::send_close_notify`] describes. If the cipher fails,
    /// the connection ends, and its TLS 1.2 session is removed from the session store.
    pub fn send_close_notify(&mut self) {
        self.driver
            .write_access()
            .send(CommonState::send_close_notify);
    }

    /// Returns the keys for both directions, for an external record layer such as the Linux
    /// kernel's (kernel TLS).
    ///
    /// This is dangerous: anyone who has the keys can read and forge all data.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if one of these holds:
    ///
    /// - the configuration does not set `enable_secret_extraction`;
    /// - output is queued, or a KeyUpdate that the peer requested has not been sent yet (call
    ///   `refresh_traffic_keys`);
    /// - received data is unread, including part of a record or of a message;
    /// - the crypto provider does not export keys.
    ///
    /// Returns [`Error::HandshakeNotComplete`] before the handshake is complete, and the error that
    /// ended the connection if it has failed.
    pub fn dangerous_extract_secrets(mut self) -> Result<ExtractedSecrets, Error> {
        let secrets = self.driver.common.extract_secrets()?;
        self.driver.common.report_extraction();
        Ok(secrets)
    }

    /// Returns the number of bytes that [`Self::read_tls`] has read and
    /// [`Self::process_new_packets`] has not processed. After processing, these bytes are part of a
    /// record or of a handshake message, unless the handshake [is waiting](CommonState::is_waiting)
    /// or the connection has failed.
    ///
    /// The rest of that record or message must also be read through this connection. So check that
    /// the number is 0 before reading the socket any other way, for example into your own buffers.
    pub fn unprocessed_len(&self) -> usize {
        self.driver.common.unprocessed_len()
    }

    /// Returns the space that [`Self::encrypt_in_place`] needs before and after the payload.
    ///
    /// It stays the same from the end of the handshake to the end of the connection.
    pub fn in_place_room(&self) -> InPlaceRoom {
        self.driver.common.records.sender.in_place_room()
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
    /// The record does not pass through [`Self::write_tls`]: first send the bytes queued there. An
    /// empty payload gives no record: the returned range is empty, too.
    ///
    /// ```
    /// fn send(
    ///     conn: &mut rustls::ClientConnection,
    ///     message: &[u8],
    ///     sock: &mut impl std::io::Write,
    /// ) -> Result<(), Box<dyn std::error::Error>> {
    ///     let room = conn.in_place_room();
    ///     let mut buf = vec![0; room.headroom + message.len() + room.tailroom];
    ///     // copied for brevity; it is better to read or compute the plaintext in place
    ///     let payload = room.headroom..room.headroom + message.len();
    ///     buf[payload.clone()].copy_from_slice(message);
    ///
    ///     let record = conn.encrypt_in_place(&mut buf, payload)?;
    ///     sock.write_all(&buf[record])?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an [`InPlaceError`]. `buf` is then unchanged, except after
    /// [`InPlaceError::CipherFailed`], which ends the connection. [`InPlaceError::OutputPending`]
    /// means that queued bytes must be sent first, possibly a KeyUpdate that this call has queued:
    /// call [`Self::write_tls`].
    pub fn encrypt_in_place(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, InPlaceError> {
        self.driver
            .write_access()
            .send(|common| common.encrypt_in_place(buf, payload))
    }

    /// Encrypts the plaintext at `payload` in `buf` in place, like [`Self::encrypt_in_place`], and
    /// writes the record to `wr` with one call, after the queued output. Bytes that `wr` does not
    /// accept are copied, and queued for [`Self::write_tls`].
    ///
    /// After `Ok`, `buf` can be used again. With a non-blocking socket, this returns
    /// [`io::ErrorKind::WouldBlock`] before anything is encrypted if earlier output cannot be
    /// written: call it again with the same plaintext.
    ///
    /// ```
    /// use std::io::{self, Read, Write};
    ///
    /// /// Sends `file`, encrypted where it was read.
    /// fn send(
    ///     tls: &mut rustls::ServerConnection,
    ///     file: &mut impl Read,
    ///     socket: &mut impl Write,
    /// ) -> io::Result<()> {
    ///     let room = tls.in_place_room();
    ///     let (start, end) = (room.headroom, room.headroom + room.max_payload);
    ///     let mut buf = vec![0; end + room.tailroom];
    ///     loop {
    ///         match file.read(&mut buf[start..end])? {
    ///             0 => return Ok(()),
    ///             len => tls.send_in_place(&mut buf, start..start + len, socket)?,
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// - The errors of [`Self::write_tls`]. If `wr` fails after the plaintext is encrypted, the
    ///   record is queued.
    /// - [`io::ErrorKind::WriteZero`] if `wr` accepts none of the queued output.
    /// - An [`InPlaceError`] as an [`io::Error`].
    pub fn send_in_place(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
        wr: &mut dyn io::Write,
    ) -> io::Result<()> {
        loop {
            write_all(self, |conn| conn.wants_write(), |conn| conn.write_tls(wr))?;
            match self.encrypt_in_place(buf, payload.clone()) {
                Err(InPlaceError::OutputPending) => {}
                record => {
                    let outgoing = &mut self.driver.common.records.outgoing;
                    return write_or_queue(outgoing, &buf[record?], wr);
                }
            }
        }
    }
}

/// The reason why [`ConnectionCommon::write_all_tls`] stopped.
enum WriteEnd {
    AllWritten,
    /// Writing would block.
    Blocked(io::Error),
    /// The writer returned `Ok(0)`.
    NothingTaken,
}

impl<Data> Deref for ConnectionCommon<Data> {
    type Target = CommonState;

    fn deref(&self) -> &Self::Target {
        &self.driver.common
    }
}

impl<Data> DerefMut for ConnectionCommon<Data> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.driver.common
    }
}

impl<Data> fmt::Debug for ConnectionCommon<Data> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.driver.common.fmt(f)
    }
}

/// The state of a connection after [`ConnectionCommon::process_new_packets`].
#[derive(Eq, PartialEq)]
pub struct IoState {
    queued: usize,
    readable: usize,
    is_closed: bool,
    is_waiting: bool,
}

impl IoState {
    /// Returns the number of bytes queued for `write_tls`.
    pub fn tls_bytes_to_write(&self) -> usize {
        self.queued
    }

    /// Returns the number of plaintext bytes that can be read.
    pub fn plaintext_bytes_to_read(&self) -> usize {
        self.readable
    }

    /// True if the peer has sent a close_notify: no more plaintext will arrive.
    pub fn peer_has_closed(&self) -> bool {
        self.is_closed
    }

    /// True if the handshake is waiting for an application operation: call
    /// [`ConnectionCommon::poll_operation`].
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }
}

impl fmt::Debug for IoState {
    /// Prints the fields of rustls 0.23, and `is_waiting` if it is true.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("IoState");
        fields
            .field("tls_bytes_to_write", &self.queued)
            .field("plaintext_bytes_to_read", &self.readable)
            .field("peer_has_closed", &self.is_closed);
        if self.is_waiting {
            fields.field("is_waiting", &true);
        }
        fields.finish()
    }
}
