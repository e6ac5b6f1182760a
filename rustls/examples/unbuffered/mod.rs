//! The buffers that the unbuffered examples share.

use std::error::Error;
use std::io::{self, Read, Write};

use rustls::unbuffered::ConnectionState;

/// The longest TLS 1.3 record on the wire: header, 2^14 bytes of plaintext and the overhead of
/// encryption (RFC 9846 §5.2). The TLS 1.2 suites of rustls have less overhead.
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
            (self.start, self.end) = (0, 0);
        }
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

/// The send buffer, and the output of the connection in it.
pub(crate) struct Outgoing {
    pub(crate) bytes: Vec<u8>,
    len: usize,
    failure: Option<rustls::Error>,
}

impl Outgoing {
    /// Creates a buffer of this length, which grows if a flight is longer.
    pub(crate) fn new(len: usize) -> Self {
        Self {
            bytes: vec![0; len],
            len: 0,
            failure: None,
        }
    }

    /// Handles the states in which the connection has output, and returns the others.
    ///
    /// The first error of the connection is stored, so that the next states return the alert for
    /// the peer. After the alert, the error is returned.
    pub(crate) fn handle<'c, 'i, Data>(
        &mut self,
        state: Result<ConnectionState<'c, 'i, Data>, rustls::Error>,
        sock: &mut impl Write,
    ) -> Result<Option<ConnectionState<'c, 'i, Data>>, Box<dyn Error>> {
        match state {
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                self.len += data.encode_to_vec(&mut self.bytes, self.len)?;
            }
            Ok(ConnectionState::TransmitTlsData(data)) => {
                sock.write_all(&self.bytes[..self.len])?;
                self.len = 0;
                data.done();
            }
            Ok(state) => return Ok(Some(state)),
            Err(error) if self.failure.is_none() => self.failure = Some(error),
            Err(error) => return Err(self.failure.take().unwrap_or(error).into()),
        }
        Ok(None)
    }
}
