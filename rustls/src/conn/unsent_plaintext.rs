//! Application data that was written before it can be sent, write by write: each becomes records of its own, as if it
//! had been written later.

use alloc::vec::Vec;

#[cfg(feature = "std")]
use crate::crypto::cipher::OutboundChunks;
#[cfg(feature = "std")]
use crate::record::buffer::OutOfMemory;

#[derive(Default)]
pub(crate) struct UnsentPlaintext {
    /// Each in memory of its own, which is as long as the write and can be given back with it.
    writes: Vec<Vec<u8>>,
    len: usize,
}

impl UnsentPlaintext {
    /// The number of bytes of all writes.
    #[cfg(feature = "std")]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends one write. An empty one is none.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`]; nothing has changed then.
    #[cfg(feature = "std")]
    pub(crate) fn append(&mut self, payload: &OutboundChunks<'_>) -> Result<(), OutOfMemory> {
        if payload.is_empty() {
            return Ok(());
        }
        let mut write = Vec::new();
        write
            .try_reserve_exact(payload.len())
            .map_err(|_| OutOfMemory)?;
        self.writes.try_reserve(1).map_err(|_| OutOfMemory)?;
        payload.copy_to_vec(&mut write);
        self.len += write.len();
        self.writes.push(write);
        Ok(())
    }

    /// Returns all writes, first to last.
    #[cfg(feature = "std")]
    pub(crate) fn into_writes(self) -> impl Iterator<Item = Vec<u8>> {
        self.writes.into_iter()
    }
}
