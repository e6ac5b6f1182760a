//! Application data that was written before it could be sent. Each write gets its own records, as
//! if it had been made once sending was possible.

use alloc::boxed::Box;
use alloc::vec::Vec;

#[cfg(feature = "std")]
use rustls_core::crypto::cipher::OutboundChunks;

#[cfg(feature = "std")]
use crate::record::buffer::OutOfMemory;

/// The buffered writes. Boxed because few connections have any, and only briefly.
#[derive(Default)]
pub(crate) struct UnsentPlaintext(Option<Box<Writes>>);

#[derive(Default)]
#[cfg_attr(not(feature = "std"), allow(dead_code))] // only buffered connections accept writes without keys
struct Writes {
    /// The writes, each in its own allocation of exact length, which is freed once it is sealed.
    writes: Vec<Vec<u8>>,
    len: usize,
}

impl UnsentPlaintext {
    /// Returns the number of bytes in all writes.
    #[cfg(feature = "std")]
    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |unsent| unsent.len)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Appends one write. Ignores an empty one.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfMemory`] if memory cannot be allocated, and appends nothing.
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
        if unsent.writes.try_reserve(1).is_err() {
            // `is_empty` looks at the box only
            if unsent.writes.is_empty() {
                self.0 = None;
            }
            return Err(OutOfMemory);
        }
        unsent.len += write.len();
        unsent.writes.push(write);
        Ok(())
    }

    /// Returns all writes in order.
    #[cfg(feature = "std")]
    pub(crate) fn into_writes(self) -> impl Iterator<Item = Vec<u8>> {
        let writes = self.0.map(|unsent| unsent.writes);
        writes.unwrap_or_default().into_iter()
    }
}
