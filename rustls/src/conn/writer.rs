//! The application's writer for plaintext.

use core::fmt;
use std::io;

use rustls_core::crypto::cipher::OutboundChunks;

use super::common_state::CommonState;
use super::reader::Reader;
use super::sending::invalid_data;
use super::write_access::WriteAccess;

/// Encrypts plaintext into the connection's outgoing buffer, for `write_tls` to send.
///
/// Plaintext that may not be sent yet, because the handshake is not complete, is buffered. At the
/// buffer limit, a write accepts only part of its input, or nothing (`Ok(0)`).
///
/// **Data written after [`send_close_notify`](crate::CommonState::send_close_notify) is accepted
/// and dropped**, because programs that write during shutdown expect no error. The same happens
/// once a TLS 1.2 key has reached its usage limit, which closes the connection. After a failure, a
/// write returns the connection's error as [`io::ErrorKind::InvalidData`]. [`Self::room_left`] is 0
/// in all these cases.
///
/// If memory runs out, a write may accept only part of its input. If it accepts nothing, it returns
/// [`io::ErrorKind::OutOfMemory`], and the connection stays usable.
pub struct Writer<'a> {
    connection: WriteAccess<'a>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(connection: WriteAccess<'a>) -> Self {
        Self { connection }
    }

    /// Returns the number of plaintext bytes that the next write accepts and sends, or `None` if
    /// there is no limit.
    ///
    /// This is what is left of the limit set by
    /// [`set_buffer_limit`](crate::ConnectionCommon::set_buffer_limit). Until application data may
    /// be sent, buffered plaintext counts against the limit. Afterwards, the TLS bytes queued for
    /// `write_tls` count. A write may exceed the limit by the overhead of its records. No room is
    /// then left until `write_tls` has written enough.
    ///
    /// The number is 0 after `send_close_notify`, when writes are dropped, and after a failure,
    /// when writes return errors. In TLS 1.2, it is also limited by the bytes that the key can
    /// still protect, because keys cannot be replaced (RFC 9846 §5.5, RFC 5246 §6.1). With AES-GCM
    /// and records of the default length, these are initially almost 2^38 bytes.
    ///
    /// ```
    /// use std::io::{self, Read, Write};
    ///
    /// /// Reads only as much of `source` as the connection accepts.
    /// fn pump(
    ///     conn: &mut rustls::ClientConnection,
    ///     source: &mut impl Read,
    ///     buffer: &mut [u8],
    /// ) -> io::Result<usize> {
    ///     let mut writer = conn.writer();
    ///     let most = writer.room_left().unwrap_or(usize::MAX).min(buffer.len());
    ///     let len = source.read(&mut buffer[..most])?;
    ///     writer.write_all(&buffer[..len])?;
    ///     Ok(len)
    /// }
    /// ```
    pub fn room_left(&self) -> Option<usize> {
        self.connection.common.plaintext_room()
    }

    /// Encrypts as much of the plaintext that another connection received as the buffer limit
    /// allows, and queues it like a write. The bytes count as read from `from`. Returns their
    /// number.
    ///
    /// The number is 0 if `from` has no unread plaintext, or if the buffer limit is reached
    /// ([`room_left`](Self::room_left)), possibly because a KeyUpdate is queued first. It does not
    /// mean the end of the data: read from `from` to find out whether the peer has closed.
    ///
    /// # Errors
    ///
    /// - [`io::ErrorKind::BrokenPipe`] after a close_notify. The plaintext stays unread, whereas a
    ///   write would drop it.
    /// - The other errors of a write.
    pub fn write_received(&mut self, from: &mut Reader<'_>) -> io::Result<usize> {
        self.connection.send(|common| common.relay(from.records()))
    }

    /// Reads plaintext with one call to `rd.read`, directly into its place in the next record, and
    /// encrypts it there, or buffers it until it may be sent. Returns the number of bytes read, at
    /// most one record's worth, or 0 at the end of `rd`.
    ///
    /// ```
    /// use std::fs::File;
    /// use std::io::{self, Write};
    ///
    /// /// Sends a file to a blocking `socket` without copying its content.
    /// fn send(
    ///     conn: &mut rustls::ServerConnection,
    ///     file: &mut File,
    ///     socket: &mut impl Write,
    /// ) -> io::Result<()> {
    ///     while conn.writer().read_from(file)? != 0 {
    ///         while conn.wants_write() {
    ///             conn.write_tls(socket)?;
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// - The errors of `rd`. No data is queued.
    /// - [`io::ErrorKind::WouldBlock`], without a call to `rd`, if the buffer limit is reached,
    ///   possibly because a KeyUpdate is queued first. Send the queued bytes before the next call.
    /// - [`io::ErrorKind::BrokenPipe`], without a call to `rd`, after a close_notify.
    /// - [`io::ErrorKind::Other`] if `rd` returns more than the length of its buffer.
    /// - The other errors of a write.
    pub fn read_from(&mut self, rd: &mut dyn io::Read) -> io::Result<usize> {
        self.connection.send(CommonState::check_relay)?;
        let len = self.connection.common.read_plaintext(rd)?;
        if len != 0 {
            self.connection.send(|common| common.seal_filled(len))?;
        }
        Ok(len)
    }
}

impl io::Write for Writer<'_> {
    /// Accepts bytes up to the buffer limit.
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.connection
            .send(|common| common.write_plaintext(OutboundChunks::Single(buf)))
    }

    /// Accepts bytes up to the buffer limit. Bytes from several slices may share a record.
    fn write_vectored(&mut self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
        // converting `IoSlice`s to `&[u8]` needs no allocation for up to 64 of them
        const FEW: usize = 64;
        let mut few: [&[u8]; FEW] = [&[]; FEW];
        let many;
        let chunks: &[&[u8]] = match few.get_mut(..bufs.len()) {
            Some(few) => {
                for (chunk, buf) in few.iter_mut().zip(bufs) {
                    *chunk = buf;
                }
                few
            }
            None => {
                many = bufs
                    .iter()
                    .map(|buf| &**buf)
                    .collect::<alloc::vec::Vec<_>>();
                &many
            }
        };
        self.connection
            .send(|common| common.write_plaintext(OutboundChunks::new(chunks)))
    }

    /// Returns the connection's error if it has failed. Does not send anything; call `write_tls`
    /// for that.
    fn flush(&mut self) -> io::Result<()> {
        self.connection.common.check_failed().map_err(invalid_data)
    }
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
