//! A stream without a kernel, and without waiting: its peer is in the same process and seals what
//! the stream reads before the clock starts. What the stream writes is dropped.

use std::io::{self, IoSlice, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::rustls::ServerConnection;

use crate::raw::{Request, both_ways, read, write};
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

/// What the stream will read. While the time is measured, only one task locks it.
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
    request: Request,
    peer: Box<ServerConnection>,
    incoming: Incoming,
    ends: Ends,
}

enum Ends {
    Reader(Reader),
    Writer(Writer),
    /// `None` while tasks have them.
    Both(Option<(Reader, Writer)>),
}

impl InMemory {
    pub(crate) async fn open(tls: &Tls, work: Work) -> Result<Self> {
        let incoming = Incoming::default();
        let memory = Memory {
            incoming: incoming.clone(),
            peer: Some(Box::new(tls.server()?)),
        };
        let mut stream = tls.client_over(memory).await?;
        let peer = stream.get_mut().0.peer.take();
        Ok(Self {
            request: Request::of(work),
            peer: peer.ok_or("the peer is gone")?,
            incoming,
            ends: match work.kind {
                Kind::Reading => Ends::Reader(Box::new(stream)),
                Kind::Writing => Ends::Writer(Box::new(stream)),
                _ => Ends::Both(Some(stream.halves()?)),
            },
        })
    }

    /// Seals what the stream will read.
    fn seal(&mut self) -> io::Result<()> {
        let piece = [7; 16 << 10];
        for _ in 0..self.request.total / piece.len() {
            self.peer.writer().write_all(&piece)?;
            self.incoming.take_from(&mut self.peer)?;
        }
        Ok(())
    }
}

impl Client for InMemory {
    async fn work(&mut self, end: Instant) -> Result<u64> {
        let request = self.request;
        let (mut buffer, mut done) = (vec![7; request.size], 0);
        while done == 0 || Instant::now() < end {
            if !matches!(self.ends, Ends::Writer(_)) {
                aside(|| self.seal())?;
            }
            match &mut self.ends {
                Ends::Reader(reader) => read(reader, &mut buffer, request.total).await?,
                Ends::Writer(writer) => write(writer, &buffer, request.total).await?,
                Ends::Both(halves) => {
                    let (reader, writer) = halves.take().ok_or("the halves are gone")?;
                    *halves = Some(both_ways(reader, writer, request).await?);
                    done += request.total as u64;
                }
            }
            done += request.total as u64;
        }
        Ok(done)
    }
}
