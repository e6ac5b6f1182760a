//! The amount of data in one direction of a connection.

/// The records and bytes that a connection has sent or received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// The number of records, 0 over QUIC.
    pub records: u64,
    /// The number of bytes on the wire, with headers and tags; over QUIC, those in CRYPTO frames.
    pub bytes: u64,
}

impl Traffic {
    /// Adds `records` records, together `len` bytes long.
    #[doc(hidden)]
    pub fn add(&mut self, records: u64, len: usize) {
        self.records = self.records.saturating_add(records);
        self.bytes = self.bytes.saturating_add(len as u64);
    }
}
