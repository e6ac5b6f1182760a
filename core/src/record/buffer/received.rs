//! The receive buffer: received records, and the plaintext of opened records.

use core::fmt;
use core::ops::Range;

use super::{Owner, SealedRecords, justifies_move, move_down, move_to, release};
use crate::copy::{self, copy};
use crate::crypto::aead::TAG_LEN;
use crate::record::pool::{self, MAX_POOLED_LEN, Memory, RECORD_LEN};
use crate::record::receiver::RecordHeader;
use crate::record::sender::InPlaceRoom;
use crate::record::{ALERT_LEN, HEADER_LEN, MAX_FRAGMENT_LEN, MAX_WIRE_PAYLOAD_LEN};

#[cfg(test)]
pub(super) mod tests;

/// The minimum room for a read, unless that many bytes are already buffered. Callers may rely on
/// this number, because rustls 0.23 offers the same. A read for longer records usually ends soon
/// after one of them, so that only a few bytes must be moved to the front for the next record.
const READ_LEN: usize = 4096;

/// The number of bytes to read after a long record and the next header, if there is room: the
/// payload of a TLS 1.2 AES-GCM alert. So a close_notify, or a short last record, needs no separate
/// read.
const GCM_ALERT_LEN: usize = 8 + ALERT_LEN + TAG_LEN;

/// The maximum read for small records: as much as one record of maximum length.
const MAX_AHEAD: usize = RECORD_LEN - HEADER_LEN;

/// The maximum number of long records that are read together: 64 KiB of plaintext.
const MAX_LONG_AHEAD: u8 = 4;

/// The rest of a partly read record, with all bytes after it, moves to a shorter memory block if it
/// fills at most `1 / LITTLE` of one longer than [`READ_LEN`].
const LITTLE: usize = 16;

/// Received bytes: unopened records, preceded by opened records with unread plaintext.
///
/// ```text
///   0          read             opened          filled          memory.len()
///   │ done     │ opened records │ unopened       │ room          │
///              │                │
///     ┌────────┴────────────────┴──────────────────────┐
///     │ marker │ … │ plaintext │ … │ marker │ … │ plai… │
///     └────────────────────────────────────────────────┘
/// ```
///
/// An opened record usually stays in place until it is read. Its header is no longer needed, so a
/// marker of the same five bytes overwrites it: the position and length of the plaintext, and the
/// length of the record. So any number of records can be unread without a queue.
///
/// If room runs short in a memory block that holds a whole record, opened records are joined into
/// as few as possible, which frees the bytes of headers, tags and padding. So a peer that pads its
/// records does not make the memory grow much beyond the unread plaintext.
///
/// The memory is roughly proportional to its content. A read that does not fill the room has
/// probably emptied the socket, so more data may take a while. Then [`Self::park`] moves the
/// received bytes to a memory block that fits. Unread plaintext keeps at least `READ_LEN` bytes of
/// memory until a read finds nothing, because the application usually reads it immediately. The
/// rest of a partial record is then read into a second memory block, and appended from there if it
/// fits. After a read that fills the room, more data is expected, so a partial record keeps memory
/// for all of it.
#[derive(Default)]
pub struct ReceiveBuffer {
    memory: Memory,
    owner: Owner,
    read: usize,
    opened: usize,
    filled: usize,
    /// The number of unread bytes of plaintext.
    unread: usize,
    /// The number of plaintext bytes at `read` that have already been read.
    partly: u16,
    /// The target length of the previous read of several small records.
    ahead: u16,
    /// The number of long records that the last read was allowed to have room for. It doubles from
    /// read to read while the peer streams, up to [`MAX_LONG_AHEAD`].
    long_ahead: u8,
    /// The number of long records that the reader has room for; see [`Self::read_for`].
    most_ahead: u8,
    /// The expected length of the next long record, plus the header after it.
    expected: u16,
    /// The number of bytes that the last read of small records had room for after the first record.
    behind_first: u16,
    /// True if short and long records alternate, as when the header of an HTTP/2 frame has a record
    /// of its own. A read then has room for one of each.
    alternates: bool,
    /// True if the last read did not fill the room, so the socket was probably empty.
    has_run_dry: bool,
}

/// The marker that overwrites the header of an opened record.
struct Marker {
    offset: u8,
    plain_len: u16,
    payload_len: u16,
}

impl Marker {
    /// Creates the marker of a record that consists of `len` bytes of plaintext, at most 2^16 - 1.
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
    /// Creates the receive buffer of the connection `owner`.
    pub fn new(owner: Owner) -> Self {
        let mut buffer = Self::default();
        buffer.owner = owner;
        buffer
    }

    /// Calls `read` with room for more bytes, counts the bytes that it reports as received, and
    /// returns its result.
    ///
    /// The room extends to the end of the current record plus the next header, or covers several
    /// records if they are small or the peer streams. After a long record it also covers an alert,
    /// if the memory has room for it. If the length is unknown, the room is `READ_LEN`, or the
    /// expected length of a long record. It is at least `READ_LEN` unless that much has been
    /// received.
    #[inline]
    pub fn receive<E>(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let want = self.wanted();
        let left = self.memory.len() - self.filled;
        if left < want || left < READ_LEN && self.may_gain_room() {
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

    /// Like [`Self::receive`], for a partial record whose rest arrives slowly. The memory of such a
    /// record is too short to read into, and only grows with the received bytes.
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
            pool::put_back(aside, self.owner);
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

    /// Returns the number of bytes to read: at least `want`, the result of [`Self::wanted`], and
    /// more if the `left` bytes of room allow it.
    #[inline]
    fn offered(&self, want: usize, left: usize) -> usize {
        let most = if want > READ_LEN && self.ahead == 0 && !self.alternates {
            want + GCM_ALERT_LEN
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

    /// Returns to the pool the memory that the content does not need. Called after a read that
    /// found nothing: even unread plaintext may then stay for a long time.
    #[cold]
    fn shrink_all(&mut self) {
        self.release_if_empty();
        let in_use = self.filled - self.read;
        if self.read == self.opened || pool::fitting_len(in_use) >= READ_LEN {
            return self.park();
        }
        if pool::fitting_len(in_use) < self.memory.len() {
            self.move_in_use(in_use);
        }
    }

    /// True if there is only part of a record, and the rest is arriving slowly.
    fn waits_for_rest(&self) -> bool {
        self.has_run_dry
            && self.read == self.opened
            && self.opened != self.filled
            && self.memory.len() < RECORD_LEN
    }

    /// True if moving the content would gain much room: the content starts at least [`READ_LEN`]
    /// bytes into the memory, or the memory is short and a longer block can replace it.
    fn may_gain_room(&self) -> bool {
        self.read >= READ_LEN || self.memory.len() < RECORD_LEN
    }

    /// Returns the number of bytes to read next: usually to the end of the record and the next
    /// header. It covers several records if the peer streams long ones, or if they are small,
    /// assuming that small ones have the same length. A read that ends after the header of a record
    /// leaves only that header to move. Each time that happens, the next read of small records is
    /// twice as long, up to [`MAX_AHEAD`].
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
            if self.ahead != 0 || self.alternates {
                self.note_long_record(waiting);
            }
            return self.long_records(record_len, waiting) * record_len + HEADER_LEN - waiting;
        }
        if self.alternates && !self.has_run_dry && waiting == HEADER_LEN {
            return record_len + usize::from(self.expected) - waiting;
        }
        self.alternates = false;
        let ahead = if waiting == HEADER_LEN {
            (2 * usize::from(self.ahead)).clamp(READ_LEN, MAX_AHEAD)
        } else {
            READ_LEN
        };
        self.ahead = ahead as u16;
        let least = (READ_LEN + waiting - HEADER_LEN).div_ceil(record_len);
        let records = Ord::max(ahead / record_len, least);
        self.behind_first = ((records - 1) * record_len + HEADER_LEN) as u16;
        records * record_len + HEADER_LEN - waiting
    }

    /// Notes that a long record follows short ones. `waiting` bytes of the long record are already
    /// there.
    #[cold]
    fn note_long_record(&mut self, waiting: usize) {
        self.alternates = match self.ahead {
            0 => waiting == HEADER_LEN,
            _ => waiting == usize::from(self.behind_first),
        };
        self.ahead = 0;
    }

    /// Makes [`Self::receive`] provide room for as many long records as fill `len` bytes of
    /// plaintext, up to 64 KiB, while the peer streams.
    ///
    /// By default, a read has room for one long record, which stays in the fastest cache until it
    /// is opened and read. Reading more of them saves calls to the socket, and costs nothing if
    /// they are opened into the application's memory.
    #[inline]
    pub fn read_for(&mut self, len: usize) {
        self.most_ahead = Ord::min(len / MAX_FRAGMENT_LEN, MAX_LONG_AHEAD.into()) as u8;
    }

    /// Returns the number of records of `record_len` bytes to read next. `waiting` bytes of the
    /// first are already there. This is 1 unless the last read was filled and ended soon after the
    /// end of a record: then the peer is streaming, and each read may have room for twice as many
    /// records as the one before.
    fn long_records(&mut self, record_len: usize, waiting: usize) -> usize {
        if self.has_run_dry || waiting > HEADER_LEN + GCM_ALERT_LEN {
            self.long_ahead = 1;
            return 1;
        }
        if self.most_ahead <= 1 {
            return 1;
        }
        self.long_ahead = (2 * self.long_ahead).clamp(1, MAX_LONG_AHEAD);
        // unread plaintext counts, so that the memory block comes from the pool
        let unread = self.opened - self.read;
        let room = (MAX_POOLED_LEN - HEADER_LEN - GCM_ALERT_LEN).saturating_sub(unread);
        let most = Ord::min(self.long_ahead, self.most_ahead);
        Ord::min(room / record_len, most.into()).max(1)
    }

    /// Returns the length of the first unopened record, or zero while its header is incomplete. The
    /// result is at most the maximum of the wire format: longer records are rejected by their
    /// header.
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
        if !justifies_move(before - self.filled, self.filled) || len - self.filled < want {
            // always grow, so that moving pays off next time
            let longer = if len < MAX_POOLED_LEN {
                len + 1
            } else {
                len + len / 2
            };
            self.move_in_use(Ord::max(self.filled + want, longer));
        }
    }

    /// Moves the content to a memory block of at least `len` bytes. Does not join records, so each
    /// chunk stays the same.
    fn move_in_use(&mut self, len: usize) {
        let memory = pool::take(len, self.owner);
        let in_use = self.read..self.filled;
        self.opened -= self.read;
        self.filled -= self.read;
        self.read = 0;
        move_to(&mut self.memory, in_use, memory, self.owner);
    }

    /// Moves the content to the front, and joins the opened records into as few as possible.
    fn join_opened(&mut self) {
        let mut from = self.read;
        // position of the joined record, and length of its plaintext
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

    /// Moves the content to a shorter memory block, if that is worthwhile. The connection calls
    /// this whenever it has opened everything that it can.
    #[inline]
    pub fn park(&mut self) {
        if self.read == self.opened {
            self.shrink_part();
        } else if self.has_run_dry && self.memory.len() > READ_LEN {
            // does nothing while records stay as long as before: their memory block already fits
            self.shrink_opened();
        }
    }

    /// If there is only part of a record, moves it to a memory block for the received bytes, or for
    /// the whole record if its rest is expected immediately. Does nothing if that saves little
    /// memory.
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

    /// Moves the unopened bytes, which must be the only ones, to a memory block that fits `len`
    /// bytes, if that saves at least a third of the memory.
    #[cold]
    fn move_part(&mut self, len: usize) {
        let part = self.opened..self.filled;
        let waiting = part.len();
        // moving to save only a quarter is not worth it
        if waiting != 0 && pool::fitting_len(len) <= self.memory.len() / 3 * 2 {
            let memory = pool::take(len, self.owner);
            move_to(&mut self.memory, part, memory, self.owner);
            (self.read, self.opened, self.filled) = (0, 0, waiting);
        }
    }

    /// Moves unread plaintext, and all bytes after it, to a memory block that fits.
    #[cold]
    fn shrink_opened(&mut self) {
        let needed = Ord::max(self.filled - self.read, READ_LEN);
        if pool::fitting_len(needed) < self.memory.len() {
            self.move_in_use(needed);
            // long records have become rare, or have stopped
            self.expected /= 2;
        }
    }

    /// Makes the record at `read` start after the plaintext that has already been read.
    fn trim_read_plaintext(&mut self) {
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

    /// Returns the unopened bytes, in which records can be opened in place.
    #[inline]
    pub fn unopened(&mut self) -> &mut [u8] {
        &mut self.memory[self.opened..self.filled]
    }

    /// True if the first unopened record is complete, its header is invalid, or the buffer
    /// [is full](Self::is_full).
    pub fn has_record(&self) -> bool {
        let unopened = &self.memory[self.opened..self.filled];
        match RecordHeader::read(unopened) {
            Ok(Some(header)) => header.record_len() <= unopened.len() || self.is_full(),
            Ok(None) => false,
            Err(_) => true,
        }
    }

    /// True if the unopened bytes are at least as long as a record of maximum length. The first
    /// record is then complete, or its header is invalid, so reading more does not help.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.filled - self.opened >= HEADER_LEN + MAX_WIRE_PAYLOAD_LEN
    }

    /// True if there are no unopened bytes.
    #[inline]
    pub fn all_opened(&self) -> bool {
        self.unopened_len() == 0
    }

    /// Returns the length in bytes of [`Self::unopened`].
    pub fn unopened_len(&self) -> usize {
        self.filled - self.opened
    }

    /// Marks the first `record_len` bytes of [`Self::unopened`] as an opened record with plaintext
    /// at `payload`, which is then unread.
    #[inline]
    pub fn keep(&mut self, record_len: usize, payload: Range<usize>) {
        let offset = payload.start - HEADER_LEN;
        if offset > usize::from(u8::MAX) || payload.is_empty() {
            return self.keep_unusual(record_len, payload);
        }
        self.mark(record_len, offset, payload.len());
    }

    /// Handles the rare cases of [`Self::keep`]: the record has no plaintext, or its plaintext
    /// starts farther after the header than a marker can express, which happens with no TLS cipher.
    #[cold]
    fn keep_unusual(&mut self, record_len: usize, payload: Range<usize>) {
        let len = payload.len();
        if len == 0 {
            return self.discard(record_len);
        }
        copy::move_down(self.unopened(), payload, HEADER_LEN);
        self.mark(record_len, 0, len);
    }

    /// Writes the marker of an opened record with `len` bytes of plaintext, `offset` bytes after
    /// its header.
    #[inline]
    fn mark(&mut self, record_len: usize, offset: usize, len: usize) {
        let marker = Marker {
            offset: offset as u8,
            plain_len: len as u16,
            payload_len: (record_len - HEADER_LEN) as u16,
        };
        marker.write(&mut self.memory[self.opened..]);
        if record_len > READ_LEN - HEADER_LEN {
            self.expected = (record_len + HEADER_LEN) as u16;
        }
        self.opened += record_len;
        self.unread += len;
    }

    /// Drops the first `record_len` bytes of [`Self::unopened`].
    pub fn discard(&mut self, record_len: usize) {
        let is_first = self.read == self.opened;
        self.mark(record_len, 0, 0);
        if is_first {
            self.read = self.opened;
            self.release_if_empty();
        }
    }

    /// Makes `plaintext` unread again, before all other unread plaintext. It must be the content of
    /// the records that have been discarded since the last call to [`Self::receive`] or
    /// [`Self::park`], and unopened bytes must be left.
    #[cold]
    pub fn keep_discarded(&mut self, plaintext: &[u8]) {
        // the records were longer than their content, at least by a marker for each of them
        for chunk in plaintext.rchunks(MAX_FRAGMENT_LEN) {
            let Some(at) = self.read.checked_sub(HEADER_LEN + chunk.len()) else {
                return debug_assert!(false, "records are longer than their content");
            };
            Marker::joined(chunk.len()).write(&mut self.memory[at..]);
            copy(chunk, &mut self.memory[at + HEADER_LEN..self.read]);
            self.read = at;
            self.unread += chunk.len();
        }
    }

    /// Drops all of [`Self::unopened`].
    pub fn drop_unopened(&mut self) {
        self.filled = self.opened;
        self.release_if_empty();
    }

    /// Returns the number of bytes of unread plaintext.
    #[inline]
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// Returns the first piece of unread plaintext, in place; empty if there is none.
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

    /// Returns the pieces of unread plaintext, in place.
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        let mut records = &self.memory[self.read..self.opened];
        let mut partly = usize::from(self.partly);
        core::iter::from_fn(move || {
            while !records.is_empty() {
                let marker = Marker::read(records);
                let start = HEADER_LEN + usize::from(marker.offset);
                let chunk = &records[start + partly..start + usize::from(marker.plain_len)];
                records = &records[HEADER_LEN + usize::from(marker.payload_len)..];
                partly = 0;
                if !chunk.is_empty() {
                    return Some(chunk);
                }
            }
            None
        })
    }

    /// Drops the first `len` bytes of [`Self::chunks`], or all of them if there are fewer.
    pub fn consume_chunks(&mut self, mut len: usize) {
        while len != 0 && self.unread != 0 {
            let now = Ord::min(len, self.chunk().len());
            self.drop_plaintext(now);
            len -= now;
        }
    }

    /// Returns the number of opened records if each has exactly `room` around its plaintext, so
    /// that they can be sealed again without moving a byte. This requires keys of the same version
    /// and kind of suite, and records that are neither empty, nor padded, nor too long for the
    /// sender.
    ///
    /// Returns `None` if no record is opened, if part of the first one has been read, or if the
    /// bytes after the records are longer than the records, because [`Self::take_sealed`] moves
    /// those bytes.
    pub fn sealable(&self, room: InPlaceRoom) -> Option<usize> {
        let mut records = &self.memory[self.read..self.opened];
        let rest = self.filled - self.opened;
        if records.is_empty() || self.partly != 0 || rest > records.len() {
            return None;
        }
        let mut count = 0;
        while !records.is_empty() {
            let marker = Marker::read(records);
            let plain_len = usize::from(marker.plain_len);
            let record_len = HEADER_LEN + usize::from(marker.payload_len);
            let fits = (1..=room.max_payload).contains(&plain_len)
                && HEADER_LEN + usize::from(marker.offset) == room.headroom
                && room.headroom + plain_len + room.tailroom == record_len;
            if !fits {
                return None;
            }
            records = &records[record_len..];
            count += 1;
        }
        Some(count)
    }

    /// Takes the memory with all opened records, after [`Self::sealable`] has returned their
    /// number, and calls `seal` with each record and the range of its plaintext. `seal` builds
    /// a record of the same length around the plaintext.
    ///
    /// # Errors
    ///
    /// Returns the error of `seal`. All plaintext is then lost, but no unopened bytes.
    pub fn take_sealed<E>(
        &mut self,
        mut seal: impl FnMut(&mut [u8], Range<usize>) -> Result<(), E>,
    ) -> Result<SealedRecords, E> {
        // the rest stays, even if `seal` panics
        let rest = self.opened..self.filled;
        let mut memory = Memory::default();
        if !rest.is_empty() {
            let len = match self.has_run_dry {
                true => rest.len(),
                false => Ord::max(self.record_len(), rest.len()),
            };
            #[cfg(test)]
            super::moved::count(rest.len());
            memory = pool::take(len, self.owner);
            memory.write(0, &self.memory[rest.clone()]);
        }
        let mut sealed = SealedRecords {
            memory: core::mem::replace(&mut self.memory, memory),
            range: self.read..self.opened,
            owner: self.owner,
        };
        (self.read, self.opened, self.filled) = (0, 0, rest.len());
        self.unread = 0;

        let mut records = &mut sealed.memory[sealed.range.clone()];
        while !records.is_empty() {
            let marker = Marker::read(records);
            let start = HEADER_LEN + usize::from(marker.offset);
            let (record, later) =
                records.split_at_mut(HEADER_LEN + usize::from(marker.payload_len));
            seal(record, start..start + usize::from(marker.plain_len))?;
            records = later;
        }
        Ok(sealed)
    }

    /// Drops the first `len` bytes of [`Self::chunk`], or all of it if it has fewer.
    #[inline]
    pub fn consume(&mut self, len: usize) {
        self.drop_plaintext(Ord::min(len, self.chunk().len()));
    }

    /// Drops the first `len` bytes of [`Self::chunk`], which has at least that many.
    fn drop_plaintext(&mut self, len: usize) {
        // a chunk's length fits a marker
        self.partly += len as u16;
        self.unread -= len;
        self.skip_read();
        if self.read == self.opened {
            self.shrink_part();
        } else if self.partly != 0 {
            self.shrink_if_little();
        }
    }

    /// Moves the short remainder from a long memory block to a shorter one.
    fn shrink_if_little(&mut self) {
        let left = self.filled - self.read - usize::from(self.partly);
        if self.memory.len() > READ_LEN && left <= self.memory.len() / LITTLE {
            self.trim_read_plaintext();
            self.move_in_use(self.filled - self.read);
        }
    }

    /// Copies plaintext to the front of `out` until either runs out. Returns the number of bytes
    /// copied.
    #[inline]
    pub fn read(&mut self, out: &mut [u8]) -> usize {
        let mut used = 0;
        while used < out.len() && self.unread != 0 {
            let chunk = self.chunk();
            let len = Ord::min(chunk.len(), out.len() - used);
            copy(&chunk[..len], &mut out[used..used + len]);
            self.drop_plaintext(len);
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
            self.release();
        }
    }

    // a separate function, because its callers release nothing on their usual paths
    #[inline(never)]
    fn release(&mut self) {
        (self.read, self.opened, self.filled) = (0, 0, 0);
        release(&mut self.memory, self.owner);
    }
}

impl Drop for ReceiveBuffer {
    fn drop(&mut self) {
        if !self.memory.is_empty() {
            self.release();
        }
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
