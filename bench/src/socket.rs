//! Loopback TCP sockets that count the system calls made on them, and the processor time of a thread.

use core::time::Duration;
use std::io::{self, IoSlice, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};

/// One end of a TCP connection.
pub(crate) struct Socket {
    stream: TcpStream,
    /// Calls of `read`, `write` and `writev` so far.
    calls: u64,
}

impl Socket {
    /// A peer that neither reads nor writes for so long does so no more: the call fails.
    const TIMEOUT: Duration = Duration::from_secs(10);

    /// Both ends of a new connection.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let one = TcpStream::connect(listener.local_addr()?)?;
        let (other, from) = listener.accept()?;
        if from != one.local_addr()? {
            return Err(io::Error::other(format!("{from} connected in between")));
        }
        Ok((Self::new(one)?, Self::new(other)?))
    }

    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Self::TIMEOUT))?;
        stream.set_write_timeout(Some(Self::TIMEOUT))?;
        Ok(Self { stream, calls: 0 })
    }

    /// How many system calls were made since the last call of this.
    pub(crate) fn take_calls(&mut self) -> u64 {
        core::mem::take(&mut self.calls)
    }

    /// Ends the connection: nobody waits for the other end any more.
    pub(crate) fn shut_down(&self) {
        // it is over in any case
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        self.stream.read(buf)
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        self.stream.write(buf)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.calls += 1;
        self.stream.write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// How long the calling thread has run on a processor, in itself and in the kernel.
#[cfg(unix)]
pub(crate) fn thread_cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Nothing tells here.
#[cfg(not(unix))]
pub(crate) fn thread_cpu_time() -> Duration {
    Duration::ZERO
}
