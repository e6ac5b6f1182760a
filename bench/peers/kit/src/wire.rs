//! The bytes between two sides. Buffers are reused, so that their growth is not measured.

use std::cell::RefCell;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::mem;

/// One side's end of a pipe in memory. Reading returns `WouldBlock` if nothing has arrived.
pub struct Wire {
    incoming: Vec<u8>,
    /// The number of bytes of `incoming` that have been read.
    read: usize,
    outgoing: Vec<u8>,
}

thread_local! {
    static UNUSED: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

impl Wire {
    pub fn new() -> Self {
        let buffer = || UNUSED.with_borrow_mut(|unused| unused.pop().unwrap_or_default());
        Self {
            incoming: buffer(),
            read: 0,
            outgoing: buffer(),
        }
    }

    /// The bytes to be sent, for libraries that append to a `Vec`.
    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    /// True if all bytes that arrived have been read.
    pub fn is_empty(&self) -> bool {
        self.read == self.incoming.len()
    }

    /// The number of bytes that wait for [`Self::deliver`].
    pub(crate) fn pending(&self) -> usize {
        self.outgoing.len()
    }

    /// Delivers what this side has sent to `peer`, which must have read everything before. Copies
    /// nothing.
    pub(crate) fn deliver(&mut self, peer: &mut Self) -> crate::Result<()> {
        if !peer.is_empty() {
            return Err(format!("{} bytes were not read", peer.incoming.len() - peer.read).into());
        }
        peer.incoming.clear();
        peer.read = 0;
        mem::swap(&mut self.outgoing, &mut peer.incoming);
        Ok(())
    }

    /// Frees the memory of both directions.
    pub(crate) fn free(&mut self) {
        (self.incoming, self.outgoing, self.read) = (Vec::new(), Vec::new(), 0);
    }
}

impl Default for Wire {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for buffer in [&mut self.incoming, &mut self.outgoing] {
            let mut buffer = mem::take(buffer);
            if buffer.capacity() > 0 {
                buffer.clear();
                UNUSED.with_borrow_mut(|unused| unused.push(buffer));
            }
        }
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut unread = &self.incoming[self.read..];
        if unread.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let read = unread.read(buffer)?;
        self.read += read;
        Ok(read)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.outgoing.write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
