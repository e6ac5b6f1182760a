//! Where something lies within DER.

use x509_cert::der::Length;

/// A range of bytes, short enough to keep many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// Nothing.
    pub(super) const EMPTY: Self = Self { start: 0, end: 0 };

    /// Positions as a reader tells them.
    pub(super) fn new(start: Length, end: Length) -> Self {
        Self {
            start: start.into(),
            end: end.into(),
        }
    }

    /// The bytes, of the DER that the reader read.
    pub(super) fn of(self, der: &[u8]) -> &[u8] {
        // a reader is never beyond the end of what it reads
        der.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}
