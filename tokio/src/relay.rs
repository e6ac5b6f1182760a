//! Passes data on between two streams, as a proxy does.
//!
//! ```text
//!   peer ──► a: records opened ──► b: sealed in place ──► one write
//!   peer ◄── one write ◄── a: sealed in place ◄── b: records opened
//! ```

use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustls::{Reader, Writer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::coop;

use crate::sending::Sends;
use crate::socket::{Socket, poll_of};
use crate::stream::{Side, Stream};
use crate::{TlsStream, client, server};

/// The number of plaintext bytes to read at a time while a peer streams.
const MANY_RECORDS: usize = 64 * 1024;

/// The number of turns of a direction per poll. A turn is a read from a transport, or the copying
/// of what was received.
const TURNS: u32 = 32;

/// Copies data in both directions between a TLS stream and another stream, until both have ended.
/// Returns the number of bytes copied from `a` to `b`, and from `b` to `a`.
///
/// `b` is either another TLS stream or a [`Plain`] one. The function replaces
/// `tokio::io::copy_bidirectional`, and is faster: there is no buffer between the streams, and data
/// from one read is usually sent with one write.
///
/// When a stream ends, the other one is shut down, and the opposite direction continues. Streams
/// that have not been shut down are flushed before the future waits. While a stream accepts no
/// data, nothing is read for it, so at most about 72 KiB per direction are buffered. A poll copies
/// at most about 1 MiB per direction, so that fast peers keep neither other tasks nor the other
/// direction waiting.
///
/// ```no_run
/// use tokio::net::TcpStream;
/// use tokio_rustls::relay::Plain;
/// use tokio_rustls::{copy_bidirectional, server};
///
/// /// Serves a client by passing its data on to a server without TLS.
/// async fn serve(mut client: server::TlsStream<TcpStream>) -> std::io::Result<()> {
///     let mut backend = Plain(TcpStream::connect("127.0.0.1:8080").await?);
///     let (received, sent) = copy_bidirectional(&mut client, &mut backend).await?;
///     println!("{received} bytes received, {sent} bytes sent");
///     Ok(())
/// }
/// ```
///
/// The future can be dropped at any time: no data is lost, and another call continues where it
/// stopped.
///
/// # Errors
///
/// The first error of either stream ends both directions. The end of a TLS stream without a
/// close_notify is an error ([`UnexpectedEof`](ErrorKind::UnexpectedEof)). The other stream is then
/// not shut down, because its peer must not mistake a truncation for the end. Drop that stream or,
/// if it is a plain TCP stream, reset it (`SO_LINGER` of 0). A TLS stream whose buffer limit is 0
/// accepts no data, which is an error, too ([`WriteZero`](ErrorKind::WriteZero)).
pub async fn copy_bidirectional<A, B>(a: &mut A, b: &mut B) -> io::Result<(u64, u64)>
where
    A: Tls + ?Sized,
    B: Relay + ?Sized,
{
    let mut relay = Both::default();
    poll_fn(|task| relay.poll(a.end(), b.end(), task)).await
}

/// A stream without TLS, for [`copy_bidirectional`].
#[derive(Debug)]
pub struct Plain<IO>(pub IO);

/// The streams that can be relayed: TLS streams and [`Plain`] ones.
pub trait Relay: private::Relay {}

impl<S: private::Relay + ?Sized> Relay for S {}

/// The TLS streams of this crate, except split ones.
pub trait Tls: Relay {}

use private::{Connected, End, Transport};

mod private {
    use std::io;
    use std::task::{Context, Poll};

    use rustls::{Reader, Writer};
    use tokio::io::{AsyncRead, AsyncWrite};

    use super::Turns;

    /// A stream on one side of a relay.
    #[allow(missing_debug_implementations)]
    pub enum End<'a> {
        Tls(&'a mut dyn Connected),
        Plain(&'a mut dyn Transport),
    }

    pub trait Relay {
        fn end(&mut self) -> End<'_>;
    }

    /// A connection with its transport.
    pub trait Connected {
        /// Receives until there is plaintext. Returns false if the peer has closed.
        fn poll_fill(
            &mut self,
            task: &mut Context<'_>,
            turns: &mut Turns,
        ) -> Poll<io::Result<bool>>;

        fn reader(&mut self) -> Reader<'_>;

        fn writer(&mut self) -> Writer<'_>;

        fn wants_write(&self) -> bool;

        /// Completes the handshake, and sends all queued output.
        fn poll_send(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>>;

        fn poll_flush(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>>;

        fn poll_shutdown(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>>;
    }

    pub trait Transport: AsyncRead + AsyncWrite + Unpin {}

    impl<IO: AsyncRead + AsyncWrite + Unpin> Transport for IO {}
}

impl<IO, C> Connected for Stream<IO, C>
where
    IO: AsyncRead + AsyncWrite + Unpin,
    C: Side,
{
    fn poll_fill(&mut self, task: &mut Context<'_>, turns: &mut Turns) -> Poll<io::Result<bool>> {
        ready!(self.poll_established(task))?;
        loop {
            let chunk = self.conn.reader().into_first_chunk();
            match (
                chunk.map(|chunk| !chunk.is_empty()),
                self.state.deferred.take(),
            ) {
                (Ok(true), deferred) => {
                    self.state.deferred = deferred;
                    return Poll::Ready(Ok(true));
                }
                (_, Some(error)) => return Poll::Ready(Err(error)),
                (Err(error), None) if error.kind() == ErrorKind::WouldBlock => {}
                (end, None) => return Poll::Ready(end),
            }
            ready!(turns.poll_take(task));
            ready!(self.poll_read_tls(task, MANY_RECORDS))?;
            // data that was received before an error comes first
            self.state.deferred = self.process(task).err();
        }
    }

    fn reader(&mut self) -> Reader<'_> {
        self.conn.reader()
    }

    fn writer(&mut self) -> Writer<'_> {
        self.conn.writer()
    }

    fn wants_write(&self) -> bool {
        self.conn.wants_write()
    }

    fn poll_send(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_established(task))?;
        self.poll_send_all(task)
    }

    fn poll_flush(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        // without the error of a failed connection: data that was received before it comes first
        ready!(Connected::poll_send(self, task))?;
        Pin::new(&mut self.io).poll_flush(task)
    }

    fn poll_shutdown(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Self::poll_shutdown(self, task)
    }
}

/// Implements the traits of TLS streams. `$inner` returns the inner stream.
macro_rules! tls {
    ($stream:ty, $self:ident => $inner:expr) => {
        impl<IO: AsyncRead + AsyncWrite + Unpin> Tls for $stream {}

        impl<IO: AsyncRead + AsyncWrite + Unpin> private::Relay for $stream {
            fn end(&mut $self) -> End<'_> {
                End::Tls($inner)
            }
        }
    };
}

tls!(client::TlsStream<IO>, self => &mut self.inner);
tls!(server::TlsStream<IO>, self => &mut self.inner);
tls!(TlsStream<IO>, self => match self {
    Self::Client(stream) => &mut stream.inner,
    Self::Server(stream) => &mut stream.inner,
});

impl<IO: AsyncRead + AsyncWrite + Unpin> private::Relay for Plain<IO> {
    fn end(&mut self) -> End<'_> {
        End::Plain(&mut self.0)
    }
}

impl End<'_> {
    fn poll_send(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            End::Tls(stream) => stream.poll_send(task),
            End::Plain(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_flush(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            End::Tls(stream) => stream.poll_flush(task),
            End::Plain(io) => Pin::new(io).poll_flush(task),
        }
    }

    fn poll_shutdown(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            End::Tls(stream) => stream.poll_shutdown(task),
            End::Plain(io) => Pin::new(io).poll_shutdown(task),
        }
    }

    fn wants_write(&self) -> bool {
        match self {
            End::Tls(stream) => stream.wants_write(),
            End::Plain(_) => false,
        }
    }
}

/// The turns that a direction has left in this poll.
#[allow(missing_debug_implementations)]
pub struct Turns(u32);

impl Turns {
    /// Uses up one turn. Returns false if there is none.
    fn take(&mut self) -> bool {
        let is_left = self.0 != 0;
        self.0 = self.0.saturating_sub(1);
        is_left
    }

    /// Uses up one turn. If there is none, wakes the task and returns `Pending`, so that other
    /// tasks run first.
    fn poll_take(&mut self, task: &Context<'_>) -> Poll<()> {
        if self.take() {
            return Poll::Ready(());
        }
        task.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Both directions of a relay.
#[derive(Default)]
struct Both {
    to_b: Direction,
    to_a: Direction,
    /// True if the direction to `a` is polled first.
    to_a_first: bool,
}

/// The state of one direction, and of the stream to which it sends.
struct Direction {
    stage: Stage,
    copied: u64,
    /// True once the stream that is read has ended.
    has_ended: bool,
    /// True if the stream may hold output that has not been flushed. Initially true, because the
    /// handshake, or an earlier call that was dropped, may have left output.
    needs_flush: bool,
}

impl Default for Direction {
    fn default() -> Self {
        Self {
            stage: Stage::Copying,
            copied: 0,
            has_ended: false,
            needs_flush: true,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Copying,
    ShuttingDown,
    Done,
}

impl Both {
    fn poll(
        &mut self,
        mut a: End<'_>,
        mut b: End<'_>,
        task: &mut Context<'_>,
    ) -> Poll<io::Result<(u64, u64)>> {
        // the first direction may use up all of the task's budget
        self.to_a_first = !self.to_a_first;
        let polled = match self.to_a_first {
            false => {
                let to_b = self.to_b.poll(&mut a, &mut b, task);
                to_b.and_then(|()| self.to_a.poll(&mut b, &mut a, task))
            }
            true => {
                let to_a = self.to_a.poll(&mut b, &mut a, task);
                to_a.and_then(|()| self.to_b.poll(&mut a, &mut b, task))
            }
        };
        // after an error, this sends what came before it; otherwise, a record that one direction
        // received may call for an alert by the other one
        let flushed_b = self.to_b.poll_flush(&mut b, task);
        let flushed_a = self.to_a.poll_flush(&mut a, task);
        polled.and(flushed_b).and(flushed_a)?;
        match self.to_b.stage == Stage::Done && self.to_a.stage == Stage::Done {
            true => Poll::Ready(Ok((self.to_b.copied, self.to_a.copied))),
            false => Poll::Pending,
        }
    }
}

impl Direction {
    /// Copies, and then shuts `to` down, until a stream is not ready.
    fn poll(
        &mut self,
        from: &mut End<'_>,
        to: &mut End<'_>,
        task: &mut Context<'_>,
    ) -> io::Result<()> {
        let mut turns = Turns(TURNS);
        loop {
            let polled = match self.stage {
                Stage::Copying => self.poll_copy(from, to, task, &mut turns)?,
                Stage::ShuttingDown => to.poll_shutdown(task)?,
                Stage::Done => return Ok(()),
            };
            if polled.is_pending() {
                return Ok(());
            }
            self.stage = match self.stage {
                Stage::Copying => Stage::ShuttingDown,
                _ => Stage::Done,
            };
        }
    }

    /// Copies until `from` ends.
    fn poll_copy(
        &mut self,
        from: &mut End<'_>,
        to: &mut End<'_>,
        task: &mut Context<'_>,
        turns: &mut Turns,
    ) -> Poll<io::Result<()>> {
        loop {
            self.needs_flush |= to.wants_write();
            // take no more than `to` accepts
            ready!(to.poll_send(task))?;
            if self.has_ended {
                return Poll::Ready(Ok(()));
            }
            ready!(turns.poll_take(task));
            let progress = ready!(coop::poll_proceed(task));
            let len = match (&mut *from, &mut *to) {
                (End::Tls(from), to) => ready!(self.poll_relay(*from, to, task, turns))?,
                (End::Plain(from), End::Tls(to)) => {
                    ready!(self.poll_read(*from, *to, task, turns))?
                }
                // excluded by the types of `copy_bidirectional`
                (End::Plain(_), End::Plain(_)) => {
                    return Poll::Ready(Err(ErrorKind::Unsupported.into()));
                }
            };
            progress.made_progress();
            self.copied += len as u64;
            self.needs_flush = true;
        }
    }

    /// Passes on received plaintext, as far as `to` accepts it. Returns the number of bytes, which
    /// is 0 at the end, or if a KeyUpdate must be sent first.
    fn poll_relay(
        &mut self,
        from: &mut dyn Connected,
        to: &mut End<'_>,
        task: &mut Context<'_>,
        turns: &mut Turns,
    ) -> Poll<io::Result<usize>> {
        if !ready!(from.poll_fill(task, turns))? {
            self.has_ended = true;
            return Poll::Ready(Ok(0));
        }
        let mut reader = from.reader();
        let relayed = match to {
            End::Tls(to) => to.writer().write_received(&mut reader),
            End::Plain(to) => reader.write_to(&mut Socket::new(*to, task)),
        };
        match ready!(poll_of(relayed))? {
            0 if !to.wants_write() => Poll::Ready(Err(ErrorKind::WriteZero.into())),
            len => Poll::Ready(Ok(len)),
        }
    }

    /// Reads from a plain stream, at most about as much as one write should send. Returns the
    /// number of bytes, which is 0 at the end, or if a KeyUpdate must be sent first.
    fn poll_read(
        &mut self,
        from: &mut dyn Transport,
        to: &mut dyn Connected,
        task: &mut Context<'_>,
        turns: &mut Turns,
    ) -> Poll<io::Result<usize>> {
        let mut writer = to.writer();
        if writer.room_left() == Some(0) {
            let mut socket = Socket::new(from, task);
            // without room, this reads nothing
            let refused = writer.read_from(&mut socket);
            if matches!(refused, Err(full) if full.kind() == ErrorKind::WouldBlock) {
                // all output has been sent, so the buffer limit is 0
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            // it was shut down already or has failed, so only the end of `from` is no error
            self.has_ended = ready!(poll_of(socket.read(&mut [0])))? == 0;
            if !self.has_ended {
                writer.flush()?;
                return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
            }
            return Poll::Ready(Ok(0));
        }
        let mut total = 0;
        while total < MANY_RECORDS && to.writer().room_left() != Some(0) {
            if total != 0 && !turns.take() {
                break;
            }
            let read = to.writer().read_from(&mut Socket::new(from, task));
            match poll_of(read) {
                Poll::Ready(Ok(0)) => {
                    self.has_ended = true;
                    break;
                }
                Poll::Ready(Ok(len)) => total += len,
                Poll::Pending if total != 0 => break,
                // a KeyUpdate may have used up the buffer limit, so that nothing was read
                Poll::Pending if to.wants_write() => break,
                ended => return ended,
            }
        }
        Poll::Ready(Ok(total))
    }

    /// Flushes the stream to which this direction sends, if necessary.
    fn poll_flush(&mut self, to: &mut End<'_>, task: &mut Context<'_>) -> io::Result<()> {
        self.needs_flush |= to.wants_write();
        if self.needs_flush && self.stage == Stage::Copying {
            self.needs_flush = to.poll_flush(task)?.is_pending();
        }
        Ok(())
    }
}
