//! A connection to Redis on which every command has a deadline.
//!
//! The timeout of `redis::Connection` applies to each read: a server that sends byte after byte
//! would hold up a handshake for longer. So this connection uses only the crate's encoder and
//! parser.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use redis::{Cmd, Parser, RedisResult, Value};

/// The longest answer that is read, in bytes.
const MAX_ANSWER: u64 = 1 << 20;

/// A connection to Redis. Drop it after an error: the rest of an answer may still arrive.
pub(crate) struct Connection {
    stream: TcpStream,
    parser: Parser,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr, deadline: Instant) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, left(deadline)?)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            parser: Parser::new(),
        })
    }

    /// Sends a command and reads the answer, all before `deadline`.
    pub(crate) fn ask(&mut self, command: &Cmd, deadline: Instant) -> RedisResult<Value> {
        let mut stream = Timed {
            stream: &self.stream,
            deadline,
        };
        stream.write_all(&command.get_packed_command())?;
        let answer = self.parser.parse_value(stream.take(MAX_ANSWER))?;
        answer.extract_error()
    }
}

/// A stream whose reads and writes fail after `deadline`.
struct Timed<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl Read for Timed<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.deadline)?))?;
        self.stream.read(out)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.deadline)?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the time until `deadline`, never zero, which means "no limit" to a socket.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(left)
}
