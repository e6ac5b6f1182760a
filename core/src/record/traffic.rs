//! The amount of data in one direction of a connection.

/// The records and bytes in one direction of a connection: those sent or queued, or those received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// The number of records, 0 over QUIC.
    pub records: u64,
    /// The number of bytes on the wire, with headers and tags; over QUIC, those in CRYPTO frames.
    pub bytes: u64,
}

impl Traffic {
    /// Returns the traffic of `records` records, together `len` bytes long.
    #[doc(hidden)]
    pub fn of(records: u64, len: usize) -> Self {
        Self {
            records,
            bytes: len as u64,
        }
    }

    /// Returns the sum of `self` and `other`.
    #[doc(hidden)]
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            records: self.records.saturating_add(other.records),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Adds `records` records, together `len` bytes long.
    #[doc(hidden)]
    pub fn add(&mut self, records: u64, len: usize) {
        // no connection lives long enough to reach 2^64
        self.records = self.records.wrapping_add(records);
        self.bytes = self.bytes.wrapping_add(len as u64);
    }
}
