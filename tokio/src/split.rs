//! The halves of a split stream, each for its own task.
//!
//! ```text
//!   TlsStream<IO> ── into_split ─┬─► ReadHalf<R>:  rustls::split::Receiver, R
//!                                └─► WriteHalf<W>: rustls::split::Sender, W
//! ```
//!
//! The halves share no lock while data flows. Each direction encrypts or decrypts on its own, and
//! [`rustls::split`] passes work from one half to the other through one atomic byte. This module
//! wakes the tasks that are waiting for such work:
//!
//! - If a received record is invalid or is a fatal alert, a pending write or flush is woken, sends
//!   the alert, if there is one, and returns the error.
//! - If the peer requests new keys (KeyUpdate), the reply is sent before the next data, or by a
//!   flush. A task that is not about to write can wait for this in [`WriteHalf::wants_flush`].
//! - If encrypting data or a message fails, a pending read is woken and returns the error.

use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::{fmt, mem};

use rustls::split::{Receiver, Sender};
use rustls::{Error, Reader};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::locks::Mutex;
use crate::receiving::{Receives, open_into};
use crate::sending::{Sends, Sent, encrypt_with, write_all};
use crate::socket::{Socket, poll_of};

/// The reading half of a stream.
///
/// Returned by `into_split` of a [client's](crate::client::TlsStream::into_split) or
/// [server's](crate::server::TlsStream::into_split) stream. Dropping it does not affect the other
/// half, but messages from the peer, including alerts, are then no longer processed.
pub struct ReadHalf<R, Data> {
    io: R,
    receiver: Receiver<Data>,
    /// The error of a read that also returned data.
    deferred: Option<io::Error>,
    tasks: Arc<Tasks>,
}

/// The writing half of a stream.
///
/// Returned by `into_split` of a [client's](crate::client::TlsStream::into_split) or
/// [server's](crate::server::TlsStream::into_split) stream. As with a whole stream, call
/// `flush` after the last write of a message, and `shutdown` at the end: dropping the half sends no
/// close_notify.
pub struct WriteHalf<W> {
    io: W,
    sender: Sender,
    tasks: Arc<Tasks>,
}

/// The tasks that are waiting in one half for something that the other half may change. The locks
/// are taken only by a task that may have to wait, that has something for the other half, or that
/// drops its half.
///
/// `ci/loom` compiles this file with loom's lock to test their interleavings.
#[derive(Default)]
struct Tasks {
    reader: Mutex<Option<Waker>>,
    writer: Mutex<Option<Waker>>,
}

/// Stores the task's waker in `place`, for the other half to wake it.
fn wait(place: &Mutex<Option<Waker>>, task: &Context<'_>) {
    let mut waiting = place.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *waiting {
        Some(waker) => waker.clone_from(task.waker()),
        None => *waiting = Some(task.waker().clone()),
    }
}

fn wake(place: &Mutex<Option<Waker>>) {
    // a waker may call anything, so it is called without the lock
    if let Some(waker) = leave(place) {
        waker.wake();
    }
}

/// Takes the waker out of `place`, if there is one.
fn leave(place: &Mutex<Option<Waker>>) -> Option<Waker> {
    mem::take(&mut *place.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns the halves of a stream. `deferred` is the error from its last read, if that read also
/// returned data.
pub(crate) fn halves<R, W, Data>(
    (reader, receiver): (R, Receiver<Data>),
    (writer, sender): (W, Sender),
    deferred: Option<io::Error>,
) -> (ReadHalf<R, Data>, WriteHalf<W>) {
    let tasks = Arc::new(Tasks::default());
    let read_half = ReadHalf {
        io: reader,
        receiver,
        deferred,
        tasks: tasks.clone(),
    };
    let write_half = WriteHalf {
        io: writer,
        sender,
        tasks,
    };
    (read_half, write_half)
}

/// The connection's data is never pinned.
impl<R: Unpin, Data> Unpin for ReadHalf<R, Data> {}

/// Removes the waker of this half, which the other half would keep as long as it lives. Wakes the
/// other half, because this one may be dropped by a panic that has ended the connection.
impl<R, Data> Drop for ReadHalf<R, Data> {
    fn drop(&mut self) {
        leave(&self.tasks.reader);
        wake(&self.tasks.writer);
    }
}

/// Removes the waker of this half, and wakes the other half, as a dropped [`ReadHalf`] does.
impl<W> Drop for WriteHalf<W> {
    fn drop(&mut self) {
        leave(&self.tasks.writer);
        wake(&self.tasks.reader);
    }
}

impl<R, Data> ReadHalf<R, Data> {
    /// Returns references to the transport and the connection's receiving half.
    pub fn get_ref(&self) -> (&R, &Receiver<Data>) {
        (&self.io, &self.receiver)
    }

    /// Returns mutable references to the transport and the connection's receiving half.
    pub fn get_mut(&mut self) -> (&mut R, &mut Receiver<Data>) {
        (&mut self.io, &mut self.receiver)
    }

    fn process_into(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let processed = self.receiver.process_new_packets_into(room);
        if self.receiver.sender_wants_write() || processed.is_err() {
            wake(&self.tasks.writer);
        }
        match processed {
            Ok((len, _)) => Ok(len),
            Err(error) => Err(io::Error::new(ErrorKind::InvalidData, error)),
        }
    }
}

impl<R: AsyncRead + Unpin, Data> Receives for ReadHalf<R, Data> {
    fn reader(&mut self) -> Reader<'_> {
        self.receiver.reader()
    }

    fn poll_receive(
        &mut self,
        task: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut socket = Socket::new(&mut self.io, task);
        let read = poll_of(self.receiver.read_tls_for(&mut socket, buf.remaining()))?;
        if read.is_pending() {
            wait(&self.tasks.reader, task);
        }
        // while waiting, this only returns a failure: the sending half may have failed before it
        // could wake this task
        match read {
            Poll::Pending => {
                self.process_into(&mut [])?;
                Poll::Pending
            }
            Poll::Ready(_) => {
                let most = self.receiver.unprocessed_len();
                Poll::Ready(open_into(buf, most, |room| self.process_into(room)))
            }
        }
    }

    fn deferred_error(&mut self) -> &mut Option<io::Error> {
        &mut self.deferred
    }
}

/// Calls a method of [`Receives`] or [`Sends`].
macro_rules! itself {
    ($self:expr, $inner:ident => $call:expr) => {{
        let $inner = $self;
        $call
    }};
}

reads!([R, Data] ReadHalf<R, Data>, [R: AsyncRead + Unpin], itself);

impl<R: fmt::Debug, Data> fmt::Debug for ReadHalf<R, Data> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadHalf")
            .field("io", &self.io)
            .field("receiver", &self.receiver)
            .finish_non_exhaustive()
    }
}

impl<W> WriteHalf<W> {
    /// Returns references to the transport and the connection's sending half.
    pub fn get_ref(&self) -> (&W, &Sender) {
        (&self.io, &self.sender)
    }

    /// Returns mutable references to the transport and the connection's sending half.
    pub fn get_mut(&mut self) -> (&mut W, &mut Sender) {
        (&mut self.io, &mut self.sender)
    }

    /// Waits until there is something to send: written data that the transport has not accepted
    /// yet, the reply to a request of the peer, such as for new keys, or the alert after an error
    /// in the other half. Call `flush` to send it.
    ///
    /// The reply and the alert are also sent with the next write, so only a task that may be idle
    /// for a long time needs this method. It is cancel safe. It may stay pending after a fatal
    /// alert from the peer, because nothing has to be sent.
    ///
    /// ```
    /// # use tokio_rustls::split::WriteHalf;
    /// use tokio::io::{AsyncWrite, AsyncWriteExt};
    ///
    /// /// Waits for `next`, and replies to the peer in the meantime.
    /// async fn wait_for<T>(
    ///     next: impl Future<Output = T>,
    ///     writer: &mut WriteHalf<impl AsyncWrite + Unpin>,
    /// ) -> std::io::Result<T> {
    ///     let mut next = std::pin::pin!(next);
    ///     loop {
    ///         tokio::select! {
    ///             value = &mut next => return Ok(value),
    ///             () = writer.wants_flush() => writer.flush().await?,
    ///         }
    ///     }
    /// }
    /// ```
    pub async fn wants_flush(&mut self) {
        poll_fn(|task| self.poll_wants_flush(task)).await;
    }

    /// Polls like [`wants_flush`](Self::wants_flush).
    pub fn poll_wants_flush(&mut self, task: &mut Context<'_>) -> Poll<()> {
        wait(&self.tasks.writer, task);
        match self.sender.wants_write() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl<W: AsyncWrite + Unpin> WriteHalf<W> {
    /// Tries to send the alert of a failed connection: a program that gets the error may drop this
    /// half. Does not wait for the transport, because a peer that does not read must not delay the
    /// error.
    #[cold]
    fn send_alert(&mut self, task: &mut Context<'_>) {
        let _ = self.poll_send(task);
    }
}

impl<W: AsyncWrite + Unpin> Sends for WriteHalf<W> {
    type Io = W;

    fn encrypt(&mut self, task: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let encrypted = encrypt_with(self.sender.writer(), bufs);
        if encrypted.is_err() {
            self.send_alert(task);
        }
        encrypted
    }

    fn send_record(
        &mut self,
        task: &mut Context<'_>,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> io::Result<()> {
        let mut socket = Socket::new(&mut self.io, task);
        self.sender.send_in_place(buf, payload, &mut socket)
    }

    fn poll_send(&mut self, task: &mut Context<'_>) -> Poll<io::Result<Sent>> {
        let io = &mut self.io;
        let sent = write_all(&mut self.sender, Sender::wants_write, |sender| {
            sender.write_tls(&mut Socket::new(io, task))
        });
        // all calls that may have failed the connection end here: a KeyUpdate, for example, is
        // sealed by `write_tls`
        if self.sender.error().is_some() {
            wake(&self.tasks.reader);
        }
        if sent.is_pending() {
            // the receiving half may have failed before: a write and a flush check this afterwards
            wait(&self.tasks.writer, task);
        }
        sent
    }

    fn remember(&mut self, task: &Context<'_>) {
        wait(&self.tasks.writer, task);
    }

    fn check_failed(&mut self, task: &mut Context<'_>) -> io::Result<()> {
        let checked = self.sender.writer().flush();
        if checked.is_err() {
            self.send_alert(task);
        }
        checked
    }

    fn close(&mut self) {
        self.sender.send_close_notify();
    }

    fn io(&mut self) -> &mut W {
        &mut self.io
    }
}

writes!([W] WriteHalf<W>, [W: AsyncWrite + Unpin], itself);
sends_in_place!(
    [W] WriteHalf<W>,
    [W: AsyncWrite + Unpin],
    itself,
    this => this.sender.in_place_room()
);

impl<W: fmt::Debug> fmt::Debug for WriteHalf<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteHalf")
            .field("io", &self.io)
            .field("sender", &self.sender)
            .finish_non_exhaustive()
    }
}

/// The error from splitting a stream. It holds the unchanged stream.
pub struct IntoSplitError<S>(Box<(S, Error)>);

impl<S> IntoSplitError<S> {
    pub(crate) fn new(stream: S, error: Error) -> Self {
        Self(Box::new((stream, error)))
    }

    /// Converts the stream to another type.
    pub(crate) fn map<T>(self, convert: impl FnOnce(S) -> T) -> IntoSplitError<T> {
        let (stream, error) = *self.0;
        IntoSplitError::new(convert(stream), error)
    }

    /// Returns [`Error::HandshakeNotComplete`], or the error that ended the connection.
    pub fn error(&self) -> &Error {
        &self.0.1
    }

    /// Returns the stream, which was not split and has not changed.
    pub fn into_stream(self) -> S {
        self.0.0
    }
}

impl<S> fmt::Debug for IntoSplitError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IntoSplitError").field(self.error()).finish()
    }
}

impl<S> fmt::Display for IntoSplitError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the stream cannot be split: {}", self.error())
    }
}

impl<S> std::error::Error for IntoSplitError<S> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.error())
    }
}

impl<S> From<IntoSplitError<S>> for io::Error {
    fn from(refused: IntoSplitError<S>) -> Self {
        Self::new(ErrorKind::InvalidData, refused.0.1)
    }
}
