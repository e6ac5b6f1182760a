//! The head of an HTTP message, which both sides collect from the pieces in which it arrives.

/// The longest head that is accepted, in bytes.
pub(crate) const HEAD_LIMIT: usize = 16 * 1024;

/// A head being received.
pub(crate) struct Head {
    /// Allocated at its full length, so that receiving allocates nothing.
    pub(crate) bytes: Vec<u8>,
}

impl Head {
    pub(crate) fn new() -> Self {
        let bytes = Vec::with_capacity(HEAD_LIMIT);
        Self { bytes }
    }

    /// Collects the next piece. Returns its bytes after the head.
    pub(crate) fn receive<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let mut rest = piece.iter();
        while !self.is_over()
            && let Some(byte) = rest.next()
        {
            self.bytes.push(*byte);
        }
        rest.as_slice()
    }

    /// Returns true if the head is complete, or is too long.
    pub(crate) fn is_over(&self) -> bool {
        self.is_complete() || self.bytes.len() == HEAD_LIMIT
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.bytes.ends_with(b"\r\n\r\n")
    }
}
