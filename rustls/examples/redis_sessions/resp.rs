//! As much of Redis' protocol (RESP 2) as it takes to send a command and read a short answer in limited time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

/// Longest answer to be read, in bytes.
const MAX_ANSWER: usize = 1 << 20;

/// A connection to Redis. After an error it must not be used again: the rest of an answer may come yet.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    /// What has been received behind the last answer.
    received: Vec<u8>,
}

/// What Redis answers.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    /// `+OK`
    Done,
    /// `:1`
    Number(i64),
    /// A string of bytes.
    Bytes(Vec<u8>),
    /// No such key.
    Nothing,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr, deadline: Instant) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, left(deadline)?)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            received: Vec::new(),
        })
    }

    /// Sends a command and reads the answer, all before `deadline`.
    pub(crate) fn ask(&mut self, command: &[&[u8]], deadline: Instant) -> io::Result<Answer> {
        self.write(&encode(command), deadline)?;
        let line = self.read_line(deadline)?;
        let (kind, rest) = line.split_first().ok_or_else(bad_answer)?;
        match kind {
            b'+' => Ok(Answer::Done),
            b':' => Ok(Answer::Number(parse(rest)?)),
            b'$' if rest == b"-1" => Ok(Answer::Nothing),
            b'$' => {
                let len = usize::try_from(parse(rest)?).map_err(|_| bad_answer())?;
                let mut bytes = self.read_to(len.saturating_add(2), deadline)?;
                if bytes.split_off(len) != b"\r\n" {
                    return Err(bad_answer());
                }
                Ok(Answer::Bytes(bytes))
            }
            b'-' => Err(io::Error::other(String::from_utf8_lossy(rest))),
            _ => Err(bad_answer()),
        }
    }

    fn write(&mut self, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(left(deadline)?))?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A line without its end.
    fn read_line(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        loop {
            if let Some(len) = self.received.windows(2).position(|two| two == b"\r\n") {
                let line = self.received.drain(..len + 2).take(len);
                return Ok(line.collect());
            }
            self.read_more(deadline)?;
        }
    }

    /// The next `len` bytes.
    fn read_to(&mut self, len: usize, deadline: Instant) -> io::Result<Vec<u8>> {
        if len > MAX_ANSWER {
            return Err(bad_answer());
        }
        while self.received.len() < len {
            self.read_more(deadline)?;
        }
        Ok(self.received.drain(..len).collect())
    }

    fn read_more(&mut self, deadline: Instant) -> io::Result<()> {
        if self.received.len() > MAX_ANSWER {
            return Err(bad_answer());
        }
        let mut buffer = [0; 4096];
        // anew each time: a server that sends byte after byte is as slow as one that sends none
        self.stream.set_read_timeout(Some(left(deadline)?))?;
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(len) => {
                self.received.extend_from_slice(&buffer[..len]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The time until `deadline`, which is never zero: to a socket that means forever.
fn left(deadline: Instant) -> io::Result<std::time::Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// An array of strings, each behind its length.
fn encode(command: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", command.len()).into_bytes();
    for argument in command {
        bytes.extend(format!("${}\r\n", argument.len()).as_bytes());
        bytes.extend_from_slice(argument);
        bytes.extend(b"\r\n");
    }
    bytes
}

fn parse(number: &[u8]) -> io::Result<i64> {
    let number = std::str::from_utf8(number).map_err(|_| bad_answer())?;
    number.parse().map_err(|_| bad_answer())
}

fn bad_answer() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "not an answer of Redis")
}
