//! Models of a split stream's halves on two threads, over many interleavings.
//!
//! The files under test are those of the streams. The connection below them is a small one with
//! the library's own link between its halves. The transport wakes nobody: a task that waits can
//! only be woken by the other half, and loom reports a deadlock if it is not.

// the files under test import from `rustls`, of which this file has the parts that they need
extern crate self as rustls;

#[path = "../src/atomics.rs"]
mod atomics;
mod connection;
#[path = "../../../rustls/src/handshake/link.rs"]
#[allow(dead_code, reason = "the connection here needs a part of it")]
mod link;
#[macro_use]
#[path = "../../../tokio/src/polls.rs"]
mod polls;
#[path = "../../../tokio/src/split.rs"]
#[allow(dead_code, reason = "whole streams have other uses for it")]
mod halves;
#[path = "../../../tokio/src/receiving.rs"]
mod receiving;
#[path = "../../../tokio/src/sending.rs"]
mod sending;
#[path = "../../../tokio/src/socket.rs"]
mod socket;

/// The parts of `rustls` that the streams import.
pub use connection::{Error, InPlaceRoom, Reader};

pub mod split {
    pub use crate::connection::{Receiver, Sender};
}

mod locks {
    pub(crate) use loom::sync::Mutex;
}

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::{io, mem};

use loom::sync::Condvar;
use loom::thread;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use self::connection::{ALERT, BAD_RECORD, KEY_UPDATE, REPLY};
use self::locks::Mutex;

type ReadHalf = halves::ReadHalf<Incoming, ()>;
type WriteHalf = halves::WriteHalf<Outgoing>;

/// The bytes that arrive. At their end, reads are pending forever.
struct Incoming(&'static [u8]);

impl AsyncRead for Incoming {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some((first, rest)) = self.0.split_first() else {
            return Poll::Pending;
        };
        buf.put_slice(&[*first]);
        self.0 = rest;
        Poll::Ready(Ok(()))
    }
}

/// A transport that takes `room` more bytes, and can be flushed or not.
struct Outgoing {
    room: usize,
    flushes: bool,
    written: Vec<u8>,
}

impl Outgoing {
    fn empty() -> Self {
        Self {
            room: usize::MAX,
            flushes: true,
            written: Vec::new(),
        }
    }

    fn full() -> Self {
        Self {
            room: 0,
            ..Self::empty()
        }
    }

    fn without_flush() -> Self {
        Self {
            flushes: false,
            ..Self::empty()
        }
    }
}

impl AsyncWrite for Outgoing {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let len = buf.len().min(self.room);
        if len == 0 {
            return Poll::Pending;
        }
        self.room -= len;
        self.written.extend_from_slice(&buf[..len]);
        Poll::Ready(Ok(len))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.flushes {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

async fn read(half: &mut ReadHalf) -> io::Result<()> {
    let mut out = [0; 4];
    poll_fn(|task| Pin::new(&mut *half).poll_read(task, &mut ReadBuf::new(&mut out))).await
}

async fn write(half: &mut WriteHalf, bytes: &[u8]) -> io::Result<usize> {
    poll_fn(|task| Pin::new(&mut *half).poll_write(task, bytes)).await
}

async fn flush(half: &mut WriteHalf) -> io::Result<()> {
    poll_fn(|task| Pin::new(&mut *half).poll_flush(task)).await
}

/// True once the task was woken. Loom's own `block_on` also wakes tasks for no reason, which
/// multiplies the interleavings.
struct Flag(Mutex<bool>, Condvar);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }
}

/// Polls the future, and again after each wake-up.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let flag = Arc::new(Flag(Mutex::new(false), Condvar::new()));
    let waker = Waker::from(flag.clone());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        let mut is_woken = flag.0.lock().unwrap();
        while !mem::take(&mut *is_woken) {
            is_woken = flag.1.wait(is_woken).unwrap();
        }
    }
}

/// Runs `run` with the halves of a stream, in all interleavings with up to five preemptions.
fn model(
    incoming: &'static [u8],
    outgoing: fn() -> Outgoing,
    run: impl Fn(ReadHalf, WriteHalf) + Send + Sync + 'static,
) {
    let mut builder = loom::model::Builder::new();
    // all interleavings would take minutes
    builder.preemption_bound = Some(5);
    builder.check(move || {
        let (sender, receiver) = connection::connection();
        let halves = halves::halves((Incoming(incoming), receiver), (outgoing(), sender), None);
        run(halves.0, halves.1);
    });
}

/// Reads in another thread until there is an error.
fn read_to_error(mut reader: ReadHalf) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let error = block_on(read(&mut reader)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    })
}

#[test]
fn a_write_that_waits_gets_the_error_of_the_reader() {
    for incoming in [&[BAD_RECORD], &[ALERT]] {
        model(incoming, Outgoing::full, |reader, mut writer| {
            // fills the connection's buffer
            assert_eq!(block_on(write(&mut writer, b"a")).unwrap(), 1);
            let reading = read_to_error(reader);
            let error = block_on(write(&mut writer, b"b")).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            reading.join().unwrap();
        });
    }
}

#[test]
fn a_flush_that_waits_gets_the_error_of_the_reader() {
    for incoming in [&[BAD_RECORD], &[ALERT]] {
        for outgoing in [Outgoing::full, Outgoing::without_flush] {
            model(incoming, outgoing, |reader, mut writer| {
                assert_eq!(block_on(write(&mut writer, b"a")).unwrap(), 1);
                let reading = read_to_error(reader);
                let error = block_on(flush(&mut writer)).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
                reading.join().unwrap();
            });
        }
    }
}

#[test]
fn a_read_that_waits_gets_the_error_of_the_writer() {
    model(&[], Outgoing::empty, |reader, mut writer| {
        let reading = read_to_error(reader);
        writer.get_mut().1.fail_next_write();
        block_on(write(&mut writer, b"a")).unwrap_err();
        reading.join().unwrap();
    });
}

#[test]
fn halves_that_fail_at_the_same_time_both_return_an_error() {
    model(&[BAD_RECORD], Outgoing::empty, |reader, mut writer| {
        let reading = read_to_error(reader);
        writer.get_mut().1.fail_next_write();
        block_on(write(&mut writer, b"a")).unwrap_err();
        block_on(flush(&mut writer)).unwrap_err();
        reading.join().unwrap();
    });
}

/// The last record ends the connection, so that the writer ends, too.
#[test]
fn an_idle_writer_is_woken_to_answer_the_peer() {
    for incoming in [&[BAD_RECORD][..], &[KEY_UPDATE, BAD_RECORD]] {
        model(incoming, Outgoing::empty, |reader, mut writer| {
            let reading = read_to_error(reader);
            let flushed = block_on(async {
                writer.wants_flush().await;
                flush(&mut writer).await
            });
            if flushed.is_ok() {
                assert_eq!(writer.get_ref().0.written, [REPLY]);
                block_on(async {
                    writer.wants_flush().await;
                    flush(&mut writer).await.unwrap_err();
                });
            }
            assert_eq!(writer.get_ref().0.written.last(), Some(&ALERT));
            reading.join().unwrap();
        });
    }
}
