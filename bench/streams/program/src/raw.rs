//! Bytes without a protocol. A client sends requests over its connections, and each ends before the
//! next begins, so that nobody works between two phases.

use std::time::Instant;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::socket::Socket;
use crate::wire::{Stream, Wire};
use crate::work::{Kind, Work};
use crate::{Client, Result};

/// The bytes that the connections of a client request at a time, all together.
const AT_A_TIME: usize = 32 << 20;
/// The bytes that go around in one request.
const ECHOED: usize = 1 << 20;

/// A client's request: the kind of transfer, the bytes per read or write, and the total.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    kind: u8,
    size: usize,
    total: usize,
}

const DOWNLOAD: u8 = 0;
const UPLOAD: u8 = 1;
const ECHO: u8 = 2;
const DUPLEX: u8 = 3;

impl Request {
    pub(crate) fn echo(size: usize) -> Self {
        Self {
            kind: ECHO,
            size,
            total: size,
        }
    }

    fn of(work: Work) -> Self {
        let (kind, total) = match work.kind {
            Kind::Upload => (UPLOAD, AT_A_TIME / work.count),
            Kind::Echo => (ECHO, ECHOED / work.count),
            Kind::Duplex => (DUPLEX, 4 * AT_A_TIME),
            _ => (DOWNLOAD, AT_A_TIME / work.count),
        };
        // only whole pieces go around
        let total = total.next_multiple_of(work.size);
        Self {
            kind,
            size: work.size,
            total,
        }
    }

    pub(crate) async fn send(&self, stream: &mut (impl AsyncWrite + Unpin)) -> Result<()> {
        let mut bytes = [self.kind; 17];
        bytes[1..9].copy_from_slice(&(self.size as u64).to_be_bytes());
        bytes[9..].copy_from_slice(&(self.total as u64).to_be_bytes());
        stream.write_all(&bytes).await?;
        Ok(stream.flush().await?)
    }

    /// Returns `None` at the end of the stream.
    async fn receive(stream: &mut (impl AsyncRead + Unpin)) -> Result<Option<Self>> {
        let Ok(kind) = stream.read_u8().await else {
            return Ok(None);
        };
        let size = stream.read_u64().await? as usize;
        let total = stream.read_u64().await? as usize;
        Ok(Some(Self { kind, size, total }))
    }
}

pub(crate) async fn serve<W: Wire>(listener: &TcpListener, wire: W) -> Result<()> {
    loop {
        let (socket, wire) = (Socket::accept(listener).await?, wire.clone());
        tokio::spawn(async move {
            if let Err(error) = answer_all(socket, wire).await {
                eprintln!("server: {error}");
            }
        });
    }
}

async fn answer_all<W: Wire>(socket: Socket, wire: W) -> Result<()> {
    let mut stream = wire.accept(socket).await?;
    let mut buffer = Vec::new();
    while let Some(request) = Request::receive(&mut stream).await? {
        buffer.resize(request.size, 7);
        match request.kind {
            DOWNLOAD => write(&mut stream, &buffer, request.total).await?,
            UPLOAD => {
                read(&mut stream, &mut buffer, request.total).await?;
                write(&mut stream, &[1], 1).await?;
            }
            ECHO => {
                for _ in 0..request.total / request.size {
                    stream.read_exact(&mut buffer).await?;
                    stream.write_all(&buffer).await?;
                    stream.flush().await?;
                }
            }
            DUPLEX => return both_ways(stream, request).await,
            kind => return Err(format!("unknown request {kind}").into()),
        }
    }
    // the client may be gone already
    let _ = stream.shutdown().await;
    Ok(())
}

pub(crate) async fn write(
    stream: &mut (impl AsyncWrite + Unpin),
    piece: &[u8],
    total: usize,
) -> Result<()> {
    let mut left = total;
    while left > 0 {
        let len = left.min(piece.len());
        stream.write_all(&piece[..len]).await?;
        left -= len;
    }
    Ok(stream.flush().await?)
}

pub(crate) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut [u8],
    total: usize,
) -> Result<()> {
    let mut left = total;
    while left > 0 {
        let len = left.min(buffer.len());
        match stream.read(&mut buffer[..len]).await? {
            0 => return Err(format!("{left} bytes did not arrive").into()),
            read => left -= read,
        }
    }
    Ok(())
}

/// Reads and writes in tasks of their own.
async fn both_ways(stream: impl Stream, request: Request) -> Result<()> {
    let (mut reader, mut writer) = stream.halves()?;
    let writing = tokio::spawn(async move {
        let piece = vec![7; request.size];
        let result = write(&mut writer, &piece, request.total).await;
        (writer, result)
    });
    let reading = tokio::spawn(async move {
        let mut buffer = vec![0; request.size];
        let result = read(&mut reader, &mut buffer, request.total).await;
        (reader, result)
    });
    // dropping a half may close its direction, so both stay until the end
    let (written, read) = (writing.await?, reading.await?);
    written.1.and(read.1)
}

/// The connections of a client, between two phases.
pub(crate) struct Connections<S> {
    streams: Vec<S>,
    request: Request,
}

impl<S: Stream> Connections<S> {
    pub(crate) async fn open(wire: impl Wire<Client = S>, work: Work, port: u16) -> Result<Self> {
        let mut streams = Vec::new();
        for _ in 0..work.count {
            streams.push(wire.connect(Socket::connect(port).await?).await?);
        }
        let request = Request::of(work);
        Ok(Self { streams, request })
    }
}

impl<S: Stream> Client for Connections<S> {
    async fn work(&mut self, end: Instant) -> Result<u64> {
        let request = self.request;
        let start = |stream| tokio::spawn(request_until(stream, request, end));
        let tasks: Vec<_> = self.streams.drain(..).map(start).collect();
        let mut done = 0;
        for task in tasks {
            let (stream, bytes) = task.await??;
            self.streams.push(stream);
            done += bytes;
        }
        Ok(done)
    }
}

/// Sends requests until the time is over. Returns the stream, and the bytes that it moved.
async fn request_until<S: Stream>(
    mut stream: S,
    request: Request,
    end: Instant,
) -> Result<(S, u64)> {
    let (mut buffer, mut done) = (vec![7; request.size], 0);
    while done == 0 || Instant::now() < end {
        request.send(&mut stream).await?;
        match request.kind {
            UPLOAD => {
                write(&mut stream, &buffer, request.total).await?;
                read(&mut stream, &mut [0], 1).await?;
            }
            ECHO => {
                for _ in 0..request.total / request.size {
                    stream.write_all(&buffer).await?;
                    stream.flush().await?;
                    stream.read_exact(&mut buffer).await?;
                }
            }
            _ => read(&mut stream, &mut buffer, request.total).await?,
        }
        done += request.total as u64;
    }
    Ok((stream, done))
}

/// A client that moves data in both directions at once, over a new connection in each phase.
pub(crate) struct Duplex<W> {
    pub(crate) wire: W,
    pub(crate) work: Work,
    pub(crate) port: u16,
}

impl<W: Wire> Client for Duplex<W> {
    async fn work(&mut self, _: Instant) -> Result<u64> {
        let request = Request::of(self.work);
        let socket = Socket::connect(self.port).await?;
        let mut stream = self.wire.connect(socket).await?;
        request.send(&mut stream).await?;
        both_ways(stream, request).await?;
        Ok(2 * request.total as u64)
    }
}
