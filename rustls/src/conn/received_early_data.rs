//! The buffer between a client's early data and the application of a buffered server connection.
//!
//! It is separate from the receive buffer, because the handshake continues after early data. The
//! application may read early data late or never, and still reads later data as usual. Early data
//! and later data are never mixed.

use alloc::vec::Vec;

use rustls_core::copy;

#[derive(Default)]
pub(crate) struct ReceivedEarlyData {
    bytes: Vec<u8>,
    /// The number of bytes that have been read.
    read: usize,
}

impl ReceivedEarlyData {
    /// Appends `bytes`. At most `may_follow` more bytes will follow, and no memory is reserved
    /// beyond that.
    pub(super) fn push(&mut self, bytes: &[u8], may_follow: usize) {
        let needed = self.bytes.len() + bytes.len();
        if needed > self.bytes.capacity() {
            copy::remove_front(&mut self.bytes, self.read);
            self.read = 0;
            let needed = self.bytes.len() + bytes.len();
            let wanted = Ord::min(needed.saturating_mul(2), needed.saturating_add(may_follow));
            self.bytes.reserve_exact(wanted - self.bytes.len());
        }
        copy::append(&mut self.bytes, bytes);
    }

    /// Copies bytes to the front of `out` until either runs out. Returns the number of bytes
    /// copied.
    pub(super) fn read(&mut self, out: &mut [u8]) -> usize {
        let unread = &self.bytes[self.read..];
        let len = Ord::min(unread.len(), out.len());
        copy::copy(&unread[..len], &mut out[..len]);
        self.read += len;
        len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.read == self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn memory_never_exceeds_the_limit() {
        for piece in [1, 7, 100, 1000] {
            let limit = 1000;
            let mut waiting = ReceivedEarlyData::default();
            let mut sent = 0;
            while sent < limit {
                let len = Ord::min(piece, limit - sent);
                sent += len;
                waiting.push(&vec![sent as u8; len], limit - sent);
                assert!(waiting.bytes.capacity() <= limit, "{piece}");
            }
            assert_eq!(waiting.bytes.len(), limit);
        }
    }

    #[test]
    fn memory_is_reused_once_its_data_has_been_read() {
        let mut waiting = ReceivedEarlyData::default();
        let mut out = vec![0; 10];
        for round in 0..1000_u32 {
            waiting.push(&round.to_be_bytes(), usize::MAX);
            waiting.push(&[9; 6], usize::MAX);
            assert_eq!(waiting.read(&mut out), 10);
            assert_eq!(out[..4], round.to_be_bytes());
            assert!(waiting.is_empty());
        }
        assert!(waiting.bytes.capacity() < 100);
    }
}
