//! The buffers of a connection whose user brings none: one for records to be sent, one for what was received.
//!
//! Both hold memory only while they are not empty, and no more than their content needs. It comes from a pool
//! of the thread and goes back there, so an idle connection holds no buffer and a busy one does not allocate.
//!
//! Bytes are moved within a buffer only when that gains room for at least a quarter as many: each byte is
//! copied only a few times, however slowly a buffer is drained.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::outgoing_records::OutgoingRecords;
use super::{HEADER_LEN, MAX_WIRE_PAYLOAD_LEN, pool};
use crate::copy::copy;

#[cfg(test)]
mod tests;

/// How much room to offer when the length of what comes is unknown, and at the least in a memory that has it: callers
/// may count on it, as rustls 0.23 offers as much. A longer record is read to its end and not beyond, so that nothing has
/// to be moved to the front for the next.
const READ_LEN: usize = 4096;

/// The most to read at once when records are small: as much as one large record takes.
const MAX_AHEAD: usize = pool::RECORD_LEN - HEADER_LEN;

/// True when gaining `gained` bytes of room is worth moving `moved` bytes.
#[inline]
fn pays(gained: usize, moved: usize) -> bool {
    gained >= moved / 4
}

/// Gives back `memory`, if any.
fn release(memory: &mut Vec<u8>) {
    if !memory.is_empty() {
        pool::give(core::mem::take(memory));
    }
}

/// Moves the first `used` bytes of `memory` to a new one of at least `len` bytes.
fn move_to(memory: &mut Vec<u8>, used: usize, len: usize) {
    let mut moved = pool::take(len);
    moved[..used].copy_from_slice(&memory[..used]);
    #[cfg(test)]
    tests::count_moved(used);
    pool::give(core::mem::replace(memory, moved));
}

/// Moves `range` of `memory` down to `to`.
fn move_down(memory: &mut [u8], range: Range<usize>, to: usize) {
    if range.start != to {
        #[cfg(test)]
        tests::count_moved(range.len());
        memory.copy_within(range, to);
    }
}

/// Records that wait to be sent.
///
/// ```text
///   0          start              end             memory.len()
///   │ sent     │ waits to be sent │ room          │
/// ```
#[derive(Default)]
pub struct OutgoingBuffer {
    memory: Vec<u8>,
    start: usize,
    end: usize,
    /// How many bytes at `start` belong to a record whose beginning was sent.
    cut: usize,
}

impl OutgoingBuffer {
    /// What waits to be sent.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    /// The records that wait to be sent, one by one; of the first perhaps only the rest.
    #[inline]
    pub fn records(&self) -> OutgoingRecords<'_> {
        OutgoingRecords::new(self.pending(), self.cut)
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
            self.memory = pool::take_spare(len);
            return;
        }
        let used = self.len();
        let pays = pays(self.start, used);
        move_down(&mut self.memory, self.start..self.end, 0);
        (self.start, self.end) = (0, used);
        if !pays || self.memory.len() - used < len {
            // make it longer in any case, so that moving pays the next time
            let len = Ord::max(used + len, self.memory.len() + 1);
            move_to(&mut self.memory, used, len);
        }
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
        let len = Ord::min(len, self.len());
        if len < self.len() {
            self.cut = self.records().cut_after(len);
        }
        self.start += len;
        self.release_if_empty();
    }

    #[inline]
    fn release_if_empty(&mut self) {
        if self.is_empty() {
            (self.start, self.end, self.cut) = (0, 0, 0);
            release(&mut self.memory);
        }
    }
}

impl Drop for OutgoingBuffer {
    fn drop(&mut self) {
        release(&mut self.memory);
    }
}

impl fmt::Debug for OutgoingBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingBuffer")
            .field("len", &self.len())
            .field("memory_len", &self.memory.len())
            .finish()
    }
}

/// What was received: records not yet opened, and before them opened records whose plaintext waits to be
/// read.
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
/// An opened record stays where it is until it is read. Its header is no longer needed, and a marker of the
/// same five bytes overwrites it: where the plaintext begins, how long it is, and how long the record is. So
/// any number of records can wait to be read without a queue, and nothing is moved.
///
/// When room gets short, opened records are joined into one, which frees the bytes of headers, tags and
/// padding. A peer that pads its records cannot make waiting plaintext take more than its length and a
/// quarter.
#[derive(Default)]
pub struct ReceiveBuffer {
    memory: Vec<u8>,
    read: usize,
    opened: usize,
    filled: usize,
    /// How many bytes of the plaintext at `read` have been read already.
    partly: usize,
    /// How many bytes of plaintext wait.
    unread: usize,
    /// The memory may be as long as the record being received will need, not just as what has come of it.
    roomy: bool,
    /// How many bytes the last read of several small records was for.
    ahead: usize,
}

/// What overwrites the header of an opened record.
struct Marker {
    offset: u8,
    plain_len: u16,
    payload_len: u16,
}

impl Marker {
    /// The marker of a record that is nothing but `len` bytes of plaintext, at most 2^16 - 1.
    fn joined(len: usize) -> Self {
        Self {
            offset: 0,
            plain_len: len as u16,
            payload_len: len as u16,
        }
    }

    #[inline]
    fn read(bytes: &[u8]) -> Self {
        let bytes: [u8; HEADER_LEN] = bytes[..HEADER_LEN].try_into().unwrap_or_default();
        let [offset, plain_high, plain_low, payload_high, payload_low] = bytes;
        Self {
            offset,
            plain_len: u16::from_be_bytes([plain_high, plain_low]),
            payload_len: u16::from_be_bytes([payload_high, payload_low]),
        }
    }

    #[inline]
    fn write(&self, bytes: &mut [u8]) {
        bytes[0] = self.offset;
        bytes[1..3].copy_from_slice(&self.plain_len.to_be_bytes());
        bytes[3..HEADER_LEN].copy_from_slice(&self.payload_len.to_be_bytes());
    }
}

impl ReceiveBuffer {
    /// Room to read into: up to the end of the record being received and the header of the next, for several
    /// records when they are small, and a few kilobytes when the length is unknown, or when there is room for them. Never
    /// empty.
    /// [`Self::commit`] adds what was read.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        let want = self.wanted();
        let left = self.memory.len() - self.filled;
        if left < want || left < READ_LEN && self.could_have_more() {
            self.make_room(want);
        }
        let left = self.memory.len() - self.filled;
        let len = Ord::max(want, Ord::min(READ_LEN, left));
        &mut self.memory[self.filled..self.filled + len]
    }

    /// Whether it is short of room because of bytes in front that have been read, or of a memory for a short record.
    fn could_have_more(&self) -> bool {
        self.read >= READ_LEN || self.memory.len() < pool::RECORD_LEN
    }

    /// How much to read next: to the end of the record and the header of the next one. When records are
    /// small, several at once: the following ones are assumed to have the same length. A read that ends
    /// between two records leaves nothing to move; each time one does, twice as much is read.
    #[inline]
    fn wanted(&mut self) -> usize {
        let record_len = self.record_len();
        let waiting = self.filled - self.opened;
        if record_len == 0 || waiting >= record_len {
            return READ_LEN;
        }
        if record_len > MAX_AHEAD / 2 {
            self.ahead = 0;
            return record_len + HEADER_LEN - waiting;
        }
        self.ahead = if waiting == HEADER_LEN {
            (2 * self.ahead).clamp(READ_LEN, MAX_AHEAD)
        } else {
            READ_LEN
        };
        let least = (READ_LEN + waiting - HEADER_LEN).div_ceil(record_len);
        let records = Ord::max(self.ahead / record_len, least);
        records * record_len + HEADER_LEN - waiting
    }

    /// Length of the first unopened record; zero while its header is incomplete.
    #[inline]
    fn record_len(&self) -> usize {
        match self.memory[self.opened..self.filled].first_chunk::<HEADER_LEN>() {
            Some(&[.., high, low]) => HEADER_LEN + usize::from(u16::from_be_bytes([high, low])),
            None => 0,
        }
    }

    #[cold]
    fn make_room(&mut self, want: usize) {
        if self.memory.is_empty() {
            self.memory = pool::take(Ord::max(want, pool::RECORD_LEN));
            return;
        }
        let before = self.filled;
        self.join_opened();
        if !pays(before - self.filled, self.filled) || self.memory.len() - self.filled < want {
            // make it longer in any case, so that moving pays the next time
            let len = Ord::max(self.filled + want, self.memory.len() + 1);
            move_to(
                &mut self.memory,
                self.filled,
                Ord::max(len, pool::RECORD_LEN),
            );
        }
    }

    /// Moves what is in use to the front, and joins the opened records into as few as possible.
    fn join_opened(&mut self) {
        let mut from = self.read;
        // where the joined record begins, and how long its plaintext is
        let (mut at, mut len) = (0, 0);
        while from < self.opened {
            let marker = Marker::read(&self.memory[from..]);
            let start = from + HEADER_LEN + usize::from(marker.offset) + self.partly;
            let added = usize::from(marker.plain_len) - self.partly;
            from += HEADER_LEN + usize::from(marker.payload_len);
            self.partly = 0;
            if len + added > usize::from(u16::MAX) {
                Marker::joined(len).write(&mut self.memory[at..]);
                (at, len) = (at + HEADER_LEN + len, 0);
            }
            move_down(
                &mut self.memory,
                start..start + added,
                at + HEADER_LEN + len,
            );
            len += added;
        }
        let mut joined = at;
        if len != 0 {
            Marker::joined(len).write(&mut self.memory[at..]);
            joined += HEADER_LEN + len;
        }
        move_down(&mut self.memory, self.opened..self.filled, joined);
        self.filled -= self.opened - joined;
        (self.read, self.opened) = (0, joined);
    }

    /// Shrinks the memory to what an incomplete record needs: during the handshake to what has come of it,
    /// afterwards to the length of the record, from the pool. The connection calls this whenever it has
    /// opened all it can; the buffer then keeps to it by itself.
    ///
    /// In between, [`Self::room`] offers as much as ever.
    pub fn park(&mut self, handshaking: bool) {
        self.roomy = !handshaking;
        self.shrink();
    }

    #[inline]
    fn shrink(&mut self) {
        // while plaintext waits, the memory stays
        if self.read == self.opened && self.opened != self.filled {
            let waiting = self.filled - self.opened;
            let needed = if self.roomy {
                pool::fitting_len(Ord::max(self.record_len(), waiting))
            } else {
                waiting
            };
            if self.memory.len() > needed {
                self.move_unopened(needed);
            }
        }
    }

    /// Moves the unopened bytes, when they are all there is, to a memory of `len` bytes.
    fn move_unopened(&mut self, len: usize) {
        let waiting = self.opened..self.filled;
        let mut memory = if self.roomy {
            pool::take(len)
        } else {
            vec![0; len]
        };
        memory[..waiting.len()].copy_from_slice(&self.memory[waiting.clone()]);
        #[cfg(test)]
        tests::count_moved(waiting.len());
        (self.read, self.opened, self.filled) = (0, 0, waiting.len());
        pool::give(core::mem::replace(&mut self.memory, memory));
    }

    /// Adds the first `len` bytes of the last [`Self::room`] to what was received.
    #[inline]
    pub fn commit(&mut self, len: usize) {
        debug_assert!(self.filled + len <= self.memory.len());
        self.filled += len;
        if len == 0 {
            self.release_if_empty();
            self.shrink();
        }
    }

    /// What was received and not yet opened. The record layer opens the first record in it in place.
    #[inline]
    pub fn unopened(&mut self) -> &mut [u8] {
        &mut self.memory[self.opened..self.filled]
    }

    /// True when at least a maximum record's worth of bytes waits to be opened. Then the first record is
    /// complete, or its header is invalid: reading more does not help.
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
    pub fn keep(&mut self, record_len: usize, mut payload: Range<usize>) {
        if payload.start - HEADER_LEN > usize::from(u8::MAX) {
            // farther in than any cipher puts it, and than a marker can express
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

    /// Drops all of [`Self::unopened`].
    pub fn drop_unopened(&mut self) {
        self.filled = self.opened;
        self.release_if_empty();
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
        self.shrink();
    }

    /// Copies plaintext to the front of `out` until either runs out; returns how much.
    #[inline]
    pub fn read(&mut self, out: &mut [u8]) -> usize {
        let mut used = 0;
        while used < out.len() && self.unread != 0 {
            let chunk = self.chunk();
            let len = Ord::min(chunk.len(), out.len() - used);
            copy(&chunk[..len], &mut out[used..used + len]);
            self.consume(len);
            used += len;
        }
        used
    }

    /// Skips opened records whose plaintext has all been read.
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
            release(&mut self.memory);
        }
    }
}

impl Drop for ReceiveBuffer {
    fn drop(&mut self) {
        release(&mut self.memory);
    }
}

impl fmt::Debug for ReceiveBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiveBuffer")
            .field("unread", &self.unread)
            .field("unopened", &(self.filled - self.opened))
            .field("memory_len", &self.memory.len())
            .finish()
    }
}
