//! Early data on its way from a client to the application of a buffered server connection.
//!
//! It has memory of its own, not the receive buffer's: the handshake goes on behind it, and the application
//! may read it late or never, while what follows the handshake is read as ever. The two are never mixed.

use alloc::vec::Vec;

use super::records::{Receiving, Records};

/// Early data that waits to be read.
#[derive(Default)]
pub(crate) struct ReceivedEarlyData {
    bytes: Vec<u8>,
    /// How many of them were read.
    read: usize,
}

impl ReceivedEarlyData {
    /// Appends `bytes`, which at most `may_follow` more will follow. No memory is taken beyond that.
    fn push(&mut self, bytes: &[u8], may_follow: usize) {
        let needed = self.bytes.len() + bytes.len();
        if needed > self.bytes.capacity() {
            self.bytes.drain(..self.read);
            self.read = 0;
            let needed = self.bytes.len() + bytes.len();
            let wanted = Ord::min(needed.saturating_mul(2), needed.saturating_add(may_follow));
            self.bytes.reserve_exact(wanted - self.bytes.len());
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Copies to the front of `out` until either runs out; returns how much.
    fn read(&mut self, out: &mut [u8]) -> usize {
        let unread = &self.bytes[self.read..];
        let len = Ord::min(unread.len(), out.len());
        out[..len].copy_from_slice(&unread[..len]);
        self.read += len;
        len
    }

    fn is_empty(&self) -> bool {
        self.read == self.bytes.len()
    }
}

impl Records {
    /// Keeps early data until it is read. That it is within the limit was made sure of.
    pub(super) fn keep_early_data(&mut self, bytes: &[u8]) {
        let may_follow = match self.receiving {
            Receiving::EarlyData { left } => usize::try_from(left).unwrap_or(usize::MAX),
            _ => 0,
        };
        self.early_data
            .get_or_insert_default()
            .push(bytes, may_follow);
    }

    /// Copies early data to the front of `out` until either runs out; returns how much. No memory is held when
    /// nothing is left.
    pub(crate) fn read_early_data(&mut self, out: &mut [u8]) -> usize {
        let Some(waiting) = &mut self.early_data else {
            return 0;
        };
        let len = waiting.read(out);
        if waiting.is_empty() {
            self.early_data = None;
        }
        len
    }

    /// Drops the early data that waits, and refuses more.
    pub(crate) fn drop_early_data(&mut self) {
        self.early_data = None;
        if let Receiving::EarlyData { left } = &mut self.receiving {
            *left = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn memory_never_exceeds_what_may_come() {
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
    fn what_was_read_makes_room() {
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
