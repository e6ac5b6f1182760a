//! Application data that was written before it can be sent, write by write: each becomes records of its own, as if it
//! had been written later.

use alloc::boxed::Box;
use alloc::vec::Vec;

#[cfg(feature = "std")]
use crate::crypto::cipher::OutboundChunks;
#[cfg(feature = "std")]
use crate::record::buffer::OutOfMemory;

/// Few connections have any, and none for long.
#[derive(Default)]
pub(crate) struct UnsentPlaintext(Option<Box<Writes>>);

#[derive(Default)]
#[cfg_attr(not(feature = "std"), allow(dead_code))] // only buffered connections are written to before that
struct Writes {
    /// Each in memory of its own, which is as long as the write and is given back with it.
    writes: Vec<Vec<u8>>,
    len: usize,
}

impl UnsentPlaintext {
    /// The number of bytes of all writes.
    #[cfg(feature = "std")]
    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |unsent| unsent.len)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
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
        payload.copy_to_vec(&mut write);
        let unsent = self.0.get_or_insert_default();
        unsent.writes.try_reserve(1).map_err(|_| OutOfMemory)?;
        unsent.len += write.len();
        unsent.writes.push(write);
        Ok(())
    }

    /// Returns all writes, first to last.
    #[cfg(feature = "std")]
    pub(crate) fn into_writes(self) -> impl Iterator<Item = Vec<u8>> {
        let writes = self.0.map(|unsent| unsent.writes);
        writes.unwrap_or_default().into_iter()
    }
}
