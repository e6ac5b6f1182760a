//! Plaintext to be sent, as the application writes it.

use core::fmt;
use std::io;

use super::common_state::CommonState;
use super::sending::invalid_data;
use crate::crypto::cipher::OutboundChunks;

/// Encrypts what is written to it into the connection's outgoing buffer, from which `write_tls`
/// sends.
///
/// Before the handshake is complete, what is written waits and is sent then. When the buffer limit is
/// reached, less is accepted than was given, down to nothing (`Ok(0)`).
///
/// **After [`send_close_notify`](crate::CommonState::send_close_notify) data is accepted and dropped**: programs that
/// write while they shut down expect no error. So it is when a key of TLS 1.2 is worn out, which closes the connection.
/// After a failure the error is that of the connection, as [`io::ErrorKind::InvalidData`]. [`Self::room_left`] is 0 in
/// all these cases.
///
/// If memory runs out, the writer accepts the part that there is memory for. If there is none, it returns
/// [`io::ErrorKind::OutOfMemory`], and the connection goes on.
pub struct Writer<'a> {
    common: &'a mut CommonState,
}

impl<'a> Writer<'a> {
    pub(super) fn new(common: &'a mut CommonState) -> Self {
        Self { common }
    }

    /// Returns the number of bytes of plaintext that the next write accepts and sends; `None` if there is no limit.
    ///
    /// It is what [`set_buffer_limit`](crate::ConnectionCommon::set_buffer_limit) leaves: until application data can be
    /// sent, the limit less the plaintext that waits for that; from then on, less the TLS bytes that wait for
    /// `write_tls`. A write may fill more than the limit, by what protects its records, so after that much was
    /// written there is none left, and some again once `write_tls` has written.
    ///
    /// It is 0 after `send_close_notify`, when writes are dropped, and after a failure, when they return errors. Keys of TLS 1.2 cannot be
    /// replaced (RFC 9846 §5.5, RFC 5246 §6.1): what they can still protect is a limit, too, of 2^38 bytes and more in
    /// the beginning.
    ///
    /// ```
    /// use std::io::{self, Read, Write};
    ///
    /// /// Reads no more of `source` than the connection takes, so that nothing has to be kept elsewhere.
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
        self.common.plaintext_room()
    }
}

impl io::Write for Writer<'_> {
    /// Accepts up to the buffer limit.
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.common.write_plaintext(OutboundChunks::Single(buf))
    }

    /// Accepts up to the buffer limit. The pieces are cut into records as one, not each by itself.
    fn write_vectored(&mut self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
        // an `IoSlice` has to be converted to `&[u8]`; for a few, that needs no allocation
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
        self.common.write_plaintext(OutboundChunks::new(chunks))
    }

    /// Sends nothing, `write_tls` does; returns the connection's failure if there is one.
    fn flush(&mut self) -> io::Result<()> {
        self.common.check_failed().map_err(invalid_data)
    }
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
