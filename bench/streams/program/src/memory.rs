//! A stream without a kernel, and without waiting: its peer is in the same process and seals what
//! the stream reads while the clock stands still. What the stream writes is dropped.

use std::io::{self, IoSlice, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::rustls::ServerConnection;

use crate::raw::{read, write};
use crate::usage::aside;
use crate::wire::{Reader, Stream, Tls, Transport, Writer};
use crate::work::{Kind, Work};
use crate::{Client, Result};

/// A transport in memory.
pub(crate) struct Memory {
    incoming: Incoming,
    /// The peer that answers what is written, until the handshake is complete.
    peer: Option<Box<ServerConnection>>,
}

/// The records that the stream will read. Its reader and its peer lock them, at different times.
#[derive(Clone, Default)]
struct Incoming(Arc<Mutex<Bytes>>);

#[derive(Default)]
struct Bytes {
    all: Vec<u8>,
    read: usize,
}

impl Incoming {
    fn lock(&self) -> MutexGuard<'_, Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds all that `peer` has to send.
    fn take_from(&self, peer: &mut ServerConnection) -> io::Result<()> {
        let bytes = &mut *self.lock();
        if bytes.read == bytes.all.len() {
            (bytes.all.clear(), bytes.read = 0);
        }
        while peer.wants_write() {
            peer.write_tls(&mut bytes.all)?;
        }
        Ok(())
    }
}

impl Memory {
    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let Some(peer) = &mut self.peer else {
            return Ok(());
        };
        while !bytes.is_empty() {
            peer.read_tls(&mut bytes)?;
            peer.process_new_packets().map_err(io::Error::other)?;
        }
        self.incoming.take_from(peer)
    }
}

impl AsyncRead for Memory {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let bytes = &mut *self.incoming.lock();
        let rest = &bytes.all[bytes.read..];
        let len = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..len]);
        bytes.read += len;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Memory {
    fn poll_write(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(task, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        bufs.iter().try_for_each(|buf| self.write(buf))?;
        Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Transport for Memory {
    type Reader = Self;
    type Writer = Self;

    fn halves(self) -> (Self, Self) {
        let writer = Self {
            incoming: Incoming::default(),
            peer: None,
        };
        (self, writer)
    }
}

/// A client that only reads, only writes, or does both in two tasks.
pub(crate) struct InMemory {
    size: usize,
    peer: Box<ServerConnection>,
    incoming: Incoming,
    reader: Option<Reader>,
    writer: Option<Writer>,
}

/// The bytes that are sealed and read at a time. They stay in the second-level cache.
const SEALED: usize = 1 << 20;

impl InMemory {
    pub(crate) async fn open(tls: &Tls, work: Work) -> Result<Self> {
        let incoming = Incoming::default();
        let memory = Memory {
            incoming: incoming.clone(),
            peer: Some(Box::new(tls.server()?)),
        };
        let mut stream = tls.client_over(memory).await?;
        let peer = stream.get_mut().0.peer.take();
        let (reader, writer): (Option<Reader>, Option<Writer>) = match work.kind {
            Kind::Reading => (Some(Box::new(stream)), None),
            Kind::Writing => (None, Some(Box::new(stream))),
            _ => {
                let (reader, writer) = stream.halves()?;
                (Some(reader), Some(writer))
            }
        };
        Ok(Self {
            size: work.size,
            peer: peer.ok_or("the peer is gone")?,
            incoming,
            reader,
            writer,
        })
    }

    /// Seals what the stream will read.
    fn seal(&mut self) -> io::Result<()> {
        let piece = [7; 16 << 10];
        for _ in 0..SEALED / piece.len() {
            self.peer.writer().write_all(&piece)?;
            self.incoming.take_from(&mut self.peer)?;
        }
        Ok(())
    }

    /// Reads until `end`. Returns the bytes, and those that were added to `written` meanwhile.
    async fn read_until(
        &mut self,
        reader: &mut Reader,
        written: &AtomicU64,
        end: Instant,
    ) -> Result<u64> {
        let (mut buffer, mut done) = (vec![0; self.size], 0);
        while done == 0 || Instant::now() < end {
            // a writer goes on, but neither its time nor its bytes count
            aside(|| self.seal())?;
            let before = written.load(Ordering::Relaxed);
            read(reader, &mut buffer, SEALED).await?;
            done += SEALED as u64 + written.load(Ordering::Relaxed) - before;
        }
        Ok(done)
    }
}

/// Writes pieces until `is_over`. Counts the bytes.
async fn write_until(
    writer: &mut Writer,
    size: usize,
    written: &AtomicU64,
    is_over: impl Fn() -> bool,
) -> Result<()> {
    let piece = vec![7; size];
    while !is_over() {
        write(writer, &piece, size).await?;
        written.fetch_add(size as u64, Ordering::Relaxed);
    }
    Ok(())
}

impl Client for InMemory {
    async fn work(&mut self, end: Instant) -> Result<u64> {
        let (size, written) = (self.size, Arc::new(AtomicU64::new(0)));
        let Some(mut reader) = self.reader.take() else {
            let writer = self.writer.as_mut().ok_or("no half is left")?;
            write_until(writer, size, &written, || Instant::now() >= end).await?;
            return Ok(written.load(Ordering::Relaxed));
        };
        let is_read = Arc::new(AtomicBool::new(false));
        let writing = self.writer.take().map(|mut writer| {
            let (written, is_read) = (written.clone(), is_read.clone());
            tokio::spawn(async move {
                let is_over = || is_read.load(Ordering::Relaxed);
                let result = write_until(&mut writer, size, &written, is_over).await;
                result.map(|()| writer)
            })
        });
        let done = self.read_until(&mut reader, &written, end).await;
        is_read.store(true, Ordering::Relaxed);
        self.reader = Some(reader);
        if let Some(writing) = writing {
            self.writer = Some(writing.await??);
        }
        done
    }
}
