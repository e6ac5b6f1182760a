//! What the two unbuffered examples have in common: the buffer for what is received.

pub(crate) mod heap;

use std::io::{self, Read};

/// What to do next, once the connection's state no longer borrows the buffers.
pub(crate) enum Next {
    /// Process what was received, again.
    Process,
    /// Receive more.
    Receive,
}

/// How long a record on the wire can get: header, 2^14 bytes of plaintext, and what protection adds
/// (RFC 9846 §5.2).
const RECORD_LEN: usize = 5 + (1 << 14) + 256;

/// The buffer for what is received. The connection opens records in it.
///
/// ```text
///   0         start                    end           bytes.len()
///   │ done    │ received, to process   │ room        │
/// ```
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Incoming {
    /// Room for a few records, so that one call of `read` can bring more than one.
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; 4 * RECORD_LEN],
            start: 0,
            end: 0,
        }
    }

    /// What was received and is to be processed, for `process_tls_records`.
    pub(crate) fn unprocessed(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    /// Drops what was processed, as `UnbufferedStatus::discard` asks for.
    pub(crate) fn discard(&mut self, len: usize) {
        self.start += len;
        if self.start == self.end {
            self.clear();
        }
    }

    /// Drops everything, for the next connection.
    pub(crate) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Receives more; returns how much, zero at the end of the stream.
    pub(crate) fn receive(&mut self, sock: &mut impl Read) -> io::Result<usize> {
        if self.bytes.len() - self.start < RECORD_LEN {
            // the record that is being received may not fit behind `start`
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let len = sock.read(&mut self.bytes[self.end..])?;
        self.end += len;
        Ok(len)
    }
}
