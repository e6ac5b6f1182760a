//! Encrypts plaintext into a connection, and writes the connection's output to the transport.
//!
//! Whole streams and the writing halves of split streams both implement [`Sends`]. They differ only
//! in the methods that have no default.

use std::io::{self, ErrorKind, IoSlice, Write};
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

/// The result of sending queued output.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Sent {
    All,
    /// The transport returned `Ok(0)`: it accepts no more bytes.
    NothingTaken,
}

pub(crate) trait Sends {
    type Io: AsyncWrite + Unpin;

    /// Encrypts plaintext into the connection's buffer. Returns the number of accepted bytes.
    fn encrypt(&mut self, task: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Encrypts `payload` in `buf` in place, and writes the record, unless queued output has to be
    /// sent first. Bytes that the transport does not accept are queued.
    fn send_record(
        &mut self,
        task: &mut Context<'_>,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> io::Result<()>;

    /// Writes queued output until none is left or the transport accepts no more. Does not flush.
    fn poll_send(&mut self, task: &mut Context<'_>) -> Poll<io::Result<Sent>>;

    /// Stores the waker of a task that waits until the transport is flushed or shut down, so that a
    /// failure of the other direction can wake the task.
    fn remember(&mut self, task: &Context<'_>);

    /// Returns the error that ended the connection, if it has failed.
    fn check_failed(&mut self, task: &mut Context<'_>) -> io::Result<()>;

    /// Queues a close_notify, unless one was queued before or the connection has failed.
    fn close(&mut self);

    fn io(&mut self) -> &mut Self::Io;

    /// Sends all of `buf`, or as much as the transport and the connection's buffer accept.
    fn poll_write(&mut self, task: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let (mut taken, mut is_stuck) = (0, false);
        while taken < buf.len() {
            let len = self.encrypt(task, &[IoSlice::new(&buf[taken..])])?;
            taken += len;
            let sent = self.poll_send(task)?;
            if sent != Poll::Ready(Sent::All) || (len == 0 && is_stuck) {
                return self.accepted(task, taken, sent);
            }
            is_stuck = len == 0;
        }
        Poll::Ready(Ok(taken))
    }

    /// Sends the slices, up to the limit of the connection's buffer. Bytes from several slices may
    /// share a record.
    fn poll_write_vectored(
        &mut self,
        task: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if bufs.iter().all(|buf| buf.is_empty()) {
            return Poll::Ready(Ok(0));
        }
        let mut taken = self.encrypt(task, bufs)?;
        let mut sent = self.poll_send(task)?;
        if taken == 0 && sent == Poll::Ready(Sent::All) {
            // the buffer was full, and has room now
            taken = self.encrypt(task, bufs)?;
            sent = self.poll_send(task)?;
        }
        self.accepted(task, taken, sent)
    }

    /// Sends queued output, and then one record, which is encrypted in place. The record counts as
    /// sent if the transport accepts only a part of it, because the rest is queued.
    fn poll_in_place(
        &mut self,
        task: &mut Context<'_>,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Poll<io::Result<()>> {
        loop {
            if self.poll_send_all(task)?.is_pending() {
                // the other half of a split stream may have failed in the meantime
                self.check_failed(task)?;
                return Poll::Pending;
            }
            match self.send_record(task, buf, payload.clone()) {
                // a KeyUpdate comes first
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => {
                    // the error of a failed connection says more
                    self.check_failed(task)?;
                    return Poll::Ready(Err(error));
                }
                Ok(()) => return Poll::Ready(Ok(())),
            }
        }
    }

    /// Returns the result of a write that accepted `taken` bytes.
    fn accepted(
        &mut self,
        task: &mut Context<'_>,
        taken: usize,
        sent: Poll<Sent>,
    ) -> Poll<io::Result<usize>> {
        if taken != 0 {
            return Poll::Ready(Ok(taken));
        }
        match sent {
            Poll::Ready(Sent::All) => Poll::Ready(Ok(0)),
            Poll::Ready(Sent::NothingTaken) => Poll::Ready(Err(ErrorKind::WriteZero.into())),
            Poll::Pending => {
                // the other half of a split stream may have failed in the meantime
                self.check_failed(task)?;
                Poll::Pending
            }
        }
    }

    /// Sends all queued output, and flushes the transport.
    fn poll_flush(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sent = self.poll_send_all(task);
        // after a failure, its alert is the output; this error matters more than an error from
        // sending
        self.check_failed(task)?;
        ready!(sent)?;
        let flushed = Pin::new(self.io()).poll_flush(task);
        if flushed.is_pending() {
            self.remember(task);
            // the other half of a split stream may have failed in the meantime
            self.check_failed(task)?;
        }
        flushed
    }

    /// Sends all queued output and a close_notify, and shuts down the transport.
    fn poll_shutdown(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close();
        ready!(self.poll_send_all(task))?;
        match Pin::new(self.io()).poll_shutdown(task) {
            // the peer has closed the socket, too
            Poll::Ready(Err(error)) if error.kind() == ErrorKind::NotConnected => {
                Poll::Ready(Ok(()))
            }
            Poll::Pending => {
                self.remember(task);
                Poll::Pending
            }
            result => result,
        }
    }

    fn poll_send_all(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(match ready!(self.poll_send(task))? {
            Sent::All => Ok(()),
            Sent::NothingTaken => Err(ErrorKind::WriteZero.into()),
        })
    }
}

/// Writes the output of a connection until `wants_write` is false, or the transport accepts no
/// more.
pub(crate) fn write_all<C>(
    conn: &mut C,
    wants_write: impl Fn(&C) -> bool,
    mut write_tls: impl FnMut(&mut C) -> io::Result<usize>,
) -> Poll<io::Result<Sent>> {
    while wants_write(conn) {
        match write_tls(conn) {
            // the other half of a split stream may have ended the output
            Ok(0) if wants_write(conn) => return Poll::Ready(Ok(Sent::NothingTaken)),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Poll::Pending,
            Err(error) => return Poll::Ready(Err(error)),
        }
    }
    Poll::Ready(Ok(Sent::All))
}

/// Encrypts `bufs` with a writer of the connection.
pub(crate) fn encrypt_with(mut writer: impl Write, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
    match bufs {
        [buf] => writer.write(buf),
        _ => writer.write_vectored(bufs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_ends_without_a_write_is_all_sent() {
        let write = |ends: bool| {
            let sent = write_all(
                &mut true,
                |has_output| *has_output,
                |has_output| {
                    *has_output = !ends;
                    Ok(0)
                },
            );
            matches!(sent, Poll::Ready(Ok(Sent::All)))
        };
        assert!(write(true));
        assert!(!write(false));
    }
}
