//! Encrypts application data: into the connection's own buffer, into the caller's, or in place.
//!
//! All three ways call the sender directly. The rare cases (no keys yet, a worn-out key, queued
//! output) are separate, cold functions.

use core::fmt;
use core::ops::Range;
#[cfg(feature = "std")]
use std::io;

use rustls_core::copy::copy;
use rustls_core::crypto::cipher::{InsufficientSizeError, OutboundChunks};

use super::common_state::CommonState;
use super::in_place_error::InPlaceError;
use super::records::Sending;
use super::to_vec::TooShort;
use crate::config::observer::events::Direction;
use crate::enums::ContentType;
use crate::error::Error;
use crate::handshake::established::{Established, KEY_UPDATE_LEN};
use crate::handshake::transport::Transport;
use crate::logging::warn;
#[cfg(feature = "std")]
use crate::record::buffer::OutOfMemory;
use crate::record::sender::{SealError, SealInPlaceError};

impl CommonState {
    /// Seals as much of `payload` as the buffer limit, the key and memory allow, and queues it for
    /// sending. Buffers it instead if it may not be sent yet, and drops it after a close_notify.
    /// Returns the number of bytes accepted.
    #[cfg(feature = "std")]
    #[inline]
    pub(super) fn write_plaintext(&mut self, payload: OutboundChunks<'_>) -> io::Result<usize> {
        let records = &mut self.records;
        let accepted = match self.buffer_limit {
            // queued handshake messages count too, but are never limited themselves
            Some(limit) => Ord::min(payload.len(), limit.saturating_sub(records.outgoing.len())),
            None => payload.len(),
        };
        // the fast path for one record
        if records.sending != Sending::Traffic || !records.sender.can_protect_one(accepted) {
            return self.write_plaintext_slowly(payload, accepted);
        }
        let (payload, _) = payload.split_at(accepted);
        let record_len = records.sender.record_len(accepted);
        let Ok(room) = records.outgoing.try_room(record_len) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        match records
            .sender
            .seal(ContentType::ApplicationData, payload, room)
        {
            Ok(len) => {
                records.outgoing.commit(len);
                Ok(accepted)
            }
            Err(error) => {
                records.outgoing.commit(0);
                Err(invalid_data(self.fail(Error::from(error).into())))
            }
        }
    }

    /// Returns the number of bytes that [`Self::write_plaintext`] accepts and sends, or `None` if
    /// there is no limit.
    #[cfg(feature = "std")]
    pub(super) fn plaintext_room(&self) -> Option<usize> {
        let records = &self.records;
        // RFC 9846 §6.1: nothing follows a close_notify or a fatal alert
        if records.is_sending_over() {
            return Some(0);
        }
        let (waits, protectable) = if records.sending == Sending::Traffic {
            (records.outgoing.len(), self.payload_over_keys())
        } else {
            (records.unsent_plaintext.len(), usize::MAX)
        };
        let room = self
            .buffer_limit
            .map_or(usize::MAX, |limit| limit.saturating_sub(waits));
        Some(Ord::min(room, protectable)).filter(|room| *room != usize::MAX)
    }

    /// Handles the slow cases of [`Self::write_plaintext`]: there are no keys, new keys are needed,
    /// sending is over, or the payload does not need exactly one record.
    #[cfg(feature = "std")]
    #[cold]
    fn write_plaintext_slowly(
        &mut self,
        payload: OutboundChunks<'_>,
        accepted: usize,
    ) -> io::Result<usize> {
        self.check_failed().map_err(invalid_data)?;
        // RFC 9846 §6.1: nothing follows a close_notify. Programs that write during shutdown expect
        // no error
        if self.records.is_sending_over() {
            return Ok(payload.len());
        }
        if self.records.sending == Sending::Traffic {
            let left = self.payload_over_keys();
            if left == 0 && !payload.is_empty() {
                self.close_worn_out();
                return Ok(payload.len());
            }
            let (payload, _) = payload.split_at(Ord::min(accepted, left));
            let len = payload.len();
            let sealed = self.seal_over_keys(payload).map_err(invalid_data)?;
            return write_result(len, sealed);
        }
        let unsent = &mut self.records.unsent_plaintext;
        let room = self
            .buffer_limit
            .map_or(usize::MAX, |limit| limit.saturating_sub(unsent.len()));
        let (payload, _) = payload.split_at(Ord::min(payload.len(), room));
        match unsent.append(&payload) {
            Ok(()) => Ok(payload.len()),
            Err(OutOfMemory) => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }

    /// Seals `payload`, queues it for sending, and replaces the key whenever it reaches its limit
    /// (RFC 9846 §5.5). Returns the number of bytes sealed, which is less than all of `payload`,
    /// and possibly 0, if memory runs out.
    #[cfg(feature = "std")]
    #[cold]
    fn seal_over_keys(&mut self, payload: OutboundChunks<'_>) -> Result<usize, Error> {
        let (mut sealed, mut rest) = (0, payload);
        while !rest.is_empty() {
            self.refresh_worn_key()?;
            let (now, later) = rest.split_at(self.records.sender.payload_left());
            let now_len = now.len();
            let len = self
                .records
                .seal_pieces(now)
                .map_err(|error| self.fail(Error::from(error).into()))?;
            sealed += len;
            if len < now_len {
                break;
            }
            rest = later;
        }
        Ok(sealed)
    }

    /// Replaces the sending key if it has reached its limit (RFC 9846 §5.5). Closes the connection
    /// if the key cannot be replaced.
    #[inline]
    fn refresh_worn_key(&mut self) -> Result<(), Error> {
        if self.records.sender.payload_left() == 0 {
            self.replace_worn_key()
        } else {
            Ok(())
        }
    }

    #[cold]
    fn replace_worn_key(&mut self) -> Result<(), Error> {
        let established = self.established.as_mut();
        match established.and_then(Established::refreshable) {
            Some(secrets) => {
                let refreshed = secrets.refresh(&mut self.records);
                if refreshed.map_err(|error| self.fail(error.into()))? {
                    self.report_keys(Direction::Sending);
                }
            }
            None => self.close_worn_out(),
        }
        match self.records.sender.payload_left() {
            0 => Err(Error::EncryptError),
            _ => Ok(()),
        }
    }

    /// Returns the number of bytes that can be sent before the key reaches its limit, or
    /// `usize::MAX` if the key can be replaced.
    fn payload_over_keys(&self) -> usize {
        match &self.established {
            Some(established) if !established.can_refresh() => self.records.sender.payload_left(),
            _ => usize::MAX,
        }
    }

    /// Prepares for more application data: replaces a key that has reached its limit, or closes the
    /// connection if the key cannot be replaced.
    #[cfg(feature = "std")]
    pub(super) fn prepare_key(&mut self) -> Result<(), Error> {
        if self.records.sending != Sending::Traffic || self.records.sender.payload_left() != 0 {
            return Ok(());
        }
        if self.payload_over_keys() == 0 {
            self.close_worn_out();
            return Ok(());
        }
        self.replace_worn_key()
    }

    /// Closes the connection, because its key cannot protect the next data and cannot be replaced.
    /// The limit leaves room for the close_notify.
    #[cold]
    fn close_worn_out(&mut self) {
        warn!("the sending key has reached its limit");
        self.send_close_notify();
    }

    /// Sends application data that was buffered until there were keys, and then a close_notify if
    /// one has been requested.
    pub(super) fn send_buffered(&mut self) -> Result<(), Error> {
        let closes = match self.records.sending {
            Sending::Traffic => false,
            Sending::TrafficThenClose => true,
            _ => return Ok(()),
        };
        #[cfg(feature = "std")]
        if !self.records.unsent_plaintext.is_empty() {
            self.send_unsent_plaintext()?;
        }
        if closes {
            self.records.close()?;
        }
        Ok(())
    }

    #[cfg(feature = "std")]
    #[cold]
    fn send_unsent_plaintext(&mut self) -> Result<(), Error> {
        for write in core::mem::take(&mut self.records.unsent_plaintext).into_writes() {
            if self.seal_over_keys(write.as_slice().into())? < write.len() {
                let error = Error::General("out of memory".into());
                return Err(self.fail(error.into()));
            }
        }
        Ok(())
    }

    /// Moves queued output to the front of `out`, and encrypts `payload` after it.
    #[inline]
    pub(super) fn encrypt(
        &mut self,
        payload: &[u8],
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let records = &mut self.records;
        if records.sending != Sending::Traffic
            || !records.sender.can_protect(payload.len())
            || !records.outgoing.is_empty()
        {
            return self.encrypt_slowly(payload, out);
        }
        records
            .sender
            .seal(ContentType::ApplicationData, payload.into(), out)
            .map_err(|error| self.seal_failed(error))
    }

    /// Handles the rare cases of [`Self::encrypt`]: sending is impossible, output is queued, or new
    /// keys are needed.
    #[cold]
    fn encrypt_slowly(&mut self, payload: &[u8], out: &mut [u8]) -> Result<usize, EncryptError> {
        if self.records.sending != Sending::Traffic {
            return Err(EncryptError::EncryptExhausted);
        }
        if payload.len() > self.payload_over_keys() {
            self.close_worn_out();
            return Err(EncryptError::EncryptExhausted);
        }
        let sealed_len = self
            .sealed_len_over_keys(payload.len())
            .ok_or(EncryptError::EncryptExhausted)?;
        let required_size = self.records.outgoing.len().saturating_add(sealed_len);
        if out.len() < required_size {
            return Err(InsufficientSizeError { required_size }.into());
        }
        let mut used = self.take_output(out)?;
        let mut rest = OutboundChunks::from(payload);
        loop {
            let (now, later) = rest.split_at(self.records.sender.payload_left());
            let sealed =
                self.records
                    .sender
                    .seal_cold(ContentType::ApplicationData, now, &mut out[used..]);
            used += sealed.map_err(|error| self.seal_failed(error))?;
            if later.is_empty() {
                return Ok(used);
            }
            self.replace_worn_key()
                .map_err(|_| EncryptError::EncryptExhausted)?;
            used += self.take_output(&mut out[used..])?;
            rest = later;
        }
    }

    /// Ends the connection, unless the output was too short.
    #[cold]
    pub(super) fn seal_failed(&mut self, error: SealError) -> EncryptError {
        match error {
            SealError::InsufficientSize(size) => size.into(),
            SealError::Exhausted | SealError::Failed => {
                self.fail(Error::from(error).into());
                EncryptError::EncryptExhausted
            }
        }
    }

    /// Returns the length in bytes of the records that carry `payload_len` bytes, with KeyUpdates
    /// in between. Returns `None` if the payload needs a fresh key, and a fresh key cannot protect
    /// any byte.
    fn sealed_len_over_keys(&self, payload_len: usize) -> Option<usize> {
        let sender = &self.records.sender;
        let (mut rest, mut sealed_len) = (payload_len, 0_usize);
        let mut left = sender.payload_left();
        while rest > left {
            sealed_len = sealed_len
                .saturating_add(sender.sealed_len(left))
                .saturating_add(sender.sealed_len(KEY_UPDATE_LEN));
            rest -= left;
            left = sender.payload_per_key();
            if left == 0 {
                return None;
            }
        }
        Some(sealed_len.saturating_add(sender.sealed_len(rest)))
    }

    /// Moves queued output to the front of `out`. Nothing changes if `out` is too short.
    pub(super) fn take_output(&mut self, out: &mut [u8]) -> Result<usize, InsufficientSizeError> {
        let outgoing = &mut self.records.outgoing;
        let required_size = outgoing.len();
        let Some(out) = out.get_mut(..required_size) else {
            return Err(InsufficientSizeError { required_size });
        };
        let mut used = 0;
        for piece in outgoing.pieces() {
            copy(piece, &mut out[used..used + piece.len()]);
            used += piece.len();
        }
        outgoing.consume(required_size);
        Ok(required_size)
    }

    /// Moves the first queued record to the front of `out`. Nothing changes if `out` is too short.
    pub(super) fn take_record(&mut self, out: &mut [u8]) -> Result<usize, InsufficientSizeError> {
        let outgoing = &mut self.records.outgoing;
        let record = outgoing.records().next().unwrap_or_default();
        let required_size = record.len();
        let Some(out) = out.get_mut(..required_size) else {
            return Err(InsufficientSizeError { required_size });
        };
        copy(record, out);
        outgoing.consume(required_size);
        Ok(required_size)
    }

    /// Encrypts the application data at `payload` in `buf` in place, and builds a record around it.
    #[inline]
    pub(super) fn encrypt_in_place(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, InPlaceError> {
        let records = &mut self.records;
        if records.sending != Sending::Traffic
            || !records.sender.can_protect(1)
            || !records.outgoing.is_empty()
        {
            self.prepare_in_place()?;
        }
        self.records
            .sender
            .seal_in_place(ContentType::ApplicationData, buf, payload)
            .map_err(|error| self.in_place_failed(error))
    }

    /// Ends the connection if the cipher failed or no sequence number is left. A cipher that failed
    /// has used up a sequence number, and its partial record cannot be sent. Other errors change
    /// nothing.
    #[cold]
    fn in_place_failed(&mut self, error: SealInPlaceError) -> InPlaceError {
        if let SealInPlaceError::Exhausted | SealInPlaceError::Failed = error {
            self.fail(Error::EncryptError.into());
        }
        error.into()
    }

    /// Checks that a record can be sent next. Replaces a key that has reached its limit, or closes
    /// the connection if the key cannot be replaced.
    #[cold]
    fn prepare_in_place(&mut self) -> Result<(), InPlaceError> {
        match self.records.sending {
            Sending::Traffic => {}
            Sending::Handshake | Sending::EarlyData { .. } => {
                return Err(InPlaceError::HandshakeNotComplete);
            }
            Sending::HandshakeThenClose
            | Sending::TrafficThenClose
            | Sending::Closed
            | Sending::Elsewhere => return Err(InPlaceError::EncryptExhausted),
        }
        // reply to a KeyUpdate only once the reply before it is sent: a peer that requests many
        // updates and reads nothing must not make the output grow
        if self.records.outgoing.is_empty() || self.records.has_used_sending_key() {
            self.refresh_worn_key()
                .map_err(|_| InPlaceError::EncryptExhausted)?;
        }
        if !self.records.outgoing.is_empty() {
            return Err(InPlaceError::OutputPending);
        }
        Ok(())
    }
}

/// The reason why application data was not encrypted.
#[derive(Debug)]
pub enum EncryptError {
    /// The output buffer is too short. Nothing has changed.
    InsufficientSize(InsufficientSizeError),

    /// Nothing more can be encrypted on this connection: a close_notify was requested, the
    /// connection has failed, or its key cannot protect the data and cannot be replaced. In an
    /// `EarlyDataError`, only early data can no longer be encrypted, unless the connection has
    /// failed.
    EncryptExhausted,
}

impl From<InsufficientSizeError> for EncryptError {
    fn from(error: InsufficientSizeError) -> Self {
        Self::InsufficientSize(error)
    }
}

impl fmt::Display for EncryptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InsufficientSize(InsufficientSizeError { required_size }) => write!(
                f,
                "cannot encrypt due to insufficient size, {required_size} bytes are required"
            ),
            Self::EncryptExhausted => f.write_str("encrypter has been exhausted"),
        }
    }
}

impl core::error::Error for EncryptError {}

impl TooShort for EncryptError {
    fn required_size(&self) -> Option<usize> {
        match self {
            Self::InsufficientSize(error) => Some(error.required_size),
            Self::EncryptExhausted => None,
        }
    }
}

/// Returns the result of a write of `len` bytes if memory had room for `taken` of them.
#[cfg(feature = "std")]
pub(super) fn write_result(len: usize, taken: usize) -> io::Result<usize> {
    if taken == 0 && len != 0 {
        Err(io::ErrorKind::OutOfMemory.into())
    } else {
        Ok(taken)
    }
}

/// Wraps a TLS error in an I/O error.
#[cfg(feature = "std")]
pub(super) fn invalid_data(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    /// `Write::write_all` would treat `Ok(0)` as the end of the stream.
    #[test]
    fn a_write_without_memory_is_an_error() {
        let error = write_result(10, 0).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        for (len, taken) in [(10, 10), (10, 1), (0, 0)] {
            assert_eq!(write_result(len, taken).unwrap(), taken);
        }
    }
}
