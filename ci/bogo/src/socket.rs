//! The socket to the runner, with the behaviour that the options ask for.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, TcpStream};
use std::time::Duration;

use crate::failure::Failure;
use crate::options::Options;

/// The time limit for the peer, longer than the runner's own limit.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to the runner.
pub(crate) struct Socket {
    stream: TcpStream,
    /// True to transfer one byte at a time, and to block on every other call.
    byte_by_byte: bool,
    blocked: bool,
}

impl Socket {
    /// Connects and sends the ID of this shim: 8 bytes, little endian.
    pub(crate) fn connect(options: &Options) -> Result<Self, Failure> {
        let port = options
            .port
            .ok_or_else(|| Failure::Usage("-port is missing".into()))?;
        let address: IpAddr = match options.ipv6 {
            true => Ipv6Addr::LOCALHOST.into(),
            false => Ipv4Addr::LOCALHOST.into(),
        };
        let mut stream = TcpStream::connect((address, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(&options.shim_id.unwrap_or_default().to_le_bytes())?;
        Ok(Self {
            stream,
            byte_by_byte: options.byte_by_byte,
            blocked: false,
        })
    }

    /// Ends the sending direction and waits for the peer to end, too: closing a socket with unread
    /// bytes would reset the connection, and the peer might lose our alert.
    pub(crate) fn finish(mut self) {
        if self.stream.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let mut rest = [0; 4096];
        while matches!(self.stream.read(&mut rest), Ok(1..)) {}
    }

    /// True if this call must block.
    fn blocks(&mut self) -> bool {
        self.blocked = self.byte_by_byte && !self.blocked;
        self.blocked
    }

    fn at_once(&self, length: usize) -> usize {
        if self.byte_by_byte {
            length.min(1)
        } else {
            length
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.blocks() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let length = self.at_once(buf.len());
        self.stream.read(&mut buf[..length])
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.blocks() {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.stream.write(&buf[..self.at_once(buf.len())])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
