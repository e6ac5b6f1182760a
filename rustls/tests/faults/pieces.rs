//! What an application writes, piece by piece, so that what is lost, comes twice or in another
//! order shows.

/// The pieces written so far, and what went wrong meanwhile.
#[derive(Default)]
pub(crate) struct Pieces {
    next: u8,
    /// With whether it was written for certain.
    written: Vec<(Vec<u8>, bool)>,
    pub(crate) log: Vec<String>,
}

/// Like no other, and no part of another.
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

    /// The call panicked: before or after it has taken the piece.
    pub(crate) fn perhaps_written(&mut self, piece: &[u8]) {
        self.written.push((piece.to_vec(), false));
    }

    /// All of it has arrived, once, in order.
    pub(crate) fn check(&self, mut received: &[u8]) {
        for (piece, is_certain) in &self.written {
            match received.strip_prefix(&piece[..]) {
                Some(rest) => received = rest,
                None => assert!(
                    !is_certain,
                    "{received:?} instead of {piece:?}: {:?}",
                    self.log
                ),
            }
        }
        assert!(
            received.is_empty(),
            "too much has arrived: {received:?}, {:?}",
            self.log
        );
    }
}
