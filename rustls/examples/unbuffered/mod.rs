//! The receive buffer that the unbuffered examples share.

pub(crate) mod heap;

use std::io::{self, Read};

/// The next step, taken once the connection's state no longer borrows the buffers.
pub(crate) enum Next {
    /// Process the received bytes again.
    Process,
    /// Receive more.
    Receive,
}

/// The longest record on the wire: header, 2^14 bytes of plaintext and the protection's overhead
/// (RFC 9846 §5.2).
const RECORD_LEN: usize = 5 + (1 << 14) + 256;

/// The receive buffer. The connection decrypts records in it.
///
/// ```text
///   0         start                    end           bytes.len()
///   │ done    │ unprocessed            │ free        │
/// ```
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Incoming {
    /// Creates a buffer for four records, so that one `read` can return several.
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; 4 * RECORD_LEN],
            start: 0,
            end: 0,
        }
    }

    /// Returns the unprocessed bytes, for `process_tls_records`.
    pub(crate) fn unprocessed(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    /// Drops processed bytes: `len` is `UnbufferedStatus::discard`.
    pub(crate) fn discard(&mut self, len: usize) {
        self.start += len;
        if self.start == self.end {
            self.clear();
        }
    }

    /// Empties the buffer for the next connection.
    pub(crate) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Receives more bytes. Returns their number, 0 at the end of the stream.
    pub(crate) fn receive(&mut self, sock: &mut impl Read) -> io::Result<usize> {
        if self.bytes.len() - self.start < RECORD_LEN {
            // The rest of a partial record may not fit after `start`.
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let len = sock.read(&mut self.bytes[self.end..])?;
        self.end += len;
        Ok(len)
    }
}
