//! Tasks that send and receive random pieces of known bytes.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::task::{Context, Poll};

use harness::wire::Noise;
use tokio::io::{
    AsyncBufRead, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf,
};
use tokio_rustls::split::WriteHalf;
use tokio_rustls::{client, server};

use super::pipe::{End, WriteEnd};

/// The number of bytes after which the pattern repeats, far more than a connection buffers.
const PERIOD: usize = 1 << 18;

/// The maximum number of bytes that are sent in a call.
const LONGEST: usize = 200_000;

/// Returns the byte at offset `at` of a direction.
pub(crate) fn pattern(at: usize) -> u8 {
    let at = at % PERIOD;
    (at ^ (at >> 8) ^ (at >> 16)) as u8
}

/// Returns `len` bytes from this offset of a direction. They are generated once, because generating
/// them for each piece would take most of the time of the tests.
fn piece(from: usize, len: usize) -> &'static [u8] {
    static ALL: LazyLock<Vec<u8>> = LazyLock::new(|| (0..PERIOD + LONGEST).map(pattern).collect());
    let from = from % PERIOD;
    &ALL[from..from + len]
}

/// The operations of TLS streams that `AsyncWrite` lacks.
pub(crate) trait Refresh {
    /// Replaces the keys, if the version allows it.
    fn refresh(&mut self);

    /// Sends a part of `data` in place. Returns its length.
    fn poll_in_place(&mut self, task: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>>;
}

macro_rules! refresh {
    ($($stream:ty),*) => {$(
        impl Refresh for $stream {
            fn refresh(&mut self) {
                // an error in TLS 1.2, which cannot replace keys
                let _ = self.get_mut().1.refresh_traffic_keys();
            }

            fn poll_in_place(
                &mut self,
                task: &mut Context<'_>,
                data: &[u8],
            ) -> Poll<io::Result<usize>> {
                let room = self.in_place_room();
                let payload = &data[..data.len().min(room.max_payload)];
                let mut buf = vec![0; room.headroom];
                buf.extend(payload);
                buf.resize(buf.len() + room.tailroom, 0);
                let range = room.headroom..room.headroom + payload.len();
                let sent = self.poll_send_in_place(task, &mut buf, range.clone());
                if sent.is_pending() {
                    assert_eq!(&buf[range], payload);
                }
                sent.map_ok(|()| payload.len())
            }
        }
    )*};
}

refresh!(
    client::TlsStream<End>,
    server::TlsStream<End>,
    WriteHalf<WriteEnd>
);

/// A plain stream.
impl Refresh for BufReader<End> {
    fn refresh(&mut self) {}

    fn poll_in_place(&mut self, task: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(self).poll_write(task, data)
    }
}

/// A stream that lends what it has received.
pub(crate) trait Lend: AsyncRead + Unpin {
    /// Takes at most `most` bytes of the lent chunk.
    fn poll_lend(&mut self, task: &mut Context<'_>, most: usize) -> Poll<io::Result<Vec<u8>>>;
}

impl<S: AsyncBufRead + AsyncRead + Unpin> Lend for S {
    fn poll_lend(&mut self, task: &mut Context<'_>, most: usize) -> Poll<io::Result<Vec<u8>>> {
        let mut stream = Pin::new(self);
        let taken = stream.as_mut().poll_fill_buf(task);
        let taken = taken.map_ok(|chunk| chunk[..chunk.len().min(most)].to_vec());
        if let Poll::Ready(Ok(taken)) = &taken {
            stream.consume(taken.len());
        }
        taken
    }
}

/// A stream for two tasks, behind a lock.
pub(crate) struct Shared<S>(Arc<Mutex<S>>);

impl<S> Shared<S> {
    pub(crate) fn both(stream: S) -> (Self, Self) {
        let stream = Arc::new(Mutex::new(stream));
        (Self(stream.clone()), Self(stream))
    }

    fn lock(&self) -> MutexGuard<'_, S> {
        self.0.lock().unwrap()
    }
}

impl<S: Refresh> Refresh for Shared<S> {
    fn refresh(&mut self) {
        self.lock().refresh();
    }

    fn poll_in_place(&mut self, task: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.lock().poll_in_place(task, data)
    }
}

impl<S: Lend> Lend for Shared<S> {
    fn poll_lend(&mut self, task: &mut Context<'_>, most: usize) -> Poll<io::Result<Vec<u8>>> {
        self.lock().poll_lend(task, most)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Shared<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_read(task, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Shared<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.lock()).poll_write(task, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.lock()).poll_write_vectored(task, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.lock().is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_flush(task)
    }

    fn poll_shutdown(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_shutdown(task)
    }
}

/// Polls `future` once, and drops it if it is pending.
pub(crate) async fn try_once<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let once = poll_fn(|task| {
        Poll::Ready(match future.as_mut().poll(task) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        })
    });
    once.await
}

fn one_of(noise: &mut Noise, values: &[usize]) -> usize {
    values[noise.up_to(values.len()) - 1]
}

/// Sends `total` bytes in random pieces, in random ways, and closes.
pub(crate) async fn send<S>(mut stream: S, total: usize, mut noise: Noise) -> io::Result<()>
where
    S: AsyncWrite + Refresh + Unpin,
{
    let mut sent = 0;
    while sent < total {
        let most = one_of(&mut noise, &[1, 100, 20_000, LONGEST]);
        let len = noise.up_to(most).min(total - sent);
        let data = piece(sent, len);
        sent += match noise.up_to(6) {
            1 => {
                let (one, other) = data.split_at(len / 3);
                let slices = [IoSlice::new(one), IoSlice::new(&[]), IoSlice::new(other)];
                stream.write_vectored(&slices).await?
            }
            // a write that is dropped while it is pending has accepted nothing
            2 => match try_once(stream.write(data)).await {
                Some(written) => written?,
                None => 0,
            },
            // the first write may be early data, which is not sent in place
            3 if sent != 0 => poll_fn(|task| stream.poll_in_place(task, data)).await?,
            4 if sent != 0 => {
                match try_once(poll_fn(|task| stream.poll_in_place(task, data))).await {
                    Some(sent) => sent?,
                    None => 0,
                }
            }
            _ => stream.write(data).await?,
        };
        match noise.up_to(12) {
            1 => stream.flush().await?,
            2 => drop(try_once(stream.flush()).await),
            3 => stream.refresh(),
            _ => {}
        }
    }
    if noise.up_to(2) == 1 {
        drop(try_once(stream.shutdown()).await);
    }
    stream.shutdown().await
}

/// Receives until the end, in random pieces and in random ways. Returns the number of bytes, and
/// the error at the end, if any.
pub(crate) async fn receive<S: Lend>(stream: S, noise: Noise) -> (usize, io::Result<()>) {
    receive_from(stream, 0, noise).await
}

/// Receives like [`receive`] after `received` bytes.
pub(crate) async fn receive_from<S: Lend>(
    mut stream: S,
    mut received: usize,
    mut noise: Noise,
) -> (usize, io::Result<()>) {
    loop {
        let most = one_of(&mut noise, &[1, 100, 20_000, 100_000]);
        let mut out = vec![0; noise.up_to(most)];
        let read = match noise.up_to(5) {
            1 => {
                let lent = poll_fn(|task| stream.poll_lend(task, out.len())).await;
                lent.map(|chunk| {
                    out[..chunk.len()].copy_from_slice(&chunk);
                    chunk.len()
                })
            }
            // a read that is dropped while it is pending has taken nothing
            2 => match try_once(stream.read(&mut out)).await {
                Some(read) => read,
                None => continue,
            },
            // a buffer that is not initialized
            3 => {
                let mut uninitialized = Vec::with_capacity(out.len());
                let read = stream.read_buf(&mut uninitialized).await;
                out[..uninitialized.len()].copy_from_slice(&uninitialized);
                read
            }
            _ => stream.read(&mut out).await,
        };
        match read {
            Ok(0) => return (received, Ok(())),
            Ok(len) => {
                assert!(
                    out[..len] == *piece(received, len),
                    "{len} bytes at {received}"
                );
                received += len;
            }
            Err(error) => return (received, Err(error)),
        }
    }
}
