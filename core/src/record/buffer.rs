//! The buffers of a connection whose user brings none: one for what waits to be sent, one for what
//! was received.
//!
//! Both hold memory only while there is something in them. With feature `std` that memory goes back
//! to a small pool of the thread and comes from there, so that neither an idle connection has a
//! buffer nor a busy one allocates. Bytes are zeroed once, when the memory is new, never for the next
//! record: what is readable is what the positions say, not what the memory holds.

use alloc::vec::Vec;

use super::{HEADER_LEN, MAX_FRAGMENT_LEN, MAX_WIRE_PAYLOAD_LEN};

#[cfg(test)]
mod tests;

/// The size of a receive buffer: a full TLS 1.3 record and the header of the next.
const RECEIVE_LEN: usize = 2 * HEADER_LEN + MAX_FRAGMENT_LEN + 256;

/// How much is read for when it is not known how much is coming. A record longer than this is read to
/// its end and not beyond, so that nothing has to be moved to the front for the next.
const READ_LEN: usize = 4096;

/// A memory for records: from the pool where there is one, otherwise new.
fn take_memory(len: usize) -> Vec<u8> {
    #[cfg(feature = "std")]
    let mut memory = super::pool::take();
    #[cfg(not(feature = "std"))]
    let mut memory = Vec::new();
    grow(&mut memory, len);
    memory
}

/// Makes `memory` at least `len` bytes long.
///
/// It doubles, so that growing bit by bit costs no more than a few copies, but not beyond what the
/// pool keeps unless it must.
fn grow(memory: &mut Vec<u8>, len: usize) {
    if memory.capacity() < len && len <= MAX_KEPT_LEN {
        let doubled = Ord::min(2 * memory.capacity(), MAX_KEPT_LEN);
        memory.reserve_exact(Ord::max(len, doubled) - memory.len());
    }
    memory.resize(Ord::max(len, memory.len()), 0);
}

/// Longer memories are freed instead of kept: 64 KiB of application data and what records add to it.
pub(super) const MAX_KEPT_LEN: usize = 80 * 1024;

/// Gives back what [`take_memory`] gave.
fn release_memory(memory: &mut Vec<u8>) {
    let memory = core::mem::take(memory);
    #[cfg(feature = "std")]
    super::pool::give(memory);
    #[cfg(not(feature = "std"))]
    drop(memory);
}

/// Moves `used` to the front of `memory`.
fn move_to_front(memory: &mut [u8], used: core::ops::Range<usize>) {
    if used.start != 0 {
        memory.copy_within(used, 0);
    }
}

/// Records that wait to be sent.
///
/// ```text
///   0          start              end             memory.len()
///   │ sent     │ waits to be sent │ room          │
/// ```
#[derive(Debug, Default)]
pub struct OutgoingBuffer {
    /// Its length is what was ever initialised, not what is in use.
    memory: Vec<u8>,
    start: usize,
    end: usize,
}

impl OutgoingBuffer {
    /// What waits to be sent.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    /// How many bytes wait to be sent.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// True when nothing waits to be sent.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Exactly `len` bytes of room behind what waits; [`Self::commit`] adds what was written there.
    #[inline]
    pub fn room(&mut self, len: usize) -> &mut [u8] {
        if self.memory.len() - self.end < len {
            self.make_room(len);
        }
        &mut self.memory[self.end..self.end + len]
    }

    #[cold]
    fn make_room(&mut self, len: usize) {
        if self.memory.is_empty() {
            self.memory = take_memory(len);
            return;
        }
        move_to_front(&mut self.memory, self.start..self.end);
        (self.start, self.end) = (0, self.end - self.start);
        grow(&mut self.memory, self.end + len);
    }

    /// Appends the first `len` bytes of the last [`Self::room`].
    #[inline]
    pub fn commit(&mut self, len: usize) {
        debug_assert!(self.end + len <= self.memory.len());
        self.end += len;
        self.release_if_empty();
    }

    /// Appends a copy of `bytes`.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.commit(bytes.len());
    }

    /// Drops the first `len` bytes that wait, or all when there are fewer.
    #[inline]
    pub fn consume(&mut self, len: usize) {
        self.start += Ord::min(len, self.len());
        self.release_if_empty();
    }

    #[inline]
    fn release_if_empty(&mut self) {
        if self.is_empty() {
            (self.start, self.end) = (0, 0);
            release_memory(&mut self.memory);
        }
    }
}

impl Drop for OutgoingBuffer {
    fn drop(&mut self) {
        release_memory(&mut self.memory);
    }
}

/// What was received: records not yet opened, and behind their headers the plaintext of those that
/// were.
///
/// ```text
///   0          read             opened          filled          memory.len()
///   │ done     │ opened records │ not yet opened │ room          │
///              │                │
///     ┌────────┴────────────────┴──────────────────────┐
///     │ marker │ … │ plaintext │ … │ marker │ … │ plai… │
///     └────────────────────────────────────────────────┘
/// ```
///
/// An opened record stays where it is until it is read. Its header is of no more use then and is
/// overwritten by a marker of the same five bytes: where behind it the plaintext begins, how long it
/// is, and (as before) how long the record is. So any number of records can wait to be read without
/// memory of their own, and nothing is moved.
#[derive(Debug, Default)]
pub struct ReceiveBuffer {
    /// Its length is what was ever initialised, not what is in use.
    memory: Vec<u8>,
    read: usize,
    opened: usize,
    filled: usize,
    /// How many bytes of the plaintext at `read` were read already.
    partly: usize,
    /// How many bytes of plaintext wait.
    unread: usize,
}

/// What stands in the place of an opened record's header.
struct Marker {
    offset: u8,
    plain_len: u16,
    payload_len: u16,
}

impl Marker {
    fn read(bytes: &[u8]) -> Self {
        Self {
            offset: bytes[0],
            plain_len: u16::from_be_bytes([bytes[1], bytes[2]]),
            payload_len: u16::from_be_bytes([bytes[3], bytes[4]]),
        }
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes[0] = self.offset;
        bytes[1..3].copy_from_slice(&self.plain_len.to_be_bytes());
        bytes[3..HEADER_LEN].copy_from_slice(&self.payload_len.to_be_bytes());
    }
}

impl ReceiveBuffer {
    /// Room to read into: to the end of the record that is being received and the header of the next,
    /// or a few kilobytes when that is little or unknown. Never empty. [`Self::commit`] adds what was
    /// read.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        let want = self.wanted();
        if self.memory.len() - self.filled < want {
            self.make_room(want);
        }
        &mut self.memory[self.filled..self.filled + want]
    }

    /// How much to read next.
    #[inline]
    fn wanted(&self) -> usize {
        let waiting = &self.memory[self.opened..self.filled];
        let record_len = match waiting.first_chunk::<HEADER_LEN>() {
            Some(&[.., high, low]) => HEADER_LEN + usize::from(u16::from_be_bytes([high, low])),
            None => 0,
        };
        let missing = (record_len + HEADER_LEN).saturating_sub(waiting.len());
        Ord::max(missing, READ_LEN)
    }

    #[cold]
    fn make_room(&mut self, want: usize) {
        if self.memory.is_empty() {
            self.memory = take_memory(Ord::max(want, RECEIVE_LEN));
            return;
        }
        move_to_front(&mut self.memory, self.read..self.filled);
        self.opened -= self.read;
        self.filled -= self.read;
        self.read = 0;
        grow(&mut self.memory, self.filled + want);
    }

    /// Adds the first `len` bytes of the last [`Self::room`] to what was received.
    #[inline]
    pub fn commit(&mut self, len: usize) {
        debug_assert!(self.filled + len <= self.memory.len());
        self.filled += len;
        self.release_if_empty();
    }

    /// What was received and not yet opened. The record layer opens the first record in it in place.
    #[inline]
    pub fn unopened(&mut self) -> &mut [u8] {
        &mut self.memory[self.opened..self.filled]
    }

    /// True when a record's worth of bytes waits to be opened, or more: whatever the first of them are,
    /// they are a whole record or none at all, so that more of them are of no use.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.filled - self.opened >= HEADER_LEN + MAX_WIRE_PAYLOAD_LEN
    }

    /// True when there is nothing that was not yet opened.
    #[inline]
    pub fn all_opened(&self) -> bool {
        self.opened == self.filled
    }

    /// Keeps the plaintext at `payload` of the first `record_len` bytes of [`Self::unopened`], for
    /// [`Self::chunk`] to find; the record counts as opened.
    #[inline]
    pub fn keep(&mut self, record_len: usize, mut payload: core::ops::Range<usize>) {
        if payload.start - HEADER_LEN > usize::from(u8::MAX) {
            // further in than any cipher puts it, and than a marker can say
            self.unopened().copy_within(payload.clone(), HEADER_LEN);
            payload = HEADER_LEN..HEADER_LEN + payload.len();
        }
        let marker = Marker {
            offset: (payload.start - HEADER_LEN) as u8,
            plain_len: payload.len() as u16,
            payload_len: (record_len - HEADER_LEN) as u16,
        };
        marker.write(&mut self.memory[self.opened..]);
        self.opened += record_len;
        self.unread += payload.len();
        if payload.is_empty() {
            self.skip_read();
        }
    }

    /// Drops the first `record_len` bytes of [`Self::unopened`].
    pub fn discard(&mut self, record_len: usize) {
        self.keep(record_len, HEADER_LEN..HEADER_LEN);
    }

    /// How many bytes of plaintext wait to be read.
    #[inline]
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// The first piece of plaintext that waits, where it lies; empty when none does.
    #[inline]
    pub fn chunk(&self) -> &[u8] {
        if self.unread == 0 {
            return &[];
        }
        let record = &self.memory[self.read..self.opened];
        let marker = Marker::read(record);
        let start = HEADER_LEN + usize::from(marker.offset);
        &record[start + self.partly..start + usize::from(marker.plain_len)]
    }

    /// Drops the first `len` bytes of [`Self::chunk`], or all of it when it has fewer.
    #[inline]
    pub fn consume(&mut self, len: usize) {
        let len = Ord::min(len, self.chunk().len());
        self.partly += len;
        self.unread -= len;
        self.skip_read();
    }

    /// Copies plaintext to the front of `out` until one of the two ends; returns how much.
    #[inline]
    pub fn read(&mut self, out: &mut [u8]) -> usize {
        let mut used = 0;
        while used < out.len() && self.unread != 0 {
            let chunk = self.chunk();
            let len = Ord::min(chunk.len(), out.len() - used);
            out[used..used + len].copy_from_slice(&chunk[..len]);
            self.consume(len);
            used += len;
        }
        used
    }

    /// Goes past opened records that have no more plaintext to read.
    #[inline]
    fn skip_read(&mut self) {
        while self.read < self.opened {
            let marker = Marker::read(&self.memory[self.read..]);
            if self.partly < usize::from(marker.plain_len) {
                return;
            }
            self.read += HEADER_LEN + usize::from(marker.payload_len);
            self.partly = 0;
        }
        self.release_if_empty();
    }

    #[inline]
    fn release_if_empty(&mut self) {
        if self.read == self.filled {
            (self.read, self.opened, self.filled) = (0, 0, 0);
            release_memory(&mut self.memory);
        }
    }
}

impl Drop for ReceiveBuffer {
    fn drop(&mut self) {
        release_memory(&mut self.memory);
    }
}
