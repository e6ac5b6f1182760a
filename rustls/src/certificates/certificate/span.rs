//! Ranges of bytes in DER.

use x509_cert::der::Length;

/// A range of bytes, in half the size of a `Range<usize>` on 64-bit platforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The empty range.
    pub(super) const EMPTY: Self = Self { start: 0, end: 0 };

    /// Creates a range from the positions of a reader.
    pub(super) fn new(start: Length, end: Length) -> Self {
        Self {
            start: start.into(),
            end: end.into(),
        }
    }

    /// Returns the bytes of the range in `der`, the input of the reader.
    pub(super) fn of(self, der: &[u8]) -> &[u8] {
        // the positions of a reader are within its input
        der.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}
