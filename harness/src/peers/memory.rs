//! A transport over memory.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};

/// Bytes to read, and bytes that were written.
#[derive(Debug)]
pub struct Memory {
    pub incoming: VecDeque<u8>,
    /// True if the stream ends after `incoming`; otherwise, a read blocks after `incoming`.
    pub ends: bool,
    /// The number of reads.
    pub reads: usize,
    pub outgoing: Vec<u8>,
    /// False if writes block.
    pub takes: bool,
}

impl Memory {
    /// Creates a transport that accepts all writes, and blocks once `incoming` has been read.
    pub fn new(incoming: &[u8]) -> Self {
        Self {
            incoming: incoming.to_vec().into(),
            ends: false,
            reads: 0,
            outgoing: Vec::new(),
            takes: true,
        }
    }

    /// Like [`Self::new`], but the stream ends after `incoming`.
    pub fn ending(incoming: &[u8]) -> Self {
        Self {
            ends: true,
            ..Self::new(incoming)
        }
    }
}

impl Read for Memory {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        assert!(self.reads < 1000, "endless loop");
        if self.incoming.is_empty() && !self.ends {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.incoming.read(buf)
    }
}

impl Write for Memory {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if !self.takes {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.outgoing.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
