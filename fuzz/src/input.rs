//! An input as a program: a sequence of numbers, followed by zeros.

/// The rest of an input.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl Input<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> u8 {
        match self.0 {
            [first, rest @ ..] => {
                self.0 = rest;
                *first
            }
            [] => 0,
        }
    }

    /// Reads a length: usually a short one, sometimes that of several records.
    pub(super) fn len(&mut self) -> usize {
        let (high, low) = (usize::from(self.byte()), usize::from(self.byte()));
        match high {
            0..0xc0 => low,
            0xc0..0xfc => (high & 0x3f) << 8 | low,
            // near the longest fragment, or twice that
            _ => (1 << 14 << (high & 1)) + low - 0x80,
        }
    }

    /// Reads a length from the first byte, then as many bytes, if available.
    pub(super) fn bytes(&mut self) -> Vec<u8> {
        let len = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes.to_vec()
    }

    /// Reads a two-byte number, reduced below `end`.
    pub(super) fn position(&mut self, end: usize) -> usize {
        usize::from(u16::from_be_bytes([self.byte(), self.byte()])) % end
    }
}
