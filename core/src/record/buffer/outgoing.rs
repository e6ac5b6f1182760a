//! Records queued for sending.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::fmt;
use core::ops::Range;

use super::{OutOfMemory, Owner, SealedRecords, justifies_move, move_down, move_to, release};
use crate::copy::copy;
use crate::record::outgoing_records::OutgoingRecords;
use crate::record::pool::{self, MAX_POOLED_LEN, Memory, RECORD_LEN};

#[cfg(test)]
mod tests;

/// If unsent output fills at most `1 / LITTLE` of its memory block, because the rest has been sent,
/// it moves to a shorter block.
const LITTLE: usize = 8;

/// Records queued for sending.
///
/// Output is usually in one piece of memory:
///
/// ```text
///   0          start              end             memory.len()
///   │ sent     │ unsent           │ room          │
/// ```
///
/// Output that would make a piece longer than 72 KiB goes to a new one, and so does output after
/// adopted memory. Earlier pieces are queued, and each is released once it is sent. So even a
/// connection without a limit uses about as much memory as it has unsent output.
#[derive(Default)]
pub struct OutgoingBuffer {
    last: Piece,
    /// The pieces before `last`, if any.
    queue: Option<Box<Queue>>,
    /// The number of unsent bytes in all pieces.
    len: usize,
    /// The number of bytes at the front that belong to a partly sent record.
    cut: u32,
    owner: Owner,
}

/// A piece of memory that is filled and sent from its front.
#[derive(Default)]
struct Piece {
    memory: Memory,
    /// The range of the unsent bytes in `memory`.
    start: u32,
    end: u32,
    /// The end of the room in `memory`. Adopted memory has no room.
    limit: u32,
    /// True if `memory` is another connection's, so that nothing is added to it.
    is_adopted: bool,
    /// The owner with which `memory` returns to the pool.
    owner: Owner,
}

impl Piece {
    #[inline]
    fn new(memory: Memory, owner: Owner) -> Self {
        Self {
            limit: memory.len() as u32,
            memory,
            start: 0,
            end: 0,
            is_adopted: false,
            owner,
        }
    }

    #[inline]
    fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    #[inline]
    fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns the number of free bytes after the unsent bytes.
    #[inline]
    fn room(&self) -> usize {
        (self.limit - self.end) as usize
    }

    #[inline]
    fn pending(&self) -> &[u8] {
        &self.memory[self.range()]
    }
}

type Queue = VecDeque<Piece>;

impl OutgoingBuffer {
    /// Creates the outgoing buffer of the connection `owner`.
    pub fn new(owner: Owner) -> Self {
        let mut buffer = Self::default();
        buffer.owner = owner;
        buffer
    }

    /// Returns the bytes to send first. These are all unsent bytes, unless they are in several
    /// pieces.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        match &self.queue {
            None => self.last.pending(),
            Some(queue) => queue.front().map_or(&[], Piece::pending),
        }
    }

    /// Returns the unsent bytes, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let queued = self.queue.as_deref().into_iter().flatten();
        queued
            .chain([&self.last])
            .map(Piece::pending)
            .filter(|piece| !piece.is_empty())
    }

    /// Returns all unsent bytes if they belong to at most one record.
    #[inline]
    pub fn only_record(&self) -> Option<&[u8]> {
        let pending = self.last.pending();
        let is_all = pending.len() == self.len;
        let next = OutgoingRecords::new(pending, self.cut as usize);
        (is_all && next.next_len() == self.len).then_some(pending)
    }

    /// Returns the records in [`Self::pending`], one by one. The first may be partly sent.
    #[inline]
    pub fn records(&self) -> OutgoingRecords<'_> {
        OutgoingRecords::new(self.pending(), self.cut as usize)
    }

    /// Returns the records that follow [`Self::pending`], piece by piece. No record spans two
    /// pieces.
    pub fn records_behind(&self) -> impl Iterator<Item = OutgoingRecords<'_>> {
        let rest = self.pieces().skip(1);
        rest.map(|piece| OutgoingRecords::new(piece, 0))
    }

    /// Returns the number of unsent bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if everything was sent.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns exactly `len` bytes of room after the unsent bytes. Call [`Self::commit`] after
    /// writing to it.
    ///
    /// Usually aborts the process if memory runs out. Use [`Self::try_room`] for lengths that the
    /// application chooses.
    #[inline]
    pub fn room(&mut self, len: usize) -> &mut [u8] {
        if self.last.room() < len && self.make_room(len).is_err() {
            pool::abort(len);
        }
        self.exposed_room(len)
    }

    /// Like [`Self::room`], but returns an error if memory runs out.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfMemory`] if memory runs out or `len` does not fit into 32 bits, and leaves
    /// the buffer unchanged.
    #[inline]
    pub fn try_room(&mut self, len: usize) -> Result<&mut [u8], OutOfMemory> {
        if self.last.room() < len {
            self.make_room(len)?;
        }
        Ok(self.exposed_room(len))
    }

    #[inline]
    fn exposed_room(&mut self, len: usize) -> &mut [u8] {
        let Piece { memory, end, .. } = &mut self.last;
        let room = *end as usize..*end as usize + len;
        memory.expose(room.end);
        &mut memory[room]
    }

    #[inline]
    fn make_room(&mut self, len: usize) -> Result<(), OutOfMemory> {
        // the positions of a piece are 32 bits wide
        if len > u32::MAX as usize {
            return Err(OutOfMemory);
        }
        if self.last.memory.is_empty() {
            self.last = Piece::new(pool::try_take(len, self.owner)?, self.owner);
            return Ok(());
        }
        self.grow(len)
    }

    #[cold]
    fn grow(&mut self, len: usize) -> Result<(), OutOfMemory> {
        if self.last.is_adopted {
            return self.add_piece(len);
        }
        let last = &mut self.last;
        let used = last.len();
        if justifies_move(last.start as usize, used) && last.memory.len() - used >= len {
            let range = last.range();
            move_down(&mut last.memory, range, 0);
            (last.start, last.end) = (0, used as u32);
            return Ok(());
        }
        // always grow, so that moving pays off next time
        let mut longer = Ord::max(used.saturating_add(len), last.memory.len() + 1);
        if longer <= MAX_POOLED_LEN {
            // records written one by one tend to accumulate, so leave room for one size more than
            // needed
            longer = if longer > RECORD_LEN {
                MAX_POOLED_LEN
            } else {
                Ord::min(pool::fitting_len(longer) + 1, RECORD_LEN)
            };
            let longer = pool::try_take(longer, self.owner)?;
            last.move_to(longer, self.owner);
            return Ok(());
        }
        self.add_piece(len)
    }

    /// Adds a piece with room for `len` bytes. If that is at most half of [`MAX_POOLED_LEN`], the
    /// piece has room for a quarter of the unsent output, up to [`MAX_POOLED_LEN`], if that is
    /// more.
    fn add_piece(&mut self, len: usize) -> Result<(), OutOfMemory> {
        let piece_len = if len > MAX_POOLED_LEN / 2 {
            len
        } else {
            Ord::max(len, Ord::min(self.len / 4, MAX_POOLED_LEN))
        };
        let memory = pool::try_take_close(piece_len, self.owner)?;
        let mut queue = self.queue.take().unwrap_or_default();
        let reserved = queue.try_reserve(1).map_err(|_| OutOfMemory);
        if reserved.is_ok() {
            let next = Piece::new(memory, self.owner);
            queue.push_back(core::mem::replace(&mut self.last, next));
        }
        self.queue = Some(queue).filter(|queue| !queue.is_empty());
        reserved
    }

    /// Appends the first `len` bytes of the room most recently returned by [`Self::room`] or
    /// [`Self::try_room`]. If `len` is 0, releases memory that holds no unsent bytes.
    #[inline]
    pub fn commit(&mut self, len: usize) {
        debug_assert!(len <= self.last.room());
        self.last.end += len as u32;
        self.len += len;
        if self.last.start == self.last.end {
            self.release_last();
        }
    }

    /// Appends a copy of `bytes`.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) {
        copy(bytes, self.room(bytes.len()));
        self.commit(bytes.len());
    }

    /// Queues a copy of `rest`, the unsent end of a record that is sent from elsewhere. Call it
    /// only if everything queued was sent.
    pub fn append_rest(&mut self, rest: &[u8]) {
        debug_assert!(self.is_empty());
        self.append(rest);
        // a record is shorter than 2^32
        self.cut = rest.len() as u32;
    }

    /// Queues `records` in their own memory. Call it only if everything was sent.
    pub fn adopt(&mut self, mut records: SealedRecords) {
        debug_assert!(self.is_empty());
        release(&mut self.last.memory, self.last.owner);
        self.len = records.range.len();
        // the memory of a receive buffer is shorter than 2^32
        let end = records.range.end as u32;
        self.last = Piece {
            memory: core::mem::take(&mut records.memory),
            start: records.range.start as u32,
            end,
            limit: end,
            is_adopted: true,
            owner: records.owner,
        };
    }

    /// Drops the first `len` unsent bytes, or all of them if there are fewer.
    #[inline]
    pub fn consume(&mut self, len: usize) {
        if len >= self.len && self.queue.is_none() {
            self.len = 0;
            self.release_last();
        } else {
            self.consume_part(len);
        }
    }

    #[cold]
    fn consume_part(&mut self, len: usize) {
        if self.queue.is_some() {
            return self.consume_queued(len);
        }
        self.cut = self.records().cut_after(len) as u32;
        let last = &mut self.last;
        last.start += len as u32;
        self.len -= len;
        if last.len() <= last.memory.len() / LITTLE {
            self.shrink();
        }
    }

    fn consume_queued(&mut self, mut len: usize) {
        while let Some(queue) = &mut self.queue {
            let Some(front) = queue.front_mut() else {
                self.queue = None;
                break;
            };
            let sent = Ord::min(len, front.len());
            let records = OutgoingRecords::new(front.pending(), self.cut as usize);
            self.cut = records.cut_after(sent) as u32;
            front.start += sent as u32;
            self.len -= sent;
            len -= sent;
            if front.start != front.end {
                return;
            }
            if let Some(mut sent) = queue.pop_front() {
                release(&mut sent.memory, sent.owner);
            }
        }
        self.consume(len);
    }

    /// Moves the short remainder from a long memory block to a shorter one.
    #[cold]
    fn shrink(&mut self) {
        let len = self.last.len();
        if pool::fitting_len(len) >= self.last.memory.len() {
            return;
        }
        if let Ok(shorter) = pool::try_take(len, self.owner) {
            self.last.move_to(shorter, self.owner);
        }
    }

    /// Releases the memory of the empty last piece.
    #[inline]
    fn release_last(&mut self) {
        let last = &mut self.last;
        (last.start, last.end, last.limit) = (0, 0, 0);
        if self.len == 0 {
            self.cut = 0;
        }
        release(&mut last.memory, last.owner);
        if self.queue.is_some() {
            self.return_to_queue();
        }
    }

    /// Replaces the empty last piece with the piece before it.
    #[cold]
    fn return_to_queue(&mut self) {
        if let Some(piece) = self.queue.as_mut().and_then(|queue| queue.pop_back()) {
            self.last = piece;
        }
        if self.queue.as_ref().is_some_and(|queue| queue.is_empty()) {
            self.queue = None;
        }
    }
}

impl Piece {
    /// Moves the unsent bytes to `memory`.
    fn move_to(&mut self, memory: Memory, owner: Owner) {
        let range = self.range();
        self.limit = memory.len() as u32;
        move_to(&mut self.memory, range, memory, self.owner);
        (self.owner, self.is_adopted) = (owner, false);
        (self.start, self.end) = (0, self.end - self.start);
    }
}

impl Drop for OutgoingBuffer {
    fn drop(&mut self) {
        release(&mut self.last.memory, self.last.owner);
        for piece in self.queue.as_deref_mut().into_iter().flatten() {
            release(&mut piece.memory, piece.owner);
        }
    }
}

impl fmt::Debug for OutgoingBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingBuffer")
            .field("len", &self.len())
            .field("memory_len", &self.last.memory.len())
            .finish()
    }
}
