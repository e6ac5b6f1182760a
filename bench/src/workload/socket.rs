//! Transfers over loopback TCP, whose sockets count their system calls.

use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;

use harness::peers::os::loopback;

/// The bytes that the receiver asks for at a time.
pub(crate) const READ_SIZE: usize = 65536;

/// One end of a TCP connection.
pub(crate) struct Socket {
    stream: TcpStream,
    /// Calls of `read`, `write` and `writev` so far.
    calls: u64,
}

impl Socket {
    /// Both ends of a new connection.
    pub(crate) fn pair() -> io::Result<[Self; 2]> {
        let (one, other) = loopback()?;
        Ok([one, other].map(|stream| Self { stream, calls: 0 }))
    }

    /// Returns the number of system calls since the last call of this function.
    pub(crate) fn take_calls(&mut self) -> u64 {
        core::mem::take(&mut self.calls)
    }

    fn counted(&mut self) -> &mut TcpStream {
        self.calls += 1;
        &mut self.stream
    }
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.counted().read(buf)
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.counted().write(buf)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.counted().write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
