//! HTTP with hyper. A request names the length of the body that it wants.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

use crate::socket::Socket;
use crate::wire::Wire;
use crate::work::{Kind, Work};
use crate::{Client, Result};

/// A frame of a body, as long as those of files in usual servers.
static FRAME: [u8; 64 << 10] = [7; 64 << 10];

/// A body of which so many bytes are left.
struct Frames(usize);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Infallible>>> {
        let len = self.0.min(FRAME.len());
        self.0 -= len;
        Poll::Ready((len > 0).then(|| Ok(Frame::data(Bytes::from_static(&FRAME[..len])))))
    }

    fn is_end_stream(&self) -> bool {
        self.0 == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0 as u64)
    }
}

pub(crate) async fn serve<W: Wire>(listener: &TcpListener, wire: W, kind: Kind) -> Result<()> {
    loop {
        let (socket, wire) = (Socket::accept(listener).await?, wire.clone());
        tokio::spawn(async move {
            if let Err(error) = answer_all(socket, wire, kind).await {
                eprintln!("server: {error}");
            }
        });
    }
}

async fn answer_all<W: Wire>(socket: Socket, wire: W, kind: Kind) -> Result<()> {
    let io = TokioIo::new(wire.accept(socket).await?);
    let service = service_fn(async |request: Request<Incoming>| {
        let len = request.uri().path().trim_start_matches('/').parse()?;
        Ok::<_, std::num::ParseIntError>(Response::new(Frames(len)))
    });
    if kind == Kind::Http1 {
        let server = hyper::server::conn::http1::Builder::new();
        server.serve_connection(io, service).await?;
    } else {
        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        server.serve_connection(io, service).await?;
    }
    Ok(())
}

/// The connections of a client with HTTP/1.1, or the requests at once of one with HTTP/2.
pub(crate) struct Connections {
    senders: Vec<Sender>,
    size: usize,
}

enum Sender {
    Http1(http1::SendRequest<Empty<Bytes>>),
    Http2(http2::SendRequest<Empty<Bytes>>),
}

impl Connections {
    pub(crate) async fn http1(wire: impl Wire, work: Work, port: u16) -> Result<Self> {
        let mut senders = Vec::new();
        for _ in 0..work.count {
            let stream = wire.connect(Socket::connect(port).await?).await?;
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            senders.push(Sender::Http1(sender));
        }
        let size = work.size;
        Ok(Self { senders, size })
    }

    pub(crate) async fn http2(wire: impl Wire, work: Work, port: u16) -> Result<Self> {
        let stream = TokioIo::new(wire.connect(Socket::connect(port).await?).await?);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
        tokio::spawn(connection);
        let senders = vec![sender; work.count].into_iter().map(Sender::Http2);
        let (senders, size) = (senders.collect(), work.size);
        Ok(Self { senders, size })
    }
}

impl Client for Connections {
    async fn work(&mut self, end: Instant) -> Result<u64> {
        let size = self.size;
        let start = |sender| tokio::spawn(request_until(sender, size, end));
        let tasks: Vec<_> = self.senders.drain(..).map(start).collect();
        let mut done = 0;
        for task in tasks {
            let (sender, responses) = task.await??;
            self.senders.push(sender);
            done += responses;
        }
        Ok(done)
    }
}

/// Sends requests, one after the other, until the time is over. Returns how many.
async fn request_until(mut sender: Sender, size: usize, end: Instant) -> Result<(Sender, u64)> {
    let origin = match &sender {
        Sender::Http1(_) => "",
        Sender::Http2(_) => "https://localhost",
    };
    let uri = format!("{origin}/{size}");
    let mut done = 0;
    while done == 0 || Instant::now() < end {
        let request = Request::get(&uri).header("host", "localhost");
        let request = request.body(Empty::new())?;
        let response = match &mut sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Sender::Http2(sender) => sender.send_request(request).await?,
        };
        let mut body = response.into_body();
        let mut len = 0;
        while let Some(frame) = body.frame().await {
            len += frame?.data_ref().map_or(0, Bytes::len);
        }
        if len != size {
            return Err(format!("a body has {len} bytes instead of {size}").into());
        }
        done += 1;
    }
    Ok((sender, done))
}
