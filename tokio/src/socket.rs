//! Adapts a tokio transport to the blocking reader and writer that connections expect. If the
//! transport is not ready, connections get `WouldBlock`, and the task will be woken.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(crate) struct Socket<'a, 'c, IO: ?Sized> {
    io: &'a mut IO,
    task: &'a mut Context<'c>,
}

impl<'a, 'c, IO: ?Sized> Socket<'a, 'c, IO> {
    pub(crate) fn new(io: &'a mut IO, task: &'a mut Context<'c>) -> Self {
        Self { io, task }
    }
}

/// Converts the result of a poll to the result of a blocking call.
fn now<T>(poll: Poll<io::Result<T>>) -> io::Result<T> {
    match poll {
        Poll::Ready(result) => result,
        Poll::Pending => Err(ErrorKind::WouldBlock.into()),
    }
}

/// Converts the result of a call with a [`Socket`] to the result of a poll.
pub(crate) fn poll_of<T>(result: io::Result<T>) -> Poll<io::Result<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
        result => Poll::Ready(result),
    }
}

impl<IO: AsyncRead + Unpin + ?Sized> Read for Socket<'_, '_, IO> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut buf = ReadBuf::new(out);
        now(Pin::new(&mut *self.io).poll_read(self.task, &mut buf))?;
        Ok(buf.filled().len())
    }
}

impl<IO: AsyncWrite + Unpin + ?Sized> Write for Socket<'_, '_, IO> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        now(Pin::new(&mut *self.io).poll_write(self.task, bytes))
    }

    /// Passes all slices to the transport if it can write several, and otherwise the first one.
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match bufs {
            [] => Ok(0),
            [_, _, ..] if self.io.is_write_vectored() => {
                now(Pin::new(&mut *self.io).poll_write_vectored(self.task, bufs))
            }
            [first, ..] => self.write(first),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        now(Pin::new(&mut *self.io).poll_flush(self.task))
    }
}
