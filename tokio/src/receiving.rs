//! Returns plaintext from a connection, and reads from the transport when no plaintext is left.
//!
//! Whole streams and the reading halves of split streams both implement [`Receives`]. They differ
//! only in the methods that have no default.

use std::io::{self, BufRead, ErrorKind};
use std::task::{Context, Poll, ready};

use rustls::Reader;
use tokio::io::ReadBuf;
use tokio::task::coop;

/// The length of a copy that takes the same time at any offset. A longer `memcpy` may use `rep
/// movsb`, which is slow at some offsets on several processors.
const PIECE: usize = 1024;

/// The maximum number of plaintext bytes in a record.
const RECORD_LEN: usize = 16384;

/// A read that has at least this many bytes returns them if the rest of its buffer may be too short
/// for the next record.
const ENOUGH: usize = 4096;

pub(crate) trait Receives {
    /// Returns a reader for the plaintext that the connection decrypted.
    fn reader(&mut self) -> Reader<'_>;

    /// Reads from the transport once and decrypts, if possible straight into `buf`. The end of the
    /// stream is not an error here, because the reader reports it.
    fn poll_receive(
        &mut self,
        task: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>;

    /// The error of a read that also returned data, for the next read.
    fn deferred_error(&mut self) -> &mut Option<io::Error>;

    /// Moves received plaintext to `buf`, and receives more until `buf` is full or nothing more is
    /// available. So one call can fill a large buffer with many records. If the rest of `buf` is
    /// too short for a record, that record would have to be copied, so a read of at least
    /// [`ENOUGH`] bytes ends there.
    fn poll_read(&mut self, task: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let start = buf.filled().len();
        ready!(self.poll_fill(task, buf))?;
        while !copy(self.reader(), buf) {
            let has_enough = buf.filled().len() - start >= ENOUGH;
            if buf.remaining() == 0 || has_enough && buf.remaining() < RECORD_LEN {
                break;
            }
            match self.poll_receive(task, buf) {
                Poll::Ready(Ok(())) => {}
                // nothing more, or an error: but the data read so far comes first
                ended if buf.filled().len() > start => {
                    if let Poll::Ready(Err(error)) = ended {
                        *self.deferred_error() = Some(error);
                    }
                    break;
                }
                ended => return ended,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Lends the first chunk of plaintext in the buffer where it was decrypted. It is empty at the
    /// end of the stream.
    fn poll_fill_buf(&mut self, task: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        ready!(self.poll_fill(task, &mut ReadBuf::new(&mut [])))?;
        Poll::Ready(self.reader().into_first_chunk())
    }

    /// Receives until there is plaintext in the connection or in `buf`, or the peer has closed.
    fn poll_fill(&mut self, task: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(error) = self.deferred_error().take() {
            return Poll::Ready(Err(error));
        }
        match unread(self.reader())? {
            None => {}
            Some(0) => return Poll::Ready(Ok(())),
            Some(_) => {
                // the transport spends the budget of the task only if it is read from
                ready!(coop::poll_proceed(task)).made_progress();
                return Poll::Ready(Ok(()));
            }
        }
        let start = buf.filled().len();
        loop {
            ready!(self.poll_receive(task, buf))?;
            if buf.filled().len() > start || unread(self.reader())?.is_some() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

/// Lets `process` decrypt into the unfilled part of `buf`. `most` is the maximum number of bytes
/// that it may return.
///
/// A connection needs initialized memory, so uninitialized bytes among the first `most` are zeroed.
pub(crate) fn open_into<E>(
    buf: &mut ReadBuf<'_>,
    most: usize,
    process: impl FnOnce(&mut [u8]) -> Result<usize, E>,
) -> Result<(), E> {
    let initialized = buf.initialized().len() - buf.filled().len();
    let room = Ord::max(initialized, Ord::min(most, buf.remaining()));
    let len = process(buf.initialize_unfilled_to(room))?;
    buf.advance(len);
    Ok(())
}

/// Returns the length of the first chunk of plaintext, which is 0 if the peer has closed. Returns
/// `None` if more must be received.
///
/// # Errors
///
/// Returns the reader's error if the stream ended without a close_notify.
fn unread(mut reader: Reader<'_>) -> io::Result<Option<usize>> {
    match reader.fill_buf() {
        Ok(chunk) => Ok(Some(chunk.len())),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Moves plaintext to `buf`. Returns false if `buf` has room and more may be received.
fn copy(mut reader: Reader<'_>, buf: &mut ReadBuf<'_>) -> bool {
    loop {
        let chunk = match reader.fill_buf() {
            Ok([]) => return true,
            Ok(chunk) => chunk,
            // the next read reports the end of the stream
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        };
        let len = chunk.len().min(buf.remaining());
        for piece in chunk[..len].chunks(PIECE) {
            buf.put_slice(piece);
        }
        reader.consume(len);
        if buf.remaining() == 0 {
            return true;
        }
    }
}
