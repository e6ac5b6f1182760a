//! The buffered connection: the application reads and writes plaintext, `read_tls` and `write_tls` move TLS,
//! and the connection has the buffers in between.

use core::fmt;
use core::ops::{Deref, DerefMut, Range};
use std::io;

use super::common_state::CommonState;
use super::driver::Driver;
use super::reader::Reader;
use super::records::Receiving;
use super::sending::invalid_data;
use super::write_outgoing::write_outgoing;
use super::writer::Writer;
use crate::error::Error;
use crate::record::sender::{InPlaceError, InPlaceRoom};
use crate::suites::ExtractedSecrets;

/// What client and server connections have in common.
///
/// A connection does no I/O of its own. Bytes go in and out by four calls:
///
/// ```text
///                ┌──────────────────────────────────────────┐
///   writer() ───►│ seal ──► outgoing buffer ────────────────┼──► write_tls()
///                │                                          │
///   reader() ◄───┤ plaintext, where it was received ◄─ open ◄┼─── read_tls()
///                │                    process_new_packets() │
///                └──────────────────────────────────────────┘
/// ```
pub struct ConnectionCommon<Data> {
    pub(crate) driver: Driver<Data>,
}

impl<Data> ConnectionCommon<Data> {
    pub(crate) fn new(driver: Driver<Data>) -> Self {
        Self { driver }
    }

    /// An object to read received plaintext from.
    pub fn reader(&mut self) -> Reader<'_> {
        Reader::new(&mut self.driver.common)
    }

    /// An object to write plaintext to, which is encrypted as it is written.
    pub fn writer(&mut self) -> Writer<'_> {
        Writer::new(&mut self.driver.common)
    }

    /// Reads TLS bytes from `rd` into the connection's receive buffer, with one call of its `read`.
    ///
    /// Returns how many; zero is the end of the stream. [`Self::process_new_packets`] must follow.
    ///
    /// # Errors
    ///
    /// Those of `rd`; [`io::ErrorKind::Other`] while more than 16 KiB of plaintext wait to be read, and when `rd` returns
    /// more than the length of the buffer that it was given;
    /// [`io::ErrorKind::InvalidData`] while more than a record waits to be processed.
    pub fn read_tls(&mut self, rd: &mut dyn io::Read) -> Result<usize, io::Error> {
        self.driver.common.records.read_tls(rd)
    }

    /// Writes TLS bytes that wait to be sent to `wr`, in one call of its `write_vectored`; makes no call when
    /// nothing waits.
    ///
    /// # Errors
    ///
    /// Those of `wr`; what was not written still waits. [`io::ErrorKind::Other`] when `wr` returns more than the length of
    /// what it was given, all of which counts as written.
    pub fn write_tls(&mut self, wr: &mut dyn io::Write) -> Result<usize, io::Error> {
        write_outgoing(&mut self.driver.common.records.outgoing, wr)
    }

    /// Processes what [`Self::read_tls`] has read: goes on with the handshake, opens application data
    /// for [`Self::reader`].
    ///
    /// # Errors
    ///
    /// Any [`Error`] ends the connection; the alert that tells the peer waits for
    /// [`Self::write_tls`], plaintext received before can still be read, and each further call
    /// returns the same error.
    pub fn process_new_packets(&mut self) -> Result<IoState, Error> {
        self.driver.process_received()?;
        let records = &self.driver.common.records;
        Ok(IoState {
            tls_bytes_to_write: records.outgoing.len(),
            plaintext_bytes_to_read: records.received.unread(),
            peer_has_closed: records.receiving == Receiving::Closed,
        })
    }

    /// Moves TLS bytes between the connection and `io` until there is progress: while handshaking, until the
    /// handshake is complete; otherwise until what waits is written and, if nothing waited, something was
    /// read.
    ///
    /// Returns how many bytes were read and written. Zero and zero means that nothing was wanted, that
    /// the stream has ended, or that `io`'s `write` took nothing.
    ///
    /// # Errors
    ///
    /// Those of `io`, except that [`io::ErrorKind::Interrupted`] of its `read` is tried again and
    /// [`io::ErrorKind::WouldBlock`] is returned only when nothing was moved before in the direction that
    /// blocks;
    /// [`io::ErrorKind::UnexpectedEof`] when the stream ends during the handshake;
    /// [`io::ErrorKind::InvalidData`] with the [`Error`] of [`Self::process_new_packets`], after an
    /// attempt to send the alert. Nothing is read once the connection has failed.
    pub fn complete_io<T>(&mut self, io: &mut T) -> Result<(usize, usize), io::Error>
    where
        Self: Sized,
        T: io::Read + io::Write,
    {
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
            if !self.wants_read() || eof {
                return match (blocked, handshaking) {
                    (Some(error), _) if written == 0 => Err(error),
                    // a close_notify or the end of the stream ends the loop during the handshake
                    // too: there is nothing left to wait for (RUSTSEC-2024-0336)
                    (None, true) => Err(io::ErrorKind::UnexpectedEof.into()),
                    _ => Ok((read, written)),
                };
            }
            // after a failure it does not matter what comes, and nothing may: reading could wait for ever
            self.driver.common.check_failed().map_err(invalid_data)?;
            match self.read_tls(io) {
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
            self.process_or_alert(io)?;
            if !handshaking {
                return Ok((read, written));
            }
        }
    }

    /// Writes all that waits, or as much as `io` takes, and flushes it.
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

    /// Processes what was read; on error tries to send the alert, since the caller will not.
    fn process_or_alert<T: io::Write>(&mut self, io: &mut T) -> Result<(), io::Error> {
        self.process_new_packets().map(|_| ()).map_err(|error| {
            // the caller needs this error, not that of sending the alert
            // a writer without a `write_vectored` of its own takes a record at a time, and the alert is the last
            let _ = self.write_all_tls(io, &mut 0);
            invalid_data(error)
        })
    }

    /// Limits how many bytes of written plaintext and of TLS to be sent the connection holds before
    /// [`Writer`] accepts less; `None` for no limit. 64 KiB unless set. [`Writer::room_left`] says what is left of it.
    ///
    /// Without a limit, [`Writer`] accepts what there is memory for.
    pub fn set_buffer_limit(&mut self, limit: Option<usize>) {
        self.driver.common.buffer_limit = limit;
    }

    /// Derives keying material from the connection (RFC 9846 §7.5, RFC 5705) and returns it in
    /// `output`.
    ///
    /// # Errors
    ///
    /// [`Error::HandshakeNotComplete`] before the handshake is complete; [`Error::General`] when
    /// `output` is empty or too long.
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

    /// Replaces the keys of both directions: sends a KeyUpdate that requests one in return (RFC 9846
    /// §4.7.3).
    ///
    /// There is no need to call this because of a key's limits: the connection replaces worn keys by itself.
    ///
    /// # Errors
    ///
    /// [`Error::HandshakeNotComplete`] before the handshake is complete.
    pub fn refresh_traffic_keys(&mut self) -> Result<(), Error> {
        self.driver.common.refresh_traffic_keys()
    }

    /// The keys of both directions, to be used by another record layer, the Linux kernel's for example (kernel
    /// TLS).
    ///
    /// It is dangerous: whoever has the keys can read and forge everything.
    ///
    /// # Errors
    ///
    /// [`Error::General`] unless `enable_secret_extraction` of the configuration is set, while something waits
    /// to be sent or the peer's request for a KeyUpdate has not been answered (`refresh_traffic_keys` does), while something that was received
    /// has not been read, part of a record or of a message included, and when the crypto provider
    /// does not hand out keys; [`Error::HandshakeNotComplete`]; the error that ended the connection.
    pub fn dangerous_extract_secrets(self) -> Result<ExtractedSecrets, Error> {
        self.driver.common.extract_secrets()
    }

    /// How many bytes [`Self::encrypt_in_place`] needs before and behind the payload.
    ///
    /// They are the same from the end of the handshake to the end of the connection.
    pub fn in_place_room(&self) -> InPlaceRoom {
        self.driver.common.records.sender.in_place_room()
    }

    /// Makes a record of the plaintext at `payload` of `buf`, around it and in its place; returns
    /// where in `buf` the record is, to be sent as it is.
    ///
    /// ```text
    ///        ┌─ headroom ─┐┌─ payload ────────┐┌─ tailroom ─┐
    ///  buf = │            ││ plaintext        ││            │
    ///        └────────────┘└──────────────────┘└────────────┘
    ///        │ record                                       │   returned range
    /// ```
    ///
    /// The record does not pass through [`Self::write_tls`]. Send what waits there first, or the records
    /// would arrive in the wrong order.
    ///
    /// ```
    /// fn send(
    ///     conn: &mut rustls::ClientConnection,
    ///     message: &[u8],
    ///     sock: &mut impl std::io::Write,
    /// ) -> Result<(), Box<dyn std::error::Error>> {
    ///     let room = conn.in_place_room();
    ///     let mut buf = vec![0; room.headroom + message.len() + room.tailroom];
    ///     // copied here; better to read or compute the plaintext in place
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
    /// [`InPlaceError`]; the buffer is unchanged then, unless the cipher failed, which ends the connection. On
    /// [`InPlaceError::OutputPending`] the connection has something of its own to send first (a KeyUpdate):
    /// [`Self::write_tls`] writes it.
    pub fn encrypt_in_place(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, InPlaceError> {
        self.driver.common.encrypt_in_place(buf, payload)
    }
}

/// Why [`ConnectionCommon::write_all_tls`] stopped.
enum WriteEnd {
    AllWritten,
    /// The writer would block.
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

/// What [`ConnectionCommon::process_new_packets`] found.
#[derive(Debug, Eq, PartialEq)]
pub struct IoState {
    tls_bytes_to_write: usize,
    plaintext_bytes_to_read: usize,
    peer_has_closed: bool,
}

impl IoState {
    /// How many bytes wait for `write_tls`.
    pub fn tls_bytes_to_write(&self) -> usize {
        self.tls_bytes_to_write
    }

    /// How many bytes of plaintext wait to be read.
    pub fn plaintext_bytes_to_read(&self) -> usize {
        self.plaintext_bytes_to_read
    }

    /// True when the peer has sent a close_notify: no more plaintext will come.
    pub fn peer_has_closed(&self) -> bool {
        self.peer_has_closed
    }
}
