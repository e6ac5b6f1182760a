//! A transport between two streams over memory, with short reads and writes, and calls that are
//! pending at random.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSlice};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use harness::wire::Noise;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The behaviour of a pipe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    /// The maximum number of bytes in transit per direction.
    pub(crate) capacity: usize,
    /// The maximum number of bytes that a call moves.
    pub(crate) most: usize,
    /// One in this many calls is pending although it need not be. With 1, none is.
    pub(crate) pending: usize,
}

impl Weather {
    /// Nothing is delayed or short.
    pub(crate) const CALM: Self = Self {
        capacity: 1_000_000,
        most: 1_000_000,
        pending: 1,
    };

    pub(crate) fn random(noise: &mut Noise) -> Self {
        let mut one_of = |values: &[usize]| values[noise.up_to(values.len()) - 1];
        Self {
            capacity: one_of(&[50, 1000, 20_000, 300_000]),
            most: one_of(&[7, 500, 30_000]),
            pending: one_of(&[1, 2, 5, 50]),
        }
    }
}

struct Direction {
    bytes: VecDeque<u8>,
    has_ended: bool,
    /// True once the reading end was dropped.
    is_broken: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
    noise: Noise,
    weather: Weather,
    /// The number of bytes written so far.
    written: usize,
}

/// One end of a pipe. As in a socket, one task waits to read and one to write; the last one that
/// polled is woken.
pub(crate) struct End {
    incoming: Arc<Mutex<Direction>>,
    outgoing: Arc<Mutex<Direction>>,
    /// True if the incoming bytes are read here.
    reads: bool,
    /// True if the outgoing bytes are written here.
    writes: bool,
}

/// The half of an end that reads.
#[derive(Debug)]
pub(crate) struct ReadEnd(End);

/// The half of an end that writes.
#[derive(Debug)]
pub(crate) struct WriteEnd(End);

pub(crate) fn pipe(noise: &mut Noise, weather: Weather) -> (End, End) {
    let mut direction = || {
        Arc::new(Mutex::new(Direction {
            bytes: VecDeque::new(),
            has_ended: false,
            is_broken: false,
            reader: None,
            writer: None,
            noise: Noise::new(noise.next()),
            weather,
            written: 0,
        }))
    };
    let (one, other) = (direction(), direction());
    let end = |incoming: &Arc<Mutex<Direction>>, outgoing: &Arc<Mutex<Direction>>| End {
        incoming: incoming.clone(),
        outgoing: outgoing.clone(),
        reads: true,
        writes: true,
    };
    (end(&one, &other), end(&other, &one))
}

impl End {
    pub(crate) fn split(mut self) -> (ReadEnd, WriteEnd) {
        let half = |reads, writes| Self {
            incoming: self.incoming.clone(),
            outgoing: self.outgoing.clone(),
            reads,
            writes,
        };
        let halves = (ReadEnd(half(true, false)), WriteEnd(half(false, true)));
        (self.reads, self.writes) = (false, false);
        halves
    }

    /// Adds incoming bytes that the other end did not send.
    pub(crate) fn inject(&self, bytes: &[u8]) {
        lock(&self.incoming).inject(bytes);
    }

    /// Adds outgoing bytes that this end did not send.
    pub(crate) fn inject_outgoing(&self, bytes: &[u8]) {
        lock(&self.outgoing).inject(bytes);
    }

    /// Returns the number of bytes that were written.
    pub(crate) fn written(&self) -> usize {
        lock(&self.outgoing).written
    }

    /// Changes the behaviour of both directions.
    pub(crate) fn set_weather(&self, weather: Weather) {
        lock(&self.incoming).weather = weather;
        lock(&self.outgoing).weather = weather;
    }

    /// Ends the outgoing stream of bytes, without a close_notify.
    pub(crate) fn end(&self) {
        let direction = &mut *lock(&self.outgoing);
        direction.has_ended = true;
        wake(&mut direction.reader);
    }
}

impl Deref for ReadEnd {
    type Target = End;

    fn deref(&self) -> &End {
        &self.0
    }
}

impl Deref for WriteEnd {
    type Target = End;

    fn deref(&self) -> &End {
        &self.0
    }
}

fn lock(direction: &Mutex<Direction>) -> MutexGuard<'_, Direction> {
    direction.lock().unwrap()
}

fn wake(place: &mut Option<Waker>) {
    if let Some(waker) = place.take() {
        waker.wake();
    }
}

impl Direction {
    fn inject(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        wake(&mut self.reader);
    }

    /// True if this call must be pending. The task is then woken immediately.
    fn is_delayed(&mut self, task: &Context<'_>) -> bool {
        let is_delayed = self.noise.up_to(self.weather.pending) == 1 && self.weather.pending > 1;
        if is_delayed {
            task.waker().wake_by_ref();
        }
        is_delayed
    }

    fn most(&mut self, len: usize) -> usize {
        let most = len.min(self.weather.most);
        if most == 0 { 0 } else { self.noise.up_to(most) }
    }
}

impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let direction = &mut *lock(&self.incoming);
        if direction.is_delayed(task) {
            return Poll::Pending;
        }
        if direction.bytes.is_empty() && !direction.has_ended {
            direction.reader = Some(task.waker().clone());
            return Poll::Pending;
        }
        let len = direction.most(direction.bytes.len().min(buf.remaining()));
        let (first, second) = direction.bytes.as_slices();
        let of_first = len.min(first.len());
        buf.put_slice(&first[..of_first]);
        buf.put_slice(&second[..len - of_first]);
        direction.bytes.drain(..len);
        wake(&mut direction.writer);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for End {
    fn poll_write(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let direction = &mut *lock(&self.outgoing);
        if direction.is_delayed(task) {
            return Poll::Pending;
        }
        if direction.is_broken {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let room = direction
            .weather
            .capacity
            .saturating_sub(direction.bytes.len());
        if room == 0 {
            direction.writer = Some(task.waker().clone());
            return Poll::Pending;
        }
        let len = direction.most(buf.len().min(room));
        direction.bytes.extend(&buf[..len]);
        direction.written += len;
        wake(&mut direction.reader);
        Poll::Ready(Ok(len))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let most = lock(&self.outgoing).weather.most;
        let mut all = bufs.iter().map(|buf| &**buf).collect::<Vec<_>>().concat();
        all.truncate(most);
        self.poll_write(task, &all)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match lock(&self.outgoing).is_delayed(task) {
            true => Poll::Pending,
            false => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        if lock(&self.outgoing).is_delayed(task) {
            return Poll::Pending;
        }
        self.end();
        Poll::Ready(Ok(()))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if self.writes {
            lock(&self.outgoing).writer = None;
            self.end();
        }
        if self.reads {
            let direction = &mut *lock(&self.incoming);
            direction.is_broken = true;
            direction.reader = None;
            wake(&mut direction.writer);
        }
    }
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("End")
    }
}

impl AsyncRead for ReadEnd {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(task, buf)
    }
}

impl AsyncWrite for WriteEnd {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(task, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(task, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(task)
    }
}
