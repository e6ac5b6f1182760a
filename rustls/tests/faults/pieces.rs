//! Distinct pieces of plaintext, which reveal lost, repeated and reordered data.

/// The pieces written so far.
#[derive(Default)]
pub(crate) struct Pieces {
    next: u8,
    /// Each piece, and whether it was certainly written.
    written: Vec<(Vec<u8>, bool)>,
    pub(crate) log: Vec<String>,
}

/// Creates a piece that differs from all others and is not contained in any.
pub(crate) fn piece(number: u8) -> Vec<u8> {
    vec![number; 5 + usize::from(number % 7)]
}

impl Pieces {
    pub(crate) fn next(&mut self) -> Vec<u8> {
        self.next += 1;
        piece(self.next)
    }

    pub(crate) fn written(&mut self, piece: &[u8]) {
        self.written.push((piece.to_vec(), true));
    }

    /// Records a piece whose write panicked, so that it may or may not have been accepted.
    pub(crate) fn perhaps_written(&mut self, piece: &[u8]) {
        self.written.push((piece.to_vec(), false));
    }

    /// Asserts that everything has arrived once and in order.
    pub(crate) fn check(&self, mut received: &[u8]) {
        let log = &self.log;
        for (piece, is_certain) in &self.written {
            match received.strip_prefix(&piece[..]) {
                Some(rest) => received = rest,
                None => assert!(!is_certain, "{received:?} instead of {piece:?}: {log:?}"),
            }
        }
        assert!(
            received.is_empty(),
            "unexpected data: {received:?}, {log:?}"
        );
    }
}
