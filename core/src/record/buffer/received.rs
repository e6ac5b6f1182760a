//! The receive buffer: received records and the plaintext of opened ones.

use core::fmt;
use core::ops::Range;

use super::{Owner, move_down, move_to, pays, release};
use crate::copy::copy;
use crate::record::pool::{self, MAX_POOLED_LEN, Memory, RECORD_LEN};
use crate::record::{HEADER_LEN, MAX_WIRE_PAYLOAD_LEN};

#[cfg(test)]
pub(super) mod tests;

/// The number of bytes to read when the length of what comes is unknown, and the least that is offered while the memory
/// can be made longer: callers may count on it, as rustls 0.23 offers as much. A longer record is read to its end and
/// hardly beyond, so that little has to be moved to the front for the next.
const READ_LEN: usize = 4096;

/// The number of bytes to read behind a long record and the next header, if there is room: the payload of an alert in
/// TLS 1.2 with AES-GCM. A close_notify, or a last record of a few bytes, then takes no read of its own.
const ALERT_LEN: usize = 8 + 2 + 16;

/// The most to read at once when records are small: as much as one large record takes.
const MAX_AHEAD: usize = RECORD_LEN - HEADER_LEN;

/// Plaintext that fills at most this fraction of its memory moves to a shorter one while the application reads.
const LITTLE: usize = 16;

/// Received bytes: records not yet opened, and before them opened records with unread plaintext.
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
///
/// The memory is in proportion to what is in it. A read that brings less than there was room for has emptied the socket:
/// the rest may take long. Then [`Self::park`] moves what came to a memory that fits, and further reads go to a memory of
/// the pool, from which they are appended to it. A read that fills the room is followed by others, and nothing is moved.
#[derive(Default)]
pub struct ReceiveBuffer {
    memory: Memory,
    owner: Owner,
    read: usize,
    opened: usize,
    filled: usize,
    /// The number of bytes of plaintext that wait.
    unread: usize,
    /// The number of bytes of the plaintext at `read` that have been read already.
    partly: u16,
    /// The number of bytes that the last read of several small records was for.
    ahead: u16,
    /// The number of bytes with which a long record like the last one is complete.
    expected: u16,
    /// The last read brought less than there was room for.
    has_run_dry: bool,
}

/// Overwrites the header of an opened record.
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
    /// Creates the receive buffer of the connection that is `owner`.
    pub fn new(owner: Owner) -> Self {
        let mut buffer = Self::default();
        buffer.owner = owner;
        buffer
    }

    /// Calls `read` with room to read into, and adds as many bytes as it returns. Returns its result.
    ///
    /// The room reaches to the end of the record being received and the header of the next, for several
    /// records when they are small. Behind a long record, there is room for an alert as well if the memory has it. It is
    /// [`READ_LEN`] when the length is unknown, or as long as the last long record, and at least [`READ_LEN`] unless that
    /// much has been received.
    #[inline]
    pub fn receive<E>(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let want = self.wanted();
        let left = self.memory.len() - self.filled;
        if left < want || left < READ_LEN && self.could_have_more() {
            if self.waits_for_rest() {
                return self.receive_aside(want, read);
            }
            self.make_room(want);
        }
        let left = self.memory.len() - self.filled;
        let len = self.offered(want, left);
        let end = self.filled + len;
        self.memory.expose(end);
        let result = read(&mut self.memory[self.filled..end]);
        let received = Ord::min(*result.as_ref().unwrap_or(&0), len);
        self.filled += received;
        self.note_received(received, len);
        result
    }

    /// [`Self::receive`] behind part of a record whose rest comes slowly: the memory of that part is too short to read to,
    /// and grows only with what comes.
    #[cold]
    fn receive_aside<E>(
        &mut self,
        want: usize,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let part = self.filled - self.opened;
        let mut aside = pool::take(part + Ord::max(want, READ_LEN), self.owner);
        let len = self.offered(want, aside.len() - part);
        aside.expose(part + len);
        let result = read(&mut aside[part..part + len]);
        let received = Ord::min(*result.as_ref().unwrap_or(&0), len);
        if self.filled + received <= self.memory.len() {
            #[cfg(test)]
            super::moved::count(received);
            self.memory
                .write(self.filled, &aside[part..part + received]);
            self.filled += received;
            pool::give(aside, self.owner);
        } else {
            move_to(
                &mut self.memory,
                self.opened..self.filled,
                aside,
                self.owner,
            );
            (self.read, self.opened, self.filled) = (0, 0, part + received);
        }
        self.note_received(received, len);
        result
    }

    /// The number of bytes to read where `left` fit and `want` are [`Self::wanted`].
    #[inline]
    fn offered(&self, want: usize, left: usize) -> usize {
        let most = if want > READ_LEN && self.ahead == 0 {
            want + ALERT_LEN
        } else {
            READ_LEN
        };
        Ord::max(want, Ord::min(most, left))
    }

    #[inline]
    fn note_received(&mut self, received: usize, offered: usize) {
        self.has_run_dry = received < offered;
        if received == 0 {
            self.shrink_all();
        }
    }

    /// Gives back the memory, or as much of it as what is left does not need.
    #[cold]
    fn shrink_all(&mut self) {
        self.release_if_empty();
        self.park();
    }

    /// True when part of a record is all there is, and its rest comes slowly.
    fn waits_for_rest(&self) -> bool {
        self.has_run_dry
            && self.read == self.opened
            && self.opened != self.filled
            && self.memory.len() < RECORD_LEN
    }

    /// True when it is short of room because of bytes in front that have been read, or of a short memory.
    fn could_have_more(&self) -> bool {
        self.read >= READ_LEN || self.memory.len() < RECORD_LEN
    }

    /// The number of bytes to read next: to the end of the record and the header of the next one. When records are
    /// small, several at once: the following ones are assumed to have the same length. A read that ends
    /// between two records leaves nothing to move; each time one does, twice as much is read.
    #[inline]
    fn wanted(&mut self) -> usize {
        let record_len = self.record_len();
        let waiting = self.filled - self.opened;
        if record_len == 0 || waiting >= record_len {
            return if self.memory.is_empty() {
                Ord::max(READ_LEN, self.expected.into())
            } else {
                READ_LEN
            };
        }
        if record_len > MAX_AHEAD / 2 {
            self.ahead = 0;
            return record_len + HEADER_LEN - waiting;
        }
        let ahead = if waiting == HEADER_LEN {
            (2 * usize::from(self.ahead)).clamp(READ_LEN, MAX_AHEAD)
        } else {
            READ_LEN
        };
        self.ahead = ahead as u16;
        let least = (READ_LEN + waiting - HEADER_LEN).div_ceil(record_len);
        let records = Ord::max(ahead / record_len, least);
        records * record_len + HEADER_LEN - waiting
    }

    /// Length of the first unopened record; zero while its header is incomplete. A longer one than the wire allows is
    /// refused by its header.
    #[inline]
    fn record_len(&self) -> usize {
        match self.memory[self.opened..self.filled].first_chunk::<HEADER_LEN>() {
            Some(&[.., high, low]) => {
                let payload_len = usize::from(u16::from_be_bytes([high, low]));
                HEADER_LEN + Ord::min(payload_len, MAX_WIRE_PAYLOAD_LEN)
            }
            None => 0,
        }
    }

    #[cold]
    fn make_room(&mut self, want: usize) {
        let len = self.memory.len();
        if len == 0 {
            self.memory = pool::take(want, self.owner);
            return;
        }
        if len < RECORD_LEN {
            let in_use = self.filled - self.read;
            return self.move_in_use(in_use + Ord::max(want, READ_LEN));
        }
        let before = self.filled;
        self.join_opened();
        if !pays(before - self.filled, self.filled) || len - self.filled < want {
            // make it longer in any case, so that moving pays the next time
            let longer = if len < MAX_POOLED_LEN {
                len + 1
            } else {
                len + len / 2
            };
            self.move_in_use(Ord::max(self.filled + want, longer));
        }
    }

    /// Moves what is in use to a memory of at least `len` bytes. Records are moved as they are, so that a chunk stays a
    /// chunk.
    fn move_in_use(&mut self, len: usize) {
        let memory = pool::take(len, self.owner);
        let in_use = self.read..self.filled;
        self.opened -= self.read;
        self.filled -= self.read;
        self.read = 0;
        move_to(&mut self.memory, in_use, memory, self.owner);
    }

    /// Moves what is in use to the front, and joins the opened records into as few as possible.
    fn join_opened(&mut self) {
        let mut from = self.read;
        // where the joined record begins, and how long its plaintext is
        let (mut at, mut len) = (0, 0);
        while from < self.opened {
            let marker = Marker::read(&self.memory[from..]);
            let start = from + HEADER_LEN + usize::from(marker.offset) + usize::from(self.partly);
            let added = usize::from(marker.plain_len - self.partly);
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

    /// Moves what is left to a memory that fits, if the rest may take long to come. The connection calls this whenever it
    /// has opened all it can.
    #[inline]
    pub fn park(&mut self) {
        if self.read == self.opened {
            self.shrink_part();
        } else if self.has_run_dry && self.memory.len() > READ_LEN {
            // records as long as the one before are in a memory that fits
            self.shrink_opened();
        }
    }

    /// Moves part of a record, when that is all there is, to a memory for what has come, or for the record if its rest
    /// follows at once.
    #[inline]
    fn shrink_part(&mut self) {
        let waiting = self.filled - self.opened;
        let needed = if self.has_run_dry {
            waiting
        } else {
            Ord::max(self.record_len(), waiting)
        };
        if needed <= self.memory.len() / 3 * 2 {
            self.move_part(needed);
        }
    }

    /// Moves what is not yet opened, when that is all there is, to a memory that fits `len` bytes.
    #[cold]
    fn move_part(&mut self, len: usize) {
        let part = self.opened..self.filled;
        let waiting = part.len();
        // not for the sake of a quarter
        if waiting != 0 && pool::fitting_len(len) <= self.memory.len() / 3 * 2 {
            let memory = pool::take(len, self.owner);
            move_to(&mut self.memory, part, memory, self.owner);
            (self.read, self.opened, self.filled) = (0, 0, waiting);
        }
    }

    /// Moves plaintext that waits, and what is behind it, to a memory that fits.
    #[cold]
    fn shrink_opened(&mut self) {
        let needed = Ord::max(self.filled - self.read, READ_LEN);
        if pool::fitting_len(needed) < self.memory.len() {
            self.move_in_use(needed);
            // long records do not come any more, or come rarely
            self.expected /= 2;
        }
    }

    /// Has the record at `read` begin behind the plaintext that has been read.
    fn cut_what_was_read(&mut self) {
        let marker = Marker::read(&self.memory[self.read..]);
        let cut = usize::from(marker.offset) + usize::from(self.partly);
        self.read += cut;
        let rest = Marker {
            offset: 0,
            plain_len: marker.plain_len - self.partly,
            payload_len: marker.payload_len - cut as u16,
        };
        rest.write(&mut self.memory[self.read..]);
        self.partly = 0;
    }

    /// The bytes received and not yet opened. The record layer opens the first record in it in place.
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
        if record_len > READ_LEN - HEADER_LEN {
            self.expected = (record_len + HEADER_LEN) as u16;
        }
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

    /// The number of bytes of unread plaintext.
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
        &record[start + usize::from(self.partly)..start + usize::from(marker.plain_len)]
    }

    /// Drops the first `len` bytes of [`Self::chunk`], or all of it when it has fewer.
    #[inline]
    pub fn consume(&mut self, len: usize) {
        let len = Ord::min(len, self.chunk().len());
        // a chunk's length is that of a marker
        self.partly += len as u16;
        self.unread -= len;
        self.skip_read();
        if self.read == self.opened {
            self.shrink_part();
        } else if self.partly != 0 {
            self.shrink_if_little();
        }
    }

    /// Moves the little that is left in a long memory to a shorter one.
    fn shrink_if_little(&mut self) {
        let left = self.filled - self.read - usize::from(self.partly);
        if self.memory.len() > READ_LEN && left <= self.memory.len() / LITTLE {
            self.cut_what_was_read();
            self.move_in_use(self.filled - self.read);
        }
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
            if self.partly < marker.plain_len {
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
            release(&mut self.memory, self.owner);
        }
    }
}

impl Drop for ReceiveBuffer {
    fn drop(&mut self) {
        release(&mut self.memory, self.owner);
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
