//! Application data that was written before it can be sent, write by write: each becomes records of its own, as if it
//! had been written later.

use alloc::vec::Vec;

#[cfg(feature = "std")]
use crate::crypto::cipher::OutboundChunks;

#[derive(Default)]
pub(crate) struct UnsentPlaintext {
    bytes: Vec<u8>,
    /// Where in `bytes` each write ends.
    ends: Vec<usize>,
}

impl UnsentPlaintext {
    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends one write. An empty one is none.
    #[cfg(feature = "std")]
    pub(crate) fn append(&mut self, payload: &OutboundChunks<'_>) {
        if !payload.is_empty() {
            payload.copy_to_vec(&mut self.bytes);
            self.ends.push(self.bytes.len());
        }
    }

    /// Returns all writes, first to last.
    pub(crate) fn writes(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let write = &self.bytes[start..end];
            start = end;
            write
        })
    }
}
