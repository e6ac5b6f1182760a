//! An input as a program: a sequence of numbers, followed by zeros.

/// The rest of an input.
pub(super) struct Input<'a> {
    pub(super) rest: &'a [u8],
    /// The steps begun so far.
    pub(super) steps: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self { rest, steps: 0 }
    }

    /// Begins a step, the last of at most `most`; returns false once the input ends.
    pub(super) fn begins_step(&mut self, most: usize) -> bool {
        self.steps += 1;
        !self.rest.is_empty() && self.steps <= most
    }

    pub(super) fn byte(&mut self) -> u8 {
        match self.rest {
            [first, rest @ ..] => {
                self.rest = rest;
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
        let len = usize::from(self.byte()).min(self.rest.len());
        let (bytes, rest) = self.rest.split_at(len);
        self.rest = rest;
        bytes.to_vec()
    }

    /// Reads a two-byte number, reduced below `end`.
    pub(super) fn position(&mut self, end: usize) -> usize {
        usize::from(u16::from_be_bytes([self.byte(), self.byte()])) % end
    }
}
