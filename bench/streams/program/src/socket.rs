//! A TCP socket that counts the system calls of its reads and writes.

use std::io::{self, IoSlice};
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use rustix::net::sockopt::set_tcp_congestion;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::usage::{READS, WRITES};
use crate::wire::Transport;

pub(crate) type Socket = Counted<TcpStream>;

/// A transport whose system calls are counted. tokio waits for the kernel before a call if the last
/// one moved less than asked for, and `Pending` then means that there was no call.
pub(crate) struct Counted<IO> {
    io: IO,
    /// True if the last call moved all that it could.
    is_read_fully: bool,
    is_written_fully: bool,
}

impl<IO> Counted<IO> {
    fn new(io: IO) -> Self {
        Self {
            io,
            is_read_fully: false,
            is_written_fully: true,
        }
    }
}

impl Socket {
    pub(crate) async fn connect(port: u16) -> io::Result<Self> {
        Self::over(tcp()?.connect((Ipv4Addr::LOCALHOST, port).into()).await?)
    }

    pub(crate) async fn accept(listener: &TcpListener) -> io::Result<Self> {
        Self::over(listener.accept().await?.0)
    }

    fn over(tcp: TcpStream) -> io::Result<Self> {
        tcp.set_nodelay(true)?;
        Ok(Self::new(tcp))
    }
}

impl Transport for Socket {
    type Reader = Counted<OwnedReadHalf>;
    type Writer = Counted<OwnedWriteHalf>;

    fn halves(self) -> (Self::Reader, Self::Writer) {
        let (reader, writer) = self.io.into_split();
        (Counted::new(reader), Counted::new(writer))
    }
}

/// Listens on any port.
pub(crate) fn listen() -> io::Result<TcpListener> {
    let socket = tcp()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    socket.listen(1024)
}

/// Returns a socket with Linux's default congestion control, whatever the system has. BBR uses
/// timers, which take much of the time over loopback. A socket that has begun with it keeps them.
fn tcp() -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    set_tcp_congestion(&socket, "cubic")?;
    Ok(socket)
}

/// Counts a call, unless it only waited.
fn count<T>(
    calls: &AtomicU64,
    is_complete: &mut bool,
    result: &Poll<io::Result<T>>,
    completes: impl FnOnce(&T) -> bool,
) {
    if result.is_ready() || *is_complete {
        calls.fetch_add(1, Ordering::Relaxed);
    }
    *is_complete = matches!(result, Poll::Ready(Ok(moved)) if completes(moved));
}

impl<IO: AsyncRead + Unpin> AsyncRead for Counted<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.io).poll_read(task, buf);
        let is_full = buf.remaining() == 0;
        count(&READS, &mut self.is_read_fully, &result, |()| is_full);
        result
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Counted<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write(task, buf);
        let is_all = |written: &usize| *written == buf.len();
        count(&WRITES, &mut self.is_written_fully, &result, is_all);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write_vectored(task, bufs);
        let is_all = |written: &usize| *written == bufs.iter().map(|buf| buf.len()).sum::<usize>();
        count(&WRITES, &mut self.is_written_fully, &result, is_all);
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(task)
    }
}
