//! Passes application data on: from one connection to another, and between a connection and a plain
//! socket.

use std::io::{self, IoSlice};

use smallvec::SmallVec;

use super::common_state::CommonState;
use super::records::{Records, Sending, impossible_read};
use super::sending::invalid_data;
use super::write_outgoing::impossible_write;
use crate::enums::ContentType;
use crate::error::Error;
use crate::record::buffer::{OutOfMemory, ReceiveBuffer};

/// The length in bytes of the memory that is taken at a time for several records.
const MANY_RECORDS: usize = 64 * 1024;

/// The maximum number of pieces of plaintext per call to a writer.
const MOST_CHUNKS: usize = 64;

/// The maximum length in bytes of a piece of plaintext that is copied to share a record with the
/// next pieces. A longer first piece gets its own record, because copying it would cost more than a
/// record.
const SHORT: usize = 2048;

impl CommonState {
    /// Encrypts as much unread plaintext of `from` as the buffer limit allows, and queues it for
    /// sending, or buffers it until it may be sent. The bytes count as read. Returns their number.
    pub(super) fn relay(&mut self, from: &mut Records) -> io::Result<usize> {
        self.check_relay()?;
        let Records {
            received: from,
            drains_immediately,
            ..
        } = from;
        let mut relayed = self.relay_in_place(from)?;
        if relayed != 0 {
            *drains_immediately = true;
        } else if from.unread() != 0 {
            *drains_immediately = false;
            self.make_room_for(from);
        }
        while from.unread() != 0 {
            match self.relay_record(from) {
                Ok(0) => break,
                Ok(len) => relayed += len,
                // the next call returns this error, or tries again
                Err(_) if relayed != 0 => break,
                Err(error) => {
                    // releases unused room
                    self.records.outgoing.commit(0);
                    return Err(error);
                }
            }
        }
        Ok(relayed)
    }

    /// Seals all opened records of `from` in place, and queues them together with their memory.
    /// Returns 0 if they have to be sealed elsewhere.
    fn relay_in_place(&mut self, from: &mut ReceiveBuffer) -> io::Result<usize> {
        let records = &mut self.records;
        let len = from.unread();
        let is_possible = records.sending == Sending::Traffic
            && records.outgoing.is_empty()
            && self.buffer_limit.is_none_or(|limit| len <= limit);
        let room = records.sender.in_place_room();
        let Some(count) = from.sealable(room).filter(|_| is_possible) else {
            return Ok(0);
        };
        let are_short = count != 1 && len <= count * SHORT;
        if are_short || !records.sender.can_protect(count * room.max_payload) {
            return Ok(0);
        }
        let sealed = from.take_sealed(|record, payload| {
            let sealed =
                records
                    .sender
                    .seal_in_place(ContentType::ApplicationData, record, payload);
            sealed.map(|sealed| debug_assert_eq!(sealed, 0..record.len()))
        });
        match sealed {
            Ok(sealed) => records.outgoing.adopt(sealed),
            Err(_) => return Err(invalid_data(self.fail(Error::EncryptError.into()))),
        }
        Ok(len)
    }

    /// Makes room for records that cannot stay in the memory of `from`, if there are several: takes
    /// memory for many of them at once, so that it does not grow with each record. If memory runs
    /// out, each record reports that itself.
    fn make_room_for(&mut self, from: &ReceiveBuffer) {
        let room = self.plaintext_room().unwrap_or(MANY_RECORDS);
        let len = Ord::min(from.unread(), room);
        if len > self.records.sender.max_fragment_len() && self.records.sending == Sending::Traffic
        {
            let _ = self.records.outgoing.try_room(MANY_RECORDS);
        }
    }

    /// Passes on at most one piece of `from`'s plaintext or, if the piece is short and sending is
    /// possible, up to one record's worth. Returns the number of bytes; 0 if there is no room.
    fn relay_record(&mut self, from: &mut ReceiveBuffer) -> io::Result<usize> {
        self.check_relay()?;
        let chunk = from.chunk();
        if chunk.len() <= SHORT && self.records.sending == Sending::Traffic {
            return self.relay_short(from);
        }
        let len = self.write_plaintext(chunk.into())?;
        from.consume(len);
        Ok(len)
    }

    fn relay_short(&mut self, from: &mut ReceiveBuffer) -> io::Result<usize> {
        let most = Ord::min(self.room_in_record(), from.unread());
        if most == 0 {
            return Ok(0);
        }
        let len = self.fill_record(most, |place| Ok(from.read(place)))?;
        self.seal_filled(len)?;
        Ok(len)
    }

    /// Replaces a worn-out key, and checks that application data can be sent or buffered. Data that
    /// is passed on must not be dropped silently, unlike data that is written after a close_notify.
    pub(super) fn check_relay(&mut self) -> io::Result<()> {
        self.check_failed().map_err(invalid_data)?;
        self.prepare_key().map_err(invalid_data)?;
        if self.records.is_sending_over() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    }

    /// Calls `rd.read` at most once, with space for the next record's plaintext. Returns the number
    /// of bytes read, for [`Self::seal_filled`].
    pub(super) fn read_plaintext(&mut self, rd: &mut dyn io::Read) -> io::Result<usize> {
        match self.room_in_record() {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            most => self.fill_record(most, |place| rd.read(place)),
        }
    }

    /// Returns the number of plaintext bytes that the next record may carry.
    fn room_in_record(&self) -> usize {
        let most = self.records.sender.max_fragment_len();
        self.plaintext_room()
            .map_or(most, |room| Ord::min(room, most))
    }

    /// Calls `fill` with space for `most` bytes of plaintext in the next record. Returns the number
    /// of bytes that it wrote, for [`Self::seal_filled`].
    fn fill_record(
        &mut self,
        most: usize,
        fill: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let room = self.records.sender.in_place_room();
        let outgoing = &mut self.records.outgoing;
        let Ok(place) = outgoing.try_room(room.headroom + most + room.tailroom) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        let filled = match fill(&mut place[room.headroom..room.headroom + most]) {
            Ok(len) if len > most => Err(impossible_read()),
            result => result,
        };
        if !matches!(filled, Ok(1..)) {
            outgoing.commit(0);
        }
        filled
    }

    /// Seals the `len` bytes that [`Self::fill_record`] has just filled in, and queues the record.
    /// If data may not be sent yet, buffers the bytes instead.
    pub(super) fn seal_filled(&mut self, len: usize) -> io::Result<()> {
        let room = self.records.sender.in_place_room();
        let records = &mut self.records;
        let payload = room.headroom..room.headroom + len;
        let place = records.outgoing.room(payload.end + room.tailroom);
        if records.sending != Sending::Traffic {
            let kept = records.unsent_plaintext.append(&place[payload].into());
            records.outgoing.commit(0);
            // the bytes are lost, so the connection must fail
            return kept.map_err(|OutOfMemory| {
                let error = Error::General("out of memory".into());
                invalid_data(self.fail(error.into()))
            });
        }
        let sealed = records
            .sender
            .seal_in_place(ContentType::ApplicationData, place, payload);
        // the record fills the place
        records
            .outgoing
            .commit(sealed.as_ref().map_or(0, |record| record.len()));
        match sealed {
            Ok(_) => Ok(()),
            Err(_) => Err(invalid_data(self.fail(Error::EncryptError.into()))),
        }
    }
}

/// Writes up to 64 pieces of the unread plaintext of `received`, with one call to `wr`.
pub(super) fn write_received(
    received: &mut ReceiveBuffer,
    wr: &mut dyn io::Write,
) -> io::Result<usize> {
    let mut slices = SmallVec::<[IoSlice<'_>; MOST_CHUNKS]>::new();
    let mut given = 0;
    for chunk in received.chunks().take(MOST_CHUNKS) {
        given += chunk.len();
        slices.push(IoSlice::new(chunk));
    }
    if slices.is_empty() {
        return Ok(0);
    }
    let written = wr.write_vectored(&slices)?;
    drop(slices);
    received.consume_chunks(Ord::min(written, given));
    if written <= given {
        Ok(written)
    } else {
        Err(impossible_write(written, given))
    }
}
