//! The sending half of a connection's record layer: cuts what is to be sent into records, gives each
//! its sequence number and header, and has it encrypted into the memory that the caller provides.
//!
//! It owns the encrypter, the sequence number and the limits of the key. It owns no buffer.

use alloc::boxed::Box;
use core::fmt;
use core::ops::Range;

use super::{HEADER_LEN, MAX_FRAGMENT_LEN};
use crate::crypto::cipher::{
    EncryptError, FromThisCrate, InsufficientSizeError, MessageEncrypter, OutboundChunks,
    OutboundPlainMessage,
};
use crate::enums::{ContentType, ProtocolVersion};
use crate::error::Error;

#[cfg(test)]
mod tests;

/// The most records that one key protects, whatever its AEAD allows: sequence numbers must not wrap (RFC 9846
/// §5.3), and the last ones are reserved for alerts.
const MAX_RECORDS: u64 = u64::MAX - 16;

/// The version in the headers of protected records (RFC 9846 §5.2, RFC 5246 §6.2.1).
const PROTECTED_VERSION: ProtocolVersion = ProtocolVersion::TLSv1_2;

/// The sending half of the record layer.
///
/// A record in its buffer, before and after sealing; `offset` is eight bytes for TLS 1.2 AES-GCM and
/// none otherwise:
///
/// ```text
///          ┌─ head_len() ────┐┌─ payload ─────────────────────┐┌─ tail_len() ─┐
///   before │     anything    ││ plaintext                     ││   anything   │
///          └─────────────────┘└───────────────────────────────┘└──────────────┘
///   after  │ header │ offset ││ ciphertext                    ││ type │  tag  │
///          └──────────────────────────── one record ──────────────────────────┘
/// ```
pub struct RecordSender {
    encrypter: Option<Box<dyn MessageEncrypter>>,
    /// The sequence number of the next record.
    seq: u64,
    /// How many bytes a record has before its payload, and behind it.
    head_len: usize,
    tail_len: usize,
    /// The most plaintext bytes of a record.
    max_fragment_len: usize,
    /// How many records the key may protect (RFC 9846 §5.5), less one for the KeyUpdate that announces the
    /// next key.
    key_limit: u64,
    /// The same, or how many it has protected when it counts as worn out.
    record_limit: u64,
    /// The version in the headers of unprotected records.
    plaintext_version: ProtocolVersion,
    /// The type in the headers of protected records, unless it is that of their content.
    outer_type: Option<u8>,
    /// The encrypter may leave part of its output unwritten, so the output is cleared first.
    clears_output: bool,
    /// Set for good by [`Self::close`].
    closed: bool,
}

impl RecordSender {
    /// A sender without keys: what it sends is in the clear.
    pub fn new() -> Self {
        Self {
            encrypter: None,
            seq: 0,
            head_len: HEADER_LEN,
            tail_len: 0,
            max_fragment_len: MAX_FRAGMENT_LEN,
            key_limit: MAX_RECORDS - 1,
            record_limit: MAX_RECORDS - 1,
            plaintext_version: ProtocolVersion::TLSv1_2,
            outer_type: None,
            clears_output: false,
            closed: false,
        }
    }

    /// Sets how long the records sent may be, in bytes of plaintext and header: 32 to 2^14 + 5, or
    /// `None` for the maximum.
    ///
    /// # Errors
    ///
    /// [`Error::BadMaxFragmentSize`] for anything else.
    pub fn set_max_fragment_size(&mut self, size: Option<usize>) -> Result<(), Error> {
        self.max_fragment_len = match size {
            None => MAX_FRAGMENT_LEN,
            Some(size @ 32..) if size <= MAX_FRAGMENT_LEN + HEADER_LEN => size - HEADER_LEN,
            Some(_) => return Err(Error::BadMaxFragmentSize),
        };
        Ok(())
    }

    /// Sets the version in the headers of unprotected records; 0x0303 unless set.
    pub fn set_plaintext_version(&mut self, version: ProtocolVersion) {
        self.plaintext_version = version;
    }

    /// Protects all that follows with `encrypter`, from sequence number 0 on.
    ///
    /// `confidentiality_limit` is how many records its key may protect. Without effect after
    /// [`Self::close`].
    pub fn set_encrypter(
        &mut self,
        encrypter: Box<dyn MessageEncrypter>,
        version: ProtocolVersion,
        confidentiality_limit: u64,
    ) {
        if self.closed {
            return;
        }
        let offset = encrypter.payload_offset();
        self.head_len = HEADER_LEN + offset;
        self.tail_len = encrypter.encrypted_payload_len(0).saturating_sub(offset);
        self.clears_output = !encrypter.overwrites_output(FromThisCrate::new());
        self.encrypter = Some(encrypter);
        // RFC 9846 §5.2: the outer type of a protected TLS 1.3 record is always application_data
        self.outer_type = match version {
            ProtocolVersion::TLSv1_3 => Some(ContentType::ApplicationData.into()),
            _ => None,
        };
        self.key_limit = Ord::min(confidentiality_limit, MAX_RECORDS).saturating_sub(1);
        self.record_limit = self.key_limit;
        self.seq = 0;
    }

    /// Drops the encrypter, and its key with it: what follows is in the clear again, as a second ClientHello
    /// after early data is. Without effect after [`Self::close`].
    pub fn clear_encrypter(&mut self) {
        if self.closed {
            return;
        }
        *self = Self {
            max_fragment_len: self.max_fragment_len,
            plaintext_version: self.plaintext_version,
            ..Self::new()
        };
    }

    /// Drops the encrypter, and its key with it. Nothing can be sealed any more, not even in the clear: every
    /// further call is [`SealError::Exhausted`] or [`InPlaceError::EncryptExhausted`].
    pub fn close(&mut self) {
        self.encrypter = None;
        self.record_limit = 0;
        // none is left, so that there is no more to check for each record
        self.seq = u64::MAX;
        self.closed = true;
    }

    /// Makes the key count as worn out: no payload is left to it, only the KeyUpdate that announces the next
    /// key, and alerts.
    pub fn retire_key(&mut self) {
        self.record_limit = Ord::min(self.record_limit, self.seq);
    }

    /// True when what is sent is protected.
    pub fn is_encrypting(&self) -> bool {
        self.encrypter.is_some()
    }

    /// The sequence number of the next record.
    pub fn sequence(&self) -> u64 {
        self.seq
    }

    /// How many bytes of payload may still be sent before the key has reached its limit and must be
    /// replaced. One record is kept for the KeyUpdate that announces the new key.
    #[inline]
    pub fn payload_left(&self) -> usize {
        self.payload_of_records(self.record_limit.saturating_sub(self.seq))
    }

    /// True when the key can protect `payload_len` more bytes of payload.
    #[inline]
    pub fn can_protect(&self, payload_len: usize) -> bool {
        if payload_len <= self.max_fragment_len {
            self.seq < self.record_limit
        } else {
            payload_len <= self.payload_left()
        }
    }

    /// How many bytes of payload a key may protect from its first record on.
    pub fn payload_per_key(&self) -> usize {
        self.payload_of_records(self.key_limit)
    }

    #[inline]
    fn payload_of_records(&self, records: u64) -> usize {
        usize::try_from(records)
            .unwrap_or(usize::MAX)
            .saturating_mul(self.max_fragment_len)
    }

    /// The most plaintext bytes that one record carries.
    pub fn max_fragment_len(&self) -> usize {
        self.max_fragment_len
    }

    /// The number of bytes of the records that carry `payload_len` bytes; zero for an empty payload.
    #[inline]
    pub fn sealed_len(&self, payload_len: usize) -> usize {
        match payload_len {
            0 => 0,
            _ if payload_len <= self.max_fragment_len => self.overhead() + payload_len,
            _ => self
                .records(payload_len)
                .saturating_mul(self.overhead())
                .saturating_add(payload_len),
        }
    }

    /// The number of records that carry `payload_len` bytes.
    fn records(&self, payload_len: usize) -> usize {
        payload_len.div_ceil(self.max_fragment_len)
    }

    /// How many bytes a record has beside its payload.
    #[inline]
    fn overhead(&self) -> usize {
        self.head_len + self.tail_len
    }

    /// How many bytes a record has before its payload.
    #[inline]
    pub fn head_len(&self) -> usize {
        self.head_len
    }

    /// How many bytes a record has after its payload.
    #[inline]
    pub fn tail_len(&self) -> usize {
        self.tail_len
    }

    /// How much room [`Self::seal_in_place`] needs around a payload.
    pub fn in_place_room(&self) -> InPlaceRoom {
        InPlaceRoom {
            headroom: self.head_len,
            max_payload: self.max_fragment_len,
            tailroom: self.tail_len,
        }
    }

    /// Writes the records that carry `payload` to the front of `out`; returns how many bytes they are.
    ///
    /// # Errors
    ///
    /// [`SealError::InsufficientSize`] when `out` is shorter than [`Self::sealed_len`],
    /// [`SealError::Exhausted`] when there are fewer sequence numbers than records, and after
    /// [`Self::close`]: nothing was written and no sequence number used. [`SealError::Failed`] when the
    /// cipher refuses; the connection is unusable then.
    #[inline]
    pub fn seal(
        &mut self,
        typ: ContentType,
        payload: OutboundChunks<'_>,
        out: &mut [u8],
    ) -> Result<usize, SealError> {
        let payload_len = payload.len();
        if payload_len > self.max_fragment_len || payload_len == 0 {
            return self.seal_fragments(typ, payload, out);
        }
        let required_size = self.overhead() + payload_len;
        let Some(record) = out.get_mut(..required_size) else {
            return Err(SealError::InsufficientSize(InsufficientSizeError {
                required_size,
            }));
        };
        let seq = self.next_sequence()?;
        let (header, body) = record.split_at_mut(HEADER_LEN);
        let Some(encrypter) = &mut self.encrypter else {
            payload.copy_to_slice(body);
            let version = self.plaintext_version;
            header.copy_from_slice(&record_header(typ.into(), version, body.len()));
            return Ok(required_size);
        };
        if self.clears_output {
            body.fill(0);
        }
        let msg = OutboundPlainMessage {
            typ,
            version: PROTECTED_VERSION,
            payload,
        };
        check_written(encrypter.encrypt(msg, seq, body), body)?;
        let outer_type = self.outer_type.unwrap_or_else(|| typ.into());
        header.copy_from_slice(&record_header(outer_type, PROTECTED_VERSION, body.len()));
        Ok(required_size)
    }

    /// [`Self::seal`] where speed does not matter. It is a call, so that the others are none.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::seal`].
    #[cold]
    #[inline(never)]
    pub fn seal_rarely(
        &mut self,
        typ: ContentType,
        payload: OutboundChunks<'_>,
        out: &mut [u8],
    ) -> Result<usize, SealError> {
        self.seal(typ, payload, out)
    }

    /// [`Self::seal`] for any number of records other than one.
    fn seal_fragments(
        &mut self,
        typ: ContentType,
        payload: OutboundChunks<'_>,
        out: &mut [u8],
    ) -> Result<usize, SealError> {
        let required_size = self.sealed_len(payload.len());
        if out.len() < required_size {
            return Err(SealError::InsufficientSize(InsufficientSizeError {
                required_size,
            }));
        }
        self.check_sequence(self.records(payload.len()) as u64)?;
        let mut rest = payload;
        let mut used = 0;
        while !rest.is_empty() {
            let (fragment, behind) = rest.split_at(self.max_fragment_len);
            used += self.seal(typ, fragment, &mut out[used..])?;
            rest = behind;
        }
        Ok(used)
    }

    /// Builds one record around the plaintext at `payload` of `buf`; returns where in `buf` the
    /// record is. An empty payload makes no record, as in [`Self::seal`].
    ///
    /// # Errors
    ///
    /// [`InPlaceError`]: too little room before or after, too long a payload, a sender that was closed;
    /// nothing was changed and no sequence number used. Also [`InPlaceError::EncryptExhausted`] when the cipher
    /// refuses; the connection is unusable then, and the content of the record's place unspecified.
    ///
    /// # Panics
    ///
    /// Never: a range that is not within `buf` is [`InPlaceError::PayloadOutOfBounds`].
    pub fn seal_in_place(
        &mut self,
        typ: ContentType,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, InPlaceError> {
        let Some(record) = self.record_around(&payload, buf.len()) else {
            return self.in_place_without_record(payload, buf.len());
        };
        let seq = self.next_sequence()?;
        let (header, body) = buf[record.clone()].split_at_mut(HEADER_LEN);
        let Some(encrypter) = &mut self.encrypter else {
            header.copy_from_slice(&record_header(
                typ.into(),
                self.plaintext_version,
                body.len(),
            ));
            return Ok(record);
        };
        let written = encrypter.encrypt_in_place(typ, PROTECTED_VERSION, payload.len(), seq, body);
        check_written(written, body)?;
        let outer_type = self.outer_type.unwrap_or_else(|| typ.into());
        header.copy_from_slice(&record_header(outer_type, PROTECTED_VERSION, body.len()));
        Ok(record)
    }

    /// Where in a buffer of `buf_len` bytes the record around `payload` is; `None` when there can be none.
    #[inline]
    fn record_around(&self, payload: &Range<usize>, buf_len: usize) -> Option<Range<usize>> {
        let payload_len = payload.end.checked_sub(payload.start)?;
        let start = payload.start.checked_sub(self.head_len)?;
        let end = payload.end.checked_add(self.tail_len)?;
        let is_possible =
            payload_len != 0 && payload_len <= self.max_fragment_len && end <= buf_len;
        is_possible.then_some(start..end)
    }

    /// Why [`Self::record_around`] found none.
    #[cold]
    fn in_place_without_record(
        &self,
        payload: Range<usize>,
        buf_len: usize,
    ) -> Result<Range<usize>, InPlaceError> {
        if self.closed {
            return Err(InPlaceError::EncryptExhausted);
        }
        if payload.start > payload.end || payload.end > buf_len {
            return Err(InPlaceError::PayloadOutOfBounds);
        }
        if payload.len() > self.max_fragment_len {
            return Err(InPlaceError::PayloadTooLong {
                max: self.max_fragment_len,
            });
        }
        if payload.is_empty() {
            return Ok(payload);
        }
        if payload.start < self.head_len {
            return Err(InPlaceError::HeadroomTooShort {
                required: self.head_len,
            });
        }
        Err(InPlaceError::TailroomTooShort {
            required: self.tail_len,
        })
    }

    /// Checks that there are sequence numbers for this many records: they must not wrap (RFC 9846 §5.3).
    fn check_sequence(&self, records: u64) -> Result<(), SealError> {
        if self.closed || self.seq.checked_add(records).is_none() {
            return Err(SealError::Exhausted);
        }
        Ok(())
    }

    /// The sequence number of the record about to be sent.
    ///
    /// It counts as used even if the record fails: no nonce is ever used twice.
    #[inline]
    fn next_sequence(&mut self) -> Result<u64, SealError> {
        let seq = self.seq;
        // RFC 9846 §5.3: sequence numbers must not wrap
        if seq == u64::MAX {
            return Err(SealError::Exhausted);
        }
        self.seq = seq + 1;
        Ok(seq)
    }
}

impl Default for RecordSender {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RecordSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordSender")
            .field("encrypting", &self.is_encrypting())
            .field("seq", &self.seq)
            .finish_non_exhaustive()
    }
}

/// An encrypter gets exactly the room it asked for and must fill it. If it reports any other length, the
/// record cannot be sent.
#[inline]
fn check_written(written: Result<usize, EncryptError>, body: &[u8]) -> Result<(), SealError> {
    match written {
        Ok(len) if len == body.len() => Ok(()),
        _ => Err(SealError::Failed),
    }
}

#[inline]
fn record_header(typ: u8, version: ProtocolVersion, len: usize) -> [u8; HEADER_LEN] {
    let [major, minor] = version.to_array();
    let [high, low] = (len as u16).to_be_bytes();
    [typ, major, minor, high, low]
}

/// Why [`RecordSender::seal`] wrote nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealError {
    /// The output is too short; nothing changed.
    InsufficientSize(InsufficientSizeError),
    /// The sequence numbers of the key are used up; nothing changed.
    Exhausted,
    /// The cipher refused.
    Failed,
}

impl From<SealError> for Error {
    fn from(_: SealError) -> Self {
        Self::EncryptError
    }
}

/// How much room a record needs around a payload that is encrypted where it lies, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlaceRoom {
    /// Before the payload: the record header, and the explicit nonce of TLS 1.2 AES-GCM.
    pub headroom: usize,
    /// The most payload that one record takes.
    pub max_payload: usize,
    /// Behind the payload: content type and authentication tag.
    pub tailroom: usize,
}

/// An error of sealing plaintext in place. The buffer and the connection are unchanged, unless a cipher has failed,
/// which is [`Self::EncryptExhausted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InPlaceError {
    /// There is too little room before the payload.
    HeadroomTooShort {
        /// The number of bytes needed before the payload.
        required: usize,
    },
    /// There is too little room after the payload.
    TailroomTooShort {
        /// The number of bytes needed after the payload.
        required: usize,
    },
    /// The payload does not fit into one record.
    PayloadTooLong {
        /// The most bytes that one record carries.
        max: usize,
    },
    /// The payload's range is not within the buffer.
    PayloadOutOfBounds,
    /// Earlier output waits to be sent. Send it first, or the record would overtake it.
    OutputPending,
    /// Application data cannot be sent yet: the handshake is not complete.
    HandshakeNotComplete,
    /// The connection can no longer send application data. If the cipher failed during this call, the contents of the
    /// payload and of the room around it are unspecified.
    EncryptExhausted,
}

impl From<SealError> for InPlaceError {
    fn from(_: SealError) -> Self {
        // lengths were checked before, so this is the end of the key's life
        Self::EncryptExhausted
    }
}

impl fmt::Display for InPlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeadroomTooShort { required } => {
                write!(f, "{required} bytes are needed before the payload")
            }
            Self::TailroomTooShort { required } => {
                write!(f, "{required} bytes are needed after the payload")
            }
            Self::PayloadTooLong { max } => {
                write!(f, "the payload is longer than one record's {max} bytes")
            }
            Self::PayloadOutOfBounds => f.write_str("the payload is not within the buffer"),
            Self::OutputPending => f.write_str("earlier output must be sent first"),
            Self::HandshakeNotComplete => f.write_str("the handshake is not complete"),
            Self::EncryptExhausted => f.write_str("the connection can no longer encrypt"),
        }
    }
}

impl core::error::Error for InPlaceError {}
