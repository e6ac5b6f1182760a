//! Loopback TCP sockets that count their system calls; CPU time of threads and memory of the
//! process.

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
    /// Both ends of a new connection.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = loopback()?;
        Ok((Self::new(one), Self::new(other)))
    }

    fn new(stream: TcpStream) -> Self {
        Self { stream, calls: 0 }
    }

    /// Returns the number of system calls since the last call of this function.
    pub(crate) fn take_calls(&mut self) -> u64 {
        core::mem::take(&mut self.calls)
    }

    /// Closes the connection, so that the other end stops waiting.
    pub(crate) fn shut_down(&self) {
        // the result does not matter: the connection is finished
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

/// The timeout of reads and writes, after which they fail.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// Returns both ends of a new connection without Nagle's delay.
pub(crate) fn loopback() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let one = TcpStream::connect(listener.local_addr()?)?;
    let (other, from) = listener.accept()?;
    if from != one.local_addr()? {
        return Err(io::Error::other(format!("{from} connected in between")));
    }
    for stream in [&one, &other] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
    }
    Ok((one, other))
}

/// Raises this process's soft limit on open files to `needed`, if the hard limit allows it.
#[cfg(unix)]
pub(crate) fn allow_files(needed: usize) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let needed = needed as u64;
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|maximum| maximum < needed) {
        let most = limit.maximum.unwrap_or_default();
        return Err(io::Error::other(format!(
            "this needs {needed} open files, but the limit is {most}: use fewer connections, or raise `ulimit -Hn`"
        )));
    }
    let raised = Rlimit {
        current: Some(needed),
        ..limit
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

/// No limit is known on this platform.
#[cfg(not(unix))]
pub(crate) fn allow_files(_: usize) -> io::Result<()> {
    Ok(())
}

/// The resident memory of this process, on systems with Linux's `/proc`.
pub(crate) fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// The CPU time of the calling thread, user and system.
#[cfg(unix)]
pub(crate) fn thread_cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Not available on this platform.
#[cfg(not(unix))]
pub(crate) fn thread_cpu_time() -> Duration {
    Duration::ZERO
}
