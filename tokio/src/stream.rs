//! A connection on either side and its transport: the code that is the same in client and server
//! streams.

use std::io::{self, ErrorKind, IoSlice};
use std::ops::{Deref, DerefMut, Range};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use rustls::{ConnectionCommon, Error, Reader, SideData};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::early_data::{EarlyData, Role};
use crate::receiving::{Receives, open_into};
use crate::sending::{Sends, Sent, encrypt_with, write_all};
use crate::socket::{Socket, poll_of};

/// A `rustls` connection on either side.
pub(crate) trait Side: Deref<Target = ConnectionCommon<Self::Data>> + DerefMut {
    type Data: SideData;

    /// Writes early data. Returns the number of accepted bytes, which is 0 if no early data can be
    /// sent.
    fn write_early(&mut self, _plaintext: &[u8]) -> io::Result<usize> {
        Ok(0)
    }

    fn is_early_data_accepted(&self) -> bool {
        false
    }
}

pub(crate) struct Stream<IO, C> {
    pub(crate) io: IO,
    pub(crate) conn: C,
    pub(crate) state: State,
}

/// The state of a stream, apart from its connection's state.
#[derive(Default)]
pub(crate) struct State {
    /// Early data, until the handshake is complete.
    early: Option<Box<EarlyData>>,
    /// True if bytes of the handshake have not been flushed yet.
    needs_flush: bool,
    /// True once [`Stream::fail`] was called.
    has_failed: bool,
    /// The error of a read that also returned data.
    pub(crate) deferred: Option<io::Error>,
    /// The task that is waiting to write. Sending the alert after a failed read may replace its
    /// waker in the transport.
    writer: Option<Waker>,
}

impl<IO, C> Stream<IO, C> {
    pub(crate) fn new(io: IO, conn: C) -> Self {
        Self {
            io,
            conn,
            state: State::default(),
        }
    }

    /// Lets the stream be used before the handshake: writes then send early data.
    pub(crate) fn with_early_data(mut self) -> Self {
        self.state.early = Some(Box::default());
        self
    }

    /// True if the stream can be used before the handshake.
    pub(crate) fn sends_early_data(&self) -> bool {
        self.state.early.is_some()
    }

    /// True if there is early data that the server has not accepted and that was not sent again.
    pub(crate) fn owes_early_data(&self) -> bool
    where
        C: Side,
    {
        let early = self.state.early.as_ref();
        early.is_some_and(|early| !early.unsent().is_empty()) && !self.conn.is_early_data_accepted()
    }
}

impl<IO, C> Stream<IO, C>
where
    IO: AsyncRead + AsyncWrite + Unpin,
    C: Side,
{
    /// Completes the handshake and sends its last messages.
    pub(crate) fn poll_handshake(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_complete(task))?;
        self.poll_send_flight(task)
    }

    /// Completes the handshake, and polls the application operations that the handshake is waiting
    /// for. The handshake's last messages may still be queued.
    fn poll_complete(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.conn.is_handshaking() {
            // if the transport accepts no more, read on: the peer may also be unable to send
            let sent = self.poll_send_flight(task)?;
            if self.conn.is_waiting() {
                match self.conn.poll_operation(task) {
                    Poll::Ready(Ok(())) => continue,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(self.fail(error, task))),
                    // the peer may leave or send an alert, which ends the operation
                    Poll::Pending => {
                        // an alert may have been read together with the ClientHello
                        self.process(task)?;
                        if !self.conn.needs_peer() {
                            return Poll::Pending;
                        }
                    }
                }
            }
            let len = ready!(self.poll_read_tls(task, 0))?;
            self.process(task)?;
            if len == 0 {
                if sent.is_pending() && !self.conn.is_waiting() {
                    // an error from sending, if any, says more
                    return Poll::Pending;
                }
                let error = io::Error::new(ErrorKind::UnexpectedEof, "tls handshake eof");
                return Poll::Ready(Err(error));
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Writes and flushes the messages of the handshake.
    fn poll_send_flight(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.state.needs_flush |= self.conn.wants_write();
        ready!(self.poll_send_all(task))?;
        if self.state.needs_flush {
            ready!(Pin::new(&mut self.io).poll_flush(task))?;
            self.state.needs_flush = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads from the transport once, for a buffer that has room for `room` bytes of plaintext.
    /// Returns the number of bytes, which is 0 at the end of the stream and after a close_notify.
    pub(crate) fn poll_read_tls(
        &mut self,
        task: &mut Context<'_>,
        room: usize,
    ) -> Poll<io::Result<usize>> {
        if self.state.has_failed {
            self.process(task)?;
        }
        let mut socket = Socket::new(&mut self.io, task);
        poll_of(self.conn.read_tls_for(&mut socket, room))
    }

    pub(crate) fn process(&mut self, task: &mut Context<'_>) -> io::Result<()> {
        match self.conn.process_new_packets() {
            Ok(_) => Ok(()),
            Err(error) => Err(self.fail(error, task)),
        }
    }

    /// Tries to send the alert for `error`. Does not wait for the transport: a peer that does not
    /// read must not delay the error.
    #[cold]
    fn fail(&mut self, error: Error, task: &mut Context<'_>) -> io::Error {
        if !self.state.has_failed {
            self.state.has_failed = true;
            let writer = self.state.writer.take();
            let _ = self.poll_send(task);
            self.state.writer = None;
            if let Some(writer) = writer {
                writer.wake();
            }
        }
        io::Error::new(ErrorKind::InvalidData, error)
    }

    /// Completes the handshake of a stream that can be used before the handshake. Does nothing for
    /// other streams. If the server rejected early data, sends it again.
    fn poll_early(&mut self, task: &mut Context<'_>, role: Role) -> Poll<io::Result<()>> {
        let Some(early) = &mut self.state.early else {
            return Poll::Ready(Ok(()));
        };
        early.has_begun = true;
        let waker = early.waker_of_both(task, role);
        let task = &mut Context::from_waker(&waker);
        let result = ready!(self.poll_end_of_early(task, role));
        // the other task continues, or gets the error
        waker.wake();
        Poll::Ready(result)
    }

    fn poll_end_of_early(&mut self, task: &mut Context<'_>, role: Role) -> Poll<io::Result<()>> {
        ready!(self.poll_complete(task))?;
        if !self.conn.is_early_data_accepted() {
            while self.send_again()? != 0 {}
            while self.owes_early_data() {
                ready!(self.poll_send_all(task))?;
                if self.send_again()? == 0 {
                    return Poll::Ready(Err(ErrorKind::WriteZero.into()));
                }
            }
        }
        // a writer sends all of this together with the data that it sends next
        if let Role::Reader = role {
            ready!(self.poll_send_flight(task))?;
        }
        self.state.early = None;
        Poll::Ready(Ok(()))
    }

    /// Encrypts rejected early data. Returns the number of accepted bytes, which is 0 if none is
    /// left, or if the connection's buffer is full.
    fn send_again(&mut self) -> io::Result<usize> {
        let Some(early) = &mut self.state.early else {
            return Ok(0);
        };
        let len = encrypt_with(self.conn.writer(), &[IoSlice::new(early.unsent())])?;
        early.sent(len);
        Ok(len)
    }

    /// Writes early data, if possible. Returns `Ready(0)` once the rest must be sent normally.
    fn poll_write_early(
        &mut self,
        task: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut len = 0;
        for buf in bufs {
            let Some(early) = &mut self.state.early else {
                break;
            };
            let written = self.conn.write_early(buf)?;
            early.keep(&buf[..written]);
            len += written;
            if written < buf.len() {
                break;
            }
        }
        if len == 0 {
            ready!(self.poll_early(task, Role::Writer))?;
        }
        Poll::Ready(Ok(len))
    }

    pub(crate) fn poll_read(
        &mut self,
        task: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_readable(task))?;
        Receives::poll_read(self, task, buf)
    }

    pub(crate) fn poll_fill_buf(&mut self, task: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        ready!(self.poll_readable(task))?;
        Receives::poll_fill_buf(self, task)
    }

    /// Completes the handshake of a stream that could still send early data.
    pub(crate) fn poll_established(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_early(task, Role::Writer)
    }

    /// Completes the handshake if early data has been written, or if the handshake was started for
    /// another reason. Waits for that first, because a read must not prevent early data.
    fn poll_readable(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.state.early {
            None => Poll::Ready(Ok(())),
            Some(early) if !early.has_begun => {
                early.wait(task, Role::Reader);
                Poll::Pending
            }
            Some(_) => match self.poll_early(task, Role::Reader)? {
                // the peer may be unable to receive the rest before it can send
                Poll::Pending if !self.conn.is_handshaking() => Poll::Ready(Ok(())),
                complete => complete.map(Ok),
            },
        }
    }

    pub(crate) fn poll_write(
        &mut self,
        task: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.state.early.is_some() && !buf.is_empty() {
            let len = ready!(self.poll_write_early(task, &[IoSlice::new(buf)]))?;
            if len != 0 {
                return Poll::Ready(Ok(len));
            }
        }
        Sends::poll_write(self, task, buf)
    }

    pub(crate) fn poll_write_vectored(
        &mut self,
        task: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.state.early.is_some() && bufs.iter().any(|buf| !buf.is_empty()) {
            let len = ready!(self.poll_write_early(task, bufs))?;
            if len != 0 {
                return Poll::Ready(Ok(len));
            }
        }
        Sends::poll_write_vectored(self, task, bufs)
    }

    pub(crate) fn poll_in_place(
        &mut self,
        task: &mut Context<'_>,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_established(task))?;
        Sends::poll_in_place(self, task, buf, payload)
    }

    pub(crate) fn poll_flush(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_early(task, Role::Writer))?;
        Sends::poll_flush(self, task)
    }

    pub(crate) fn poll_shutdown(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_early(task, Role::Writer))?;
        Sends::poll_shutdown(self, task)
    }
}

impl<IO, C> Receives for Stream<IO, C>
where
    IO: AsyncRead + AsyncWrite + Unpin,
    C: Side,
{
    fn reader(&mut self) -> Reader<'_> {
        self.conn.reader()
    }

    fn poll_receive(
        &mut self,
        task: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_read_tls(task, buf.remaining()))?;
        let conn = &mut self.conn;
        let opened = open_into(buf, conn.unprocessed_len(), |room| {
            Ok(conn.process_new_packets_into(room)?.0)
        });
        Poll::Ready(opened.map_err(|error| self.fail(error, task)))
    }

    fn deferred_error(&mut self) -> &mut Option<io::Error> {
        &mut self.state.deferred
    }
}

impl<IO, C> Sends for Stream<IO, C>
where
    IO: AsyncRead + AsyncWrite + Unpin,
    C: Side,
{
    type Io = IO;

    fn encrypt(&mut self, _: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        encrypt_with(self.conn.writer(), bufs)
    }

    fn send_record(
        &mut self,
        task: &mut Context<'_>,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> io::Result<()> {
        let mut socket = Socket::new(&mut self.io, task);
        self.conn.send_in_place(buf, payload, &mut socket)
    }

    fn poll_send(&mut self, task: &mut Context<'_>) -> Poll<io::Result<Sent>> {
        let io = &mut self.io;
        let sent = write_all(
            &mut self.conn,
            |conn| conn.wants_write(),
            |conn| conn.write_tls(&mut Socket::new(io, task)),
        );
        self.state.writer = sent.is_pending().then(|| task.waker().clone());
        sent
    }

    fn remember(&mut self, task: &Context<'_>) {
        self.state.writer = Some(task.waker().clone());
    }

    fn check_failed(&mut self, _: &mut Context<'_>) -> io::Result<()> {
        io::Write::flush(&mut self.conn.writer())
    }

    fn close(&mut self) {
        self.conn.send_close_notify();
    }

    fn io(&mut self) -> &mut IO {
        &mut self.io
    }
}
