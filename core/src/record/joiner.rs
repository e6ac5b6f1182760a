//! Handshake messages out of handshake records (RFC 9846 §5.1): several in one record, one over
//! several, and any mixture.

use alloc::vec::Vec;

use crate::error::InvalidMessage;

/// Length in bytes of a handshake message's header: type and 24-bit length (RFC 9846 §4).
pub const HANDSHAKE_HEADER_LEN: usize = 4;

/// The longest body of a handshake message that is accepted, in bytes.
///
/// The wire allows 2^24 - 1; the length is checked against this before any memory is taken for it.
pub const MAX_HANDSHAKE_LEN: usize = 0xffff;

/// Collects the payloads of handshake records and cuts them into messages.
///
/// It holds memory only while a handshake message is being received.
#[derive(Debug, Default)]
pub struct HandshakeJoiner {
    bytes: Vec<u8>,
}

impl HandshakeJoiner {
    /// Appends the payload of a handshake record.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage::HandshakePayloadTooLarge`] when any message that waits is longer than
    /// [`MAX_HANDSHAKE_LEN`].
    pub fn push(&mut self, payload: &[u8]) -> Result<(), InvalidMessage> {
        self.bytes.extend_from_slice(payload);
        let mut rest = &self.bytes[..];
        while let Some(len) = message_len(rest)? {
            rest = rest.get(len..).unwrap_or_default();
        }
        Ok(())
    }

    /// Takes the next message out, header included; `None` when it is not complete yet.
    ///
    /// # Errors
    ///
    /// As for [`Self::push`].
    pub fn next_message(&mut self) -> Result<Option<Vec<u8>>, InvalidMessage> {
        let Some(len) = message_len(&self.bytes)? else {
            return Ok(None);
        };
        if len > self.bytes.len() {
            return Ok(None);
        }
        let rest = match len == self.bytes.len() {
            true => Vec::new(),
            false => self.bytes.split_off(len),
        };
        Ok(Some(core::mem::replace(&mut self.bytes, rest)))
    }

    /// True when no handshake bytes wait, neither whole messages nor the beginning of one.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Length of the first message in `bytes`, header included, as soon as its header is there.
fn message_len(bytes: &[u8]) -> Result<Option<usize>, InvalidMessage> {
    let [_, high, mid, low, ..] = *bytes else {
        return Ok(None);
    };
    let len = usize::from(high) << 16 | usize::from(mid) << 8 | usize::from(low);
    match len > MAX_HANDSHAKE_LEN {
        true => Err(InvalidMessage::HandshakePayloadTooLarge),
        false => Ok(Some(HANDSHAKE_HEADER_LEN + len)),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn message(len: usize) -> Vec<u8> {
        let mut bytes = vec![1, (len >> 16) as u8, (len >> 8) as u8, len as u8];
        bytes.extend((0..len).map(|i| i as u8));
        bytes
    }

    #[test]
    fn messages_survive_any_cut() {
        let messages = [message(0), message(1), message(300), message(2)];
        let stream = messages.concat();
        for cut in 1..stream.len() {
            let mut joiner = HandshakeJoiner::default();
            let mut seen = Vec::new();
            for payload in stream.chunks(cut) {
                joiner.push(payload).unwrap();
                while let Some(message) = joiner.next_message().unwrap() {
                    seen.push(message);
                }
            }
            assert_eq!(seen, messages, "cut every {cut} bytes");
            assert!(joiner.is_empty());
        }
    }

    #[test]
    fn a_message_in_the_way_is_not_empty() {
        let mut joiner = HandshakeJoiner::default();
        assert!(joiner.is_empty());
        joiner.push(&[1]).unwrap();
        assert!(!joiner.is_empty());
    }

    #[test]
    fn length_is_limited_before_memory_is_taken() {
        let mut joiner = HandshakeJoiner::default();
        joiner.push(&[1, 0, 0xff, 0xff]).unwrap();
        let mut joiner = HandshakeJoiner::default();
        joiner.push(&[1, 1, 0]).unwrap();
        assert_eq!(
            joiner.push(&[0]),
            Err(InvalidMessage::HandshakePayloadTooLarge)
        );
        assert!(joiner.bytes.capacity() < 100);
        // of whatever message that waits
        let mut joiner = HandshakeJoiner::default();
        assert_eq!(
            joiner.push(&[1, 0, 0, 1, 7, 2, 0, 0, 0, 3, 1, 0, 0]),
            Err(InvalidMessage::HandshakePayloadTooLarge)
        );
    }
}
