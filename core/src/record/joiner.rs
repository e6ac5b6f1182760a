//! Reassembles handshake messages from handshake records (RFC 9846 §5.1) or QUIC's CRYPTO frames,
//! whether fragmented or coalesced.
//!
//! Messages that arrive whole usually stay where they are. The joiner owns all other bytes from
//! their arrival until their message has been handled. It interprets only message lengths. Its
//! owner checks what may arrive between fragments, and uses [`HandshakeJoiner::is_empty`] to check
//! that no message spans a change of keys.

use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, Range};

use crate::copy;
use crate::error::InvalidMessage;

#[cfg(test)]
mod tests;

/// The length in bytes of a handshake message's header: type and 24-bit length (RFC 9846 §4).
pub const HANDSHAKE_HEADER_LEN: usize = 4;

/// The longest accepted body of a handshake message, in bytes.
///
/// The wire format allows 2^24 - 1.
pub const MAX_HANDSHAKE_LEN: usize = 0xffff;

/// The memory usually grows by at least a quarter, in steps of this many bytes. So a peer that
/// sends single bytes does not cause an allocation for each byte, and a peer that stops sending
/// does not occupy much more memory than the bytes it has sent.
const STEP: usize = 256;

/// Collects pieces of the handshake and splits them into messages.
///
/// ```text
///   0            read                                 memory.len()
///   │ handed out │ message │ message │ the beginning of one │
/// ```
///
/// A message that arrives whole, while nothing is buffered or lent, is returned without being
/// moved:
///
/// ```
/// # use rustls_core::record::joiner::HandshakeJoiner;
/// let mut joiner = HandshakeJoiner::default();
/// let mut rest = joiner.begin(&[20, 0, 0, 1, 0xaa, 24, 0, 0])?;
/// while let Some(message) = joiner.next_in(&mut rest) {
///     assert_eq!(message, [20, 0, 0, 1, 0xaa]);
///     assert!(!joiner.is_empty(), "the next message has begun");
/// }
/// joiner.keep(rest)?;
/// # Ok::<(), rustls_core::error::InvalidMessage>(())
/// ```
///
/// A joiner lends one of the collected messages at a time, together with its memory, so that
/// lending a message neither copies it nor allocates:
///
/// ```
/// # use rustls_core::record::joiner::HandshakeJoiner;
/// let mut joiner = HandshakeJoiner::default();
/// joiner.push(&[20, 0, 0, 1, 0xaa, 24, 0, 0])?;
/// while let Some(message) = joiner.next_message()? {
///     assert_eq!(*message, [20, 0, 0, 1, 0xaa]);
///     assert!(!joiner.is_empty(), "the next message has begun");
///     joiner.give_back(message);
/// }
/// # Ok::<(), rustls_core::error::InvalidMessage>(())
/// ```
///
/// It holds memory only while handshake bytes are buffered.
#[derive(Default)]
pub struct HandshakeJoiner {
    memory: Vec<u8>,
    /// The offset of the first byte that has not been lent yet: in `memory`, or while a message is
    /// lent, in the lent memory.
    read: usize,
    /// The offset, in the same memory, of the first message whose length has not been checked.
    checked: usize,
    /// The number of bytes that have not been returned as messages, including those in the slice
    /// from [`Self::begin`].
    waiting: usize,
    /// True while a message is lent, together with the memory. `memory` then collects further
    /// pieces.
    lent: bool,
    #[cfg(test)]
    moved: usize,
}

impl HandshakeJoiner {
    /// Begins to take messages from `payload`, the payload of a handshake record or bytes from
    /// CRYPTO frames, without copying them. Returns `payload`, for [`Self::next_in`] and
    /// [`Self::keep`]. If earlier bytes are buffered or a message is lent, appends `payload` to the
    /// buffer instead, and returns an empty slice.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::push`].
    pub fn begin<'a>(&mut self, payload: &'a [u8]) -> Result<&'a [u8], InvalidMessage> {
        if self.lent || !self.is_empty() {
            self.push(payload)?;
            return Ok(&[]);
        }
        let mut unchecked = payload;
        while let Some(len) = message_len(unchecked)? {
            unchecked = unchecked.get(len..).unwrap_or_default();
        }
        self.waiting = payload.len();
        Ok(payload)
    }

    /// Removes the next message, header included, from `rest`, which comes from [`Self::begin`].
    /// Returns `None` if it is incomplete or too long.
    pub fn next_in<'a>(&mut self, rest: &mut &'a [u8]) -> Option<&'a [u8]> {
        let len = message_len(rest).ok()??;
        let (message, after) = rest.split_at_checked(len)?;
        self.waiting = after.len();
        *rest = after;
        Some(message)
    }

    /// Buffers `rest`, the bytes that [`Self::next_in`] has left: messages not taken yet, and the
    /// beginning of an incomplete one.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::push`].
    pub fn keep(&mut self, rest: &[u8]) -> Result<(), InvalidMessage> {
        if rest.is_empty() {
            return Ok(());
        }
        self.waiting = 0;
        self.push(rest)
    }

    /// Appends a piece: the payload of a handshake record, or bytes from CRYPTO frames.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidMessage::HandshakePayloadTooLarge`] if the body of any buffered message is
    /// longer than [`MAX_HANDSHAKE_LEN`]. While a message is lent, [`Self::next_message`] returns
    /// this error later.
    pub fn push(&mut self, payload: &[u8]) -> Result<(), InvalidMessage> {
        // once the length of the current message is known, reserve no more than that
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

    /// Returns the next message, header included; `None` while it is incomplete or while a message
    /// is lent.
    ///
    /// The message comes with the joiner's memory, which [`Self::give_back`] returns. If the
    /// message is dropped instead, the bytes after it are lost and no further message is returned.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::push`].
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

    /// Returns the next message in place, header included; `None` if it is incomplete or too long,
    /// or while a message is lent.
    pub fn peek(&self) -> Option<&[u8]> {
        let rest = self.memory.get(self.read..).filter(|_| !self.lent)?;
        rest.get(..message_len(rest).ok()??)
    }

    /// Takes back the message lent by [`Self::next_message`].
    pub fn give_back(&mut self, message: JoinedMessage) {
        let pushed = core::mem::replace(&mut self.memory, message.memory);
        append(&mut self.memory, &pushed, usize::MAX);
        self.lent = false;
        if self.is_empty() {
            self.memory = Vec::new();
            (self.read, self.checked) = (0, 0);
        }
    }

    /// True if no bytes are left, buffered or in the slice from [`Self::begin`]: neither whole
    /// messages nor the beginning of one. A lent message does not count, but bytes after it do.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Returns the number of bytes that have not been returned as messages, including those in the
    /// slice from [`Self::begin`].
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Frees the memory of the returned messages. Only the beginning of a message is left, and the
    /// rest of it may take a while to arrive.
    fn compact(&mut self) {
        if self.read == 0 {
            return;
        }
        copy::remove_front(&mut self.memory, self.read);
        self.memory.shrink_to(self.memory.len());
        #[cfg(test)]
        {
            self.moved += self.memory.len();
        }
        self.checked = self.checked.saturating_sub(self.read);
        self.read = 0;
    }
}

/// Appends `bytes` to `memory`. If `memory` has to grow, it grows by at least a quarter, but not
/// beyond `most` bytes unless `bytes` need more.
fn append(memory: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let len = memory.len() + bytes.len();
    let capacity = memory.capacity();
    if capacity < len {
        let longer = Ord::max(len, capacity + capacity / 4).next_multiple_of(STEP);
        let longer = Ord::max(Ord::min(longer, most), len);
        memory.reserve_exact(longer - memory.len());
    }
    copy::append(memory, bytes);
}

/// Returns the length of the first message in `bytes`, header included; `None` until its header is
/// complete.
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

/// One handshake message from a [`HandshakeJoiner`], header included. It holds the joiner's memory
/// until [`HandshakeJoiner::give_back`].
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
