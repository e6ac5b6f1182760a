//! The application's reader of received plaintext.

use core::panic::RefUnwindSafe;
use std::io;

use super::common_state::CommonState;
use super::records::{Receiving, Records};
use super::relaying::write_received;

/// Reads the plaintext that a connection received.
///
/// [`io::BufRead::fill_buf`] and [`Self::into_first_chunk`] return it without copying it, in the
/// connection's receive buffer.
///
/// If no plaintext is available, reading returns
///
/// - end of file (`Ok` without bytes) after the peer's close_notify;
/// - [`io::ErrorKind::UnexpectedEof`] if the stream ended without a close_notify, which may be a
///   truncation attack;
/// - [`io::ErrorKind::WouldBlock`] otherwise.
#[derive(Debug)]
pub struct Reader<'a> {
    common: &'a mut CommonState,
}

/// Nothing can be changed through a shared reference, so a panic cannot leave an inconsistent
/// state.
impl RefUnwindSafe for Reader<'_> {}

impl<'a> Reader<'a> {
    pub(super) fn new(common: &'a mut CommonState) -> Self {
        Self { common }
    }

    /// Returns the first chunk of unread plaintext, without consuming it. The slice lives as long
    /// as the connection is borrowed.
    ///
    /// # Errors
    ///
    /// Returns the same errors as reading; see [`Reader`].
    pub fn into_first_chunk(self) -> io::Result<&'a [u8]> {
        self.check_any()?;
        Ok(self.common.records.received.chunk())
    }

    /// Writes unread plaintext to `wr` from the receive buffer, with one call to
    /// `wr.write_vectored` of up to 64 slices, and consumes the bytes that `wr` accepts. Returns
    /// their number.
    ///
    /// Returns 0 without a call if nothing is unread; [`io::BufRead::fill_buf`] then returns the
    /// reason.
    ///
    /// # Errors
    ///
    /// - The errors of `wr`. Nothing is consumed.
    /// - [`io::ErrorKind::Other`] if `wr` returns more than the length of its input. All of the
    ///   input then counts as written.
    pub fn write_to(&mut self, wr: &mut dyn io::Write) -> io::Result<usize> {
        let records = self.records();
        records.drains_immediately = true;
        write_received(&mut records.received, wr)
    }

    pub(super) fn records(&mut self) -> &mut Records {
        &mut self.common.records
    }

    /// Returns an error if nothing can be read and the peer has not closed.
    fn check_any(&self) -> io::Result<()> {
        let records = &self.common.records;
        if records.received.unread() != 0 || records.receiving == Receiving::Closed {
            Ok(())
        } else if records.seen_eof {
            Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                UNEXPECTED_EOF_MESSAGE,
            ))
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }
}

/// The text is that of rustls 0.23, including the URL, because programs compare it.
const UNEXPECTED_EOF_MESSAGE: &str = "peer closed connection without sending TLS close_notify: \
     https://docs.rs/rustls/latest/rustls/manual/_03_howto/index.html#unexpected-eof";

impl io::Read for Reader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = self.common.records.received.read(buf);
        if len == 0 && !buf.is_empty() {
            self.check_any()?;
        }
        Ok(len)
    }

    /// Reads like `read`, but into memory that may be uninitialized.
    #[cfg(read_buf)]
    fn read_buf(&mut self, mut cursor: io::BorrowedCursor<'_>) -> io::Result<()> {
        let received = &mut self.common.records.received;
        let room = cursor.capacity();
        while cursor.capacity() != 0 && received.unread() != 0 {
            let chunk = received.chunk();
            let len = Ord::min(chunk.len(), cursor.capacity());
            rustls_core::copy::pieces(&chunk[..len]).for_each(|piece| cursor.append(piece));
            received.consume(len);
        }
        if cursor.capacity() == room && room != 0 {
            self.check_any()?;
        }
        Ok(())
    }
}

impl io::BufRead for Reader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.check_any()?;
        Ok(self.common.records.received.chunk())
    }

    fn consume(&mut self, amt: usize) {
        self.common.records.received.consume(amt);
    }
}
