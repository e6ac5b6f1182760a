//! Reassembles handshake messages from handshake records (RFC 9846 §5.1) or QUIC's CRYPTO frames, however
//! they were fragmented or coalesced.
//!
//! It owns the bytes from their arrival until their message has been handled, and knows nothing of a message
//! but its length. Its owner checks what may come between the fragments of a message, and that no message
//! spans a change of keys; [`HandshakeJoiner::is_empty`] tells.

use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, Range};

use crate::error::InvalidMessage;

#[cfg(test)]
mod tests;

/// Length in bytes of a handshake message's header: type and 24-bit length (RFC 9846 §4).
pub const HANDSHAKE_HEADER_LEN: usize = 4;

/// The longest body of a handshake message that is accepted, in bytes.
///
/// The wire allows 2^24 - 1; the length is checked against this before any memory is taken for it.
pub const MAX_HANDSHAKE_LEN: usize = 0xffff;

/// The memory grows by a quarter, in steps of this many bytes: a peer that sends byte by byte does not cause an allocation
/// for each, and one that stops makes us hold hardly more than it has sent.
const STEP: usize = 256;

/// Collects pieces of the handshake and cuts them into messages.
///
/// ```text
///   0            read                                 memory.len()
///   │ handed out │ message │ message │ the beginning of one │
/// ```
///
/// It lends one message at a time, together with its memory, so that messages are neither copied nor
/// allocated:
///
/// ```
/// # use rustls_core::record::joiner::HandshakeJoiner;
/// let mut joiner = HandshakeJoiner::default();
/// joiner.push(&[20, 0, 0, 1, 0xaa, 24, 0, 0])?;
/// while let Some(message) = joiner.next_message()? {
///     assert_eq!(*message, [20, 0, 0, 1, 0xaa]);
///     assert!(!joiner.is_empty(), "the beginning of another message waits behind this one");
///     joiner.give_back(message);
/// }
/// # Ok::<(), rustls_core::error::InvalidMessage>(())
/// ```
///
/// It holds memory only while a handshake message is being received.
#[derive(Default)]
pub struct HandshakeJoiner {
    memory: Vec<u8>,
    /// Where in `memory` the bytes begin that were not handed out.
    read: usize,
    /// Where in `memory` the first message begins whose length has not been checked.
    checked: usize,
    /// How many bytes were not handed out.
    waiting: usize,
    /// A message is lent, and the memory with it; `memory` collects what is pushed meanwhile.
    lent: bool,
    #[cfg(test)]
    moved: usize,
}

impl HandshakeJoiner {
    /// Appends a piece: the payload of a handshake record.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage::HandshakePayloadTooLarge`] when any message that waits is longer than
    /// [`MAX_HANDSHAKE_LEN`].
    pub fn push(&mut self, payload: &[u8]) -> Result<(), InvalidMessage> {
        // no longer than the message that has begun, once its length is known
        let most = if self.checked > self.memory.len() {
            self.checked
        } else {
            usize::MAX
        };
        append(&mut self.memory, payload, most);
        self.waiting += payload.len();
        if self.lent {
            return Ok(());
        }
        while let Some(len) = message_len(self.memory.get(self.checked..).unwrap_or_default())? {
            self.checked += len;
        }
        Ok(())
    }

    /// The next message, header included; `None` when it is not complete yet, or while another is lent.
    ///
    /// It comes with the memory, which [`Self::give_back`] returns. When the message is dropped instead,
    /// what waits behind it is lost and no further message comes.
    ///
    /// # Errors
    ///
    /// As for [`Self::push`].
    pub fn next_message(&mut self) -> Result<Option<JoinedMessage>, InvalidMessage> {
        if self.lent {
            return Ok(None);
        }
        let rest = &self.memory[self.read..];
        let Some(len) = message_len(rest)?.filter(|len| *len <= rest.len()) else {
            self.compact();
            return Ok(None);
        };
        let message = self.read..self.read + len;
        self.read = message.end;
        self.waiting -= len;
        self.lent = true;
        Ok(Some(JoinedMessage {
            memory: core::mem::take(&mut self.memory),
            message,
        }))
    }

    /// The next message, header included, where it lies; `None` when it is not complete yet, or while another
    /// is lent.
    pub fn peek(&self) -> Option<&[u8]> {
        let rest = self.memory.get(self.read..).filter(|_| !self.lent)?;
        rest.get(..message_len(rest).ok()??)
    }

    /// Takes back what [`Self::next_message`] has lent.
    pub fn give_back(&mut self, message: JoinedMessage) {
        let pushed = core::mem::replace(&mut self.memory, message.memory);
        append(&mut self.memory, &pushed, usize::MAX);
        self.lent = false;
        if self.is_empty() {
            self.memory = Vec::new();
            (self.read, self.checked) = (0, 0);
        }
    }

    /// True when nothing waits, neither whole messages nor the beginning of one. A message that is lent does
    /// not count, only what lies behind it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Frees the memory of what was handed out. What is left is the beginning of a message, whose rest may
    /// take long to come.
    fn compact(&mut self) {
        if self.read == 0 {
            return;
        }
        self.memory.drain(..self.read);
        self.memory.shrink_to(self.memory.len());
        #[cfg(test)]
        {
            self.moved += self.memory.len();
        }
        self.checked = self.checked.saturating_sub(self.read);
        self.read = 0;
    }
}

/// Appends `bytes` to `memory`, which grows by at least a quarter, but not beyond `most` bytes if these are enough.
fn append(memory: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let len = memory.len() + bytes.len();
    let capacity = memory.capacity();
    if capacity < len {
        let longer = Ord::max(len, capacity + capacity / 4).next_multiple_of(STEP);
        let longer = Ord::max(Ord::min(longer, most), len);
        memory.reserve_exact(longer - memory.len());
    }
    memory.extend_from_slice(bytes);
}

/// Length of the first message in `bytes`, header included, as soon as its header is there.
fn message_len(bytes: &[u8]) -> Result<Option<usize>, InvalidMessage> {
    let [_, high, mid, low, ..] = *bytes else {
        return Ok(None);
    };
    let len = usize::from(high) << 16 | usize::from(mid) << 8 | usize::from(low);
    if len > MAX_HANDSHAKE_LEN {
        return Err(InvalidMessage::HandshakePayloadTooLarge);
    }
    Ok(Some(HANDSHAKE_HEADER_LEN + len))
}

impl fmt::Debug for HandshakeJoiner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandshakeJoiner")
            .field("waiting", &self.waiting)
            .field("lent", &self.lent)
            .finish_non_exhaustive()
    }
}

/// One handshake message, header included, out of a [`HandshakeJoiner`], whose memory it holds until
/// [`HandshakeJoiner::give_back`].
pub struct JoinedMessage {
    memory: Vec<u8>,
    message: Range<usize>,
}

impl Deref for JoinedMessage {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.memory[self.message.clone()]
    }
}

impl fmt::Debug for JoinedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinedMessage")
            .field("len", &self.message.len())
            .finish_non_exhaustive()
    }
}
