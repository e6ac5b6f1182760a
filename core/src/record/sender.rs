//! The sending half of a connection's record layer. It cuts a payload into records, gives each
//! record a sequence number and a header, and encrypts the content if there is a key. It writes to
//! memory that the caller provides.
//!
//! The sender owns the encrypter, the sequence number and the limits of the key. It owns no buffer.

use alloc::boxed::Box;
use core::ops::Range;
use core::{fmt, mem};

use super::counting::counting;
use super::{HEADER_LEN, MAX_FRAGMENT_LEN};
use crate::crypto::cipher::{
    EncryptError, FromThisCrate, InsufficientSizeError, MessageEncrypter, OutboundChunks,
    OutboundPlainMessage,
};
use crate::enums::{ContentType, ProtocolVersion};
use crate::error::Error;

#[cfg(test)]
mod tests;

/// The maximum number of records that one key protects, apart from alerts, even if its AEAD allows
/// more. Sequence numbers must not wrap (RFC 9846 §5.3), and the last ones are reserved for alerts.
const MAX_RECORDS: u64 = u64::MAX - 16;

/// The maximum number of bytes that an encrypter may add to a record: 256 in TLS 1.3 (RFC 9846
/// §5.2), 2048 in TLS 1.2 (RFC 5246 §6.2.3).
const MAX_EXPANSION_TLS13: usize = 256;
const MAX_EXPANSION_TLS12: usize = 2048;

/// The version in the headers of protected records (RFC 9846 §5.2, RFC 5246 §6.2.1).
const PROTECTED_VERSION: ProtocolVersion = ProtocolVersion::TLSv1_2;

/// The sending half of the record layer.
///
/// A record in its buffer, before and after sealing. `offset` is eight bytes for TLS 1.2 AES-GCM
/// and empty otherwise. Only TLS 1.3 has `type`:
///
/// ```text
///          ┌─ head_len() ────┐┌─ payload ─────────────────────┐┌─ tail_len() ─┐
///   before │     anything    ││ plaintext                     ││   anything   │
///          └─────────────────┘└───────────────────────────────┘└──────────────┘
///   after  │ header │ offset ││ ciphertext                    ││ type │  tag  │
///          └──────────────────────────── one record ──────────────────────────┘
/// ```
///
/// To decide whether the key can protect more payload, hot paths check only `record_limit`, not
/// `protection`. So [`Self::close`] sets `record_limit` to 0.
pub struct RecordSender {
    protection: Protection,
    /// The sequence number of the next record.
    seq: u64,
    /// The number of bytes before the payload of a record: header and explicit nonce.
    head_len: usize,
    /// The number of bytes after the payload of a record: the content type of TLS 1.3, and the tag.
    tail_len: usize,
    /// The maximum number of plaintext bytes in a record.
    max_fragment_len: usize,
    /// The number of records that the key may protect (RFC 9846 §5.5), minus one for the KeyUpdate
    /// that announces the next key.
    key_limit: u64,
    /// `key_limit`; if the key was retired before that limit, the number of records that it had
    /// protected by then; 0 after [`Self::close`].
    record_limit: u64,
}

/// The protection of the records that are sent from now on.
enum Protection {
    /// Records are not protected, because there is no key. The value is the version in their
    /// headers.
    Plain(ProtocolVersion),
    /// Records are protected by a key.
    Sealed(Sealer),
    /// Sealing fails, because the encrypter claims impossible lengths.
    Refused,
    /// Nothing can be sealed, not even unprotected, and no key can be installed.
    Closed,
    /// Records are protected by the value's [`Counted::protection`], and counted.
    Counted(Box<Counted>),
}

counting!(RecordSender);

/// An encrypter, and the properties that sealing needs.
struct Sealer {
    encrypter: Box<dyn MessageEncrypter>,
    /// The type in record headers; `None` to use the type of the content.
    outer_type: Option<u8>,
    /// True if the encrypter may leave part of its output unwritten, so [`Self::seal`] clears the
    /// output first.
    clears_output: bool,
}

impl RecordSender {
    /// Creates a sender without keys. It sends unprotected records.
    pub fn new() -> Self {
        Self {
            protection: Protection::Plain(ProtocolVersion::TLSv1_2),
            seq: 0,
            head_len: HEADER_LEN,
            tail_len: 0,
            max_fragment_len: MAX_FRAGMENT_LEN,
            key_limit: MAX_RECORDS - 1,
            record_limit: MAX_RECORDS - 1,
        }
    }

    /// Sets the maximum length of a sent record, in bytes of plaintext and header: 32 to 2^14 + 5.
    /// `None` sets 2^14 + 5.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BadMaxFragmentSize`] for any other length.
    pub fn set_max_fragment_size(&mut self, size: Option<usize>) -> Result<(), Error> {
        self.max_fragment_len = match size {
            None => MAX_FRAGMENT_LEN,
            Some(size @ 32..) if size <= MAX_FRAGMENT_LEN + HEADER_LEN => size - HEADER_LEN,
            Some(_) => return Err(Error::BadMaxFragmentSize),
        };
        Ok(())
    }

    /// Sets the version in the headers of unprotected records. The default is 0x0303. Has no effect
    /// if records are protected, or after [`Self::close`].
    #[inline]
    pub fn set_plaintext_version(&mut self, version: ProtocolVersion) {
        if let Protection::Plain(current) = self.protection.uncounted_mut() {
            *current = version;
        }
    }

    /// Protects all further records with `encrypter`, starting with sequence number 0.
    ///
    /// `confidentiality_limit` is the number of records that its key may protect. Has no effect
    /// after [`Self::close`].
    ///
    /// Returns false if the encrypter claims impossible lengths: it adds more bytes to a record
    /// than the version allows, or puts more bytes before the payload than it adds. Sealing then
    /// fails.
    pub fn set_encrypter(
        &mut self,
        encrypter: Box<dyn MessageEncrypter>,
        version: ProtocolVersion,
        confidentiality_limit: u64,
    ) -> bool {
        if matches!(self.protection.uncounted(), Protection::Closed) {
            return true;
        }
        let offset = encrypter.payload_offset();
        let expansion = encrypter.encrypted_payload_len(0);
        let most = match version {
            ProtocolVersion::TLSv1_3 => MAX_EXPANSION_TLS13,
            _ => MAX_EXPANSION_TLS12,
        };
        self.key_limit = Ord::min(confidentiality_limit, MAX_RECORDS).saturating_sub(1);
        self.record_limit = self.key_limit;
        self.seq = 0;
        if expansion > most || offset > expansion {
            self.head_len = HEADER_LEN;
            self.tail_len = 0;
            *self.protection.uncounted_mut() = Protection::Refused;
            return false;
        }
        self.head_len = HEADER_LEN + offset;
        self.tail_len = expansion - offset;
        *self.protection.uncounted_mut() = Protection::Sealed(Sealer {
            clears_output: !encrypter.overwrites_output(FromThisCrate::new()),
            encrypter,
            // RFC 9846 §5.2: the outer type of a protected TLS 1.3 record is always
            // application_data
            outer_type: match version {
                ProtocolVersion::TLSv1_3 => Some(ContentType::ApplicationData.into()),
                _ => None,
            },
        });
        true
    }

    /// Drops the encrypter and its key. Later records, such as a second ClientHello after early
    /// data, are unprotected again. Has no effect after [`Self::close`].
    pub fn clear_encrypter(&mut self) {
        if matches!(self.protection.uncounted(), Protection::Closed) {
            return;
        }
        let plain = Self::new();
        // dropped last, because an external encrypter may panic then
        let _encrypter = mem::replace(self.protection.uncounted_mut(), plain.protection);
        *self = Self {
            protection: mem::replace(&mut self.protection, Protection::Closed),
            max_fragment_len: self.max_fragment_len,
            ..plain
        };
    }

    /// Drops the encrypter and its key. Nothing can be sealed after this, not even unprotected:
    /// every later call with enough room for its output returns [`SealError::Exhausted`] or
    /// [`SealInPlaceError::Exhausted`].
    pub fn close(&mut self) {
        self.record_limit = 0;
        *self.protection.uncounted_mut() = Protection::Closed;
    }

    /// Marks the key as worn out: from now on, it may only protect alerts and the KeyUpdate that
    /// announces the next key.
    pub fn retire_key(&mut self) {
        self.record_limit = Ord::min(self.record_limit, self.seq);
    }

    /// True if an encrypter is installed, or was refused because of impossible lengths.
    pub fn is_encrypting(&self) -> bool {
        matches!(
            self.protection.uncounted(),
            Protection::Sealed(_) | Protection::Refused
        )
    }

    /// Returns the sequence number of the next record.
    pub fn sequence(&self) -> u64 {
        self.seq
    }

    /// Returns the number of payload bytes that may be sent, in records of maximum length, before
    /// the key must be replaced. One record is reserved for the KeyUpdate that announces the new
    /// key.
    #[inline]
    pub fn payload_left(&self) -> usize {
        self.payload_of_records(self.record_limit.saturating_sub(self.seq))
    }

    /// True if the key can protect `payload_len` more bytes of payload.
    #[inline]
    pub fn can_protect(&self, payload_len: usize) -> bool {
        if payload_len <= self.max_fragment_len {
            self.seq < self.record_limit
        } else {
            payload_len <= self.payload_left()
        }
    }

    /// True if `payload_len` bytes need exactly one record, and the key can protect it.
    #[inline]
    pub fn can_protect_one(&self, payload_len: usize) -> bool {
        // a length of 0 wraps
        payload_len.wrapping_sub(1) < self.max_fragment_len && self.seq < self.record_limit
    }

    /// Returns the number of payload bytes that a new key may protect, in records of maximum
    /// length.
    pub fn payload_per_key(&self) -> usize {
        self.payload_of_records(self.key_limit)
    }

    #[inline]
    fn payload_of_records(&self, records: u64) -> usize {
        usize::try_from(records)
            .unwrap_or(usize::MAX)
            .saturating_mul(self.max_fragment_len)
    }

    /// Returns the maximum number of plaintext bytes in one record.
    pub fn max_fragment_len(&self) -> usize {
        self.max_fragment_len
    }

    /// Returns the length in bytes of the records that carry `payload_len` bytes; zero for an empty
    /// payload.
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

    /// Returns the length in bytes of the one record that carries `payload_len` bytes.
    #[inline]
    pub fn record_len(&self, payload_len: usize) -> usize {
        self.overhead() + payload_len
    }

    /// Returns the number of records that carry `payload_len` bytes.
    fn records(&self, payload_len: usize) -> usize {
        payload_len.div_ceil(self.max_fragment_len)
    }

    /// Returns the number of bytes that a record adds to its payload.
    #[inline]
    fn overhead(&self) -> usize {
        self.head_len + self.tail_len
    }

    /// Returns the number of bytes before the payload of a record.
    #[inline]
    pub fn head_len(&self) -> usize {
        self.head_len
    }

    /// Returns the number of bytes after the payload of a record.
    #[inline]
    pub fn tail_len(&self) -> usize {
        self.tail_len
    }

    /// Returns the room that [`Self::seal_in_place`] needs around a payload.
    pub fn in_place_room(&self) -> InPlaceRoom {
        InPlaceRoom {
            headroom: self.head_len,
            max_payload: self.max_fragment_len,
            tailroom: self.tail_len,
        }
    }

    /// Writes the records that carry `payload` to the front of `out`. Returns their length in
    /// bytes.
    ///
    /// # Errors
    ///
    /// Returns [`SealError::InsufficientSize`] if `out` is shorter than [`Self::sealed_len`].
    /// Returns [`SealError::Exhausted`] if there are fewer sequence numbers than records, or after
    /// [`Self::close`]. In both cases nothing was written and no sequence number was used. Returns
    /// [`SealError::Failed`] if the cipher fails; the connection is then unusable.
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
        let Protection::Sealed(sealer) = &mut self.protection else {
            return self.seal_otherwise(typ, payload, record);
        };
        sealer.seal(&mut self.seq, typ, payload, record)?;
        Ok(required_size)
    }

    /// Like [`Self::seal`], but never inlined. Use it everywhere except on the usual paths of
    /// application data.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::seal`].
    #[cold]
    #[inline(never)]
    pub fn seal_cold(
        &mut self,
        typ: ContentType,
        payload: OutboundChunks<'_>,
        out: &mut [u8],
    ) -> Result<usize, SealError> {
        self.seal(typ, payload, out)
    }

    /// Implements [`Self::seal`] for any number of records other than one.
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
            let fragment;
            (fragment, rest) = rest.split_at(self.fragment_len(&rest));
            used += self.seal(typ, fragment, &mut out[used..])?;
        }
        Ok(used)
    }

    /// Returns the length of the next fragment of `payload`: the maximum, or less if a piece ends
    /// earlier and the number of records stays the same. A piece that has a record to itself, for
    /// example after the header of an HTTP/2 frame, need not be copied.
    fn fragment_len(&self, payload: &OutboundChunks<'_>) -> usize {
        let max = self.max_fragment_len;
        if payload.len() <= max {
            return max;
        }
        let len = payload.whole_pieces_len(max);
        let records = |len| self.records(len);
        if len != 0 && records(payload.len() - len) < records(payload.len()) {
            len
        } else {
            max
        }
    }

    /// Builds one record around the plaintext at `payload` in `buf`. Returns the record's range in
    /// `buf`. As in [`Self::seal`], an empty payload makes no record.
    ///
    /// # Errors
    ///
    /// Returns [`SealInPlaceError::Failed`] if the cipher fails: the connection is then unusable,
    /// and the bytes of the record are unspecified. After any other error, nothing has changed and
    /// no sequence number is used.
    pub fn seal_in_place(
        &mut self,
        typ: ContentType,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, SealInPlaceError> {
        let Some(record) = self.record_around(&payload, buf.len()) else {
            return self.in_place_without_record(payload, buf.len());
        };
        let Protection::Sealed(sealer) = &mut self.protection else {
            self.seal_in_place_otherwise(typ, &mut buf[record.clone()])?;
            return Ok(record);
        };
        let payload_len = payload.len();
        sealer.seal_in_place(&mut self.seq, typ, payload_len, &mut buf[record.clone()])?;
        Ok(record)
    }

    /// Implements [`Self::seal`] for one record if there is no usable key, or if records are
    /// counted.
    // a separate function, because its arguments would take registers of its caller
    #[cold]
    #[inline(never)]
    fn seal_otherwise(
        &mut self,
        typ: ContentType,
        payload: OutboundChunks<'_>,
        record: &mut [u8],
    ) -> Result<usize, SealError> {
        let Self {
            protection, seq, ..
        } = self;
        match protection.uncounted_mut() {
            Protection::Sealed(sealer) => sealer.seal(seq, typ, payload, record)?,
            unsealed => {
                unsealed.write_plain_header(seq, typ, record)?;
                payload.copy_to_slice(&mut record[HEADER_LEN..]);
            }
        }
        protection.count_record(record.len());
        Ok(record.len())
    }

    /// Implements [`Self::seal_in_place`] for a record if there is no usable key, or if records are
    /// counted.
    #[cold]
    #[inline(never)]
    fn seal_in_place_otherwise(
        &mut self,
        typ: ContentType,
        record: &mut [u8],
    ) -> Result<(), SealInPlaceError> {
        let payload_len = record.len() - self.head_len - self.tail_len;
        let Self {
            protection, seq, ..
        } = self;
        match protection.uncounted_mut() {
            Protection::Sealed(sealer) => sealer.seal_in_place(seq, typ, payload_len, record)?,
            unsealed => unsealed.write_plain_header(seq, typ, record)?,
        }
        protection.count_record(record.len());
        Ok(())
    }

    /// Returns the range of the record around `payload` in a buffer of `buf_len` bytes; `None` if
    /// it does not fit, or if the payload is empty or too long.
    #[inline]
    fn record_around(&self, payload: &Range<usize>, buf_len: usize) -> Option<Range<usize>> {
        let payload_len = payload.end.checked_sub(payload.start)?;
        let start = payload.start.checked_sub(self.head_len)?;
        let end = payload.end.checked_add(self.tail_len)?;
        let is_possible =
            payload_len != 0 && payload_len <= self.max_fragment_len && end <= buf_len;
        is_possible.then_some(start..end)
    }

    /// Returns the result of sealing in place if [`Self::record_around`] returns `None`: an error,
    /// or an empty range if the payload is empty.
    #[cold]
    fn in_place_without_record(
        &self,
        payload: Range<usize>,
        buf_len: usize,
    ) -> Result<Range<usize>, SealInPlaceError> {
        if matches!(self.protection.uncounted(), Protection::Closed) {
            return Err(SealInPlaceError::Exhausted);
        }
        if payload.start > payload.end || payload.end > buf_len {
            return Err(SealInPlaceError::PayloadOutOfBounds);
        }
        if payload.len() > self.max_fragment_len {
            return Err(SealInPlaceError::PayloadTooLong {
                max: self.max_fragment_len,
            });
        }
        if payload.is_empty() {
            return Ok(payload);
        }
        if payload.start < self.head_len {
            return Err(SealInPlaceError::HeadroomTooShort {
                required: self.head_len,
            });
        }
        Err(SealInPlaceError::TailroomTooShort {
            required: self.tail_len,
        })
    }

    /// Checks that the sender is not closed, and that `records` sequence numbers are left: they
    /// must not wrap (RFC 9846 §5.3).
    fn check_sequence(&self, records: u64) -> Result<(), SealError> {
        let is_closed = matches!(self.protection.uncounted(), Protection::Closed);
        if is_closed || self.seq.checked_add(records).is_none() {
            return Err(SealError::Exhausted);
        }
        Ok(())
    }
}

impl Protection {
    /// Writes the header of an unprotected record, and takes a sequence number from `seq` for it.
    /// Fails unless records may be sent unprotected.
    fn write_plain_header(
        &self,
        seq: &mut u64,
        typ: ContentType,
        record: &mut [u8],
    ) -> Result<(), Unsealed> {
        let version = match *self {
            Self::Plain(version) => version,
            Self::Closed => return Err(Unsealed::Exhausted),
            Self::Sealed(_) | Self::Refused | Self::Counted(_) => return Err(Unsealed::Failed),
        };
        take_sequence(seq)?;
        let (header, payload) = record.split_at_mut(HEADER_LEN);
        write_header(header, typ.into(), version, payload.len());
        Ok(())
    }
}

impl Sealer {
    /// Seals `payload` into `record`, which is exactly as long as the sealed record.
    #[inline(always)]
    fn seal(
        &mut self,
        seq: &mut u64,
        typ: ContentType,
        payload: OutboundChunks<'_>,
        record: &mut [u8],
    ) -> Result<(), Unsealed> {
        let (header, body) = record.split_at_mut(HEADER_LEN);
        let seq = take_sequence(seq)?;
        if self.clears_output {
            body.fill(0);
        }
        let msg = OutboundPlainMessage {
            typ,
            version: PROTECTED_VERSION,
            payload,
        };
        check_written(self.encrypter.encrypt(msg, seq, body), body)?;
        write_header(header, self.outer_type(typ), PROTECTED_VERSION, body.len());
        Ok(())
    }

    /// Seals the payload of `payload_len` bytes within `record`.
    #[inline(always)]
    fn seal_in_place(
        &mut self,
        seq: &mut u64,
        typ: ContentType,
        payload_len: usize,
        record: &mut [u8],
    ) -> Result<(), Unsealed> {
        let (header, body) = record.split_at_mut(HEADER_LEN);
        let seq = take_sequence(seq)?;
        let encrypter = &mut self.encrypter;
        let written = encrypter.encrypt_in_place(typ, PROTECTED_VERSION, payload_len, seq, body);
        check_written(written, body)?;
        write_header(header, self.outer_type(typ), PROTECTED_VERSION, body.len());
        Ok(())
    }

    /// Returns the type in the header of a record with content of type `typ`.
    #[inline]
    fn outer_type(&self, typ: ContentType) -> u8 {
        self.outer_type.unwrap_or_else(|| typ.into())
    }
}

/// Takes a sequence number from `next`, for the record about to be sent.
///
/// The number counts as used even if the record fails, so that no nonce is ever used twice.
#[inline]
fn take_sequence(next: &mut u64) -> Result<u64, Unsealed> {
    let seq = *next;
    // RFC 9846 §5.3: sequence numbers must not wrap
    if seq == u64::MAX {
        return Err(Unsealed::Exhausted);
    }
    *next = seq + 1;
    Ok(seq)
}

/// Checks that an encrypter wrote as many bytes as it had announced. If not, the record cannot be
/// sent.
#[inline]
fn check_written(written: Result<usize, EncryptError>, body: &[u8]) -> Result<(), Unsealed> {
    match written {
        Ok(len) if len == body.len() => Ok(()),
        _ => Err(Unsealed::Failed),
    }
}

/// Writes the header of a record with `payload_len` bytes after it (RFC 9846 §5.1).
#[inline]
fn write_header(header: &mut [u8], typ: u8, version: ProtocolVersion, payload_len: usize) {
    let [major, minor] = version.to_array();
    let [high, low] = (payload_len as u16).to_be_bytes();
    header.copy_from_slice(&[typ, major, minor, high, low]);
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

/// The reason why a record was not sealed although there was room for it.
enum Unsealed {
    Exhausted,
    Failed,
}

/// The errors of [`RecordSender::seal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealError {
    /// The output buffer is too short. Nothing changed.
    InsufficientSize(InsufficientSizeError),
    /// There are fewer sequence numbers left than records, or the sender is closed; nothing
    /// changed.
    Exhausted,
    /// The cipher failed, or its encrypter reported a wrong length.
    Failed,
}

impl From<Unsealed> for SealError {
    fn from(error: Unsealed) -> Self {
        match error {
            Unsealed::Exhausted => Self::Exhausted,
            Unsealed::Failed => Self::Failed,
        }
    }
}

impl From<SealError> for Error {
    fn from(_: SealError) -> Self {
        Self::EncryptError
    }
}

/// The room that a record needs around a payload that is encrypted in place, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlaceRoom {
    /// Before the payload: the record header, and the explicit nonce of TLS 1.2 AES-GCM.
    pub headroom: usize,
    /// The maximum payload of one record.
    pub max_payload: usize,
    /// After the payload: the content type of TLS 1.3, and the authentication tag.
    pub tailroom: usize,
}

/// The errors of [`RecordSender::seal_in_place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealInPlaceError {
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
        /// The maximum number of bytes that one record carries.
        max: usize,
    },
    /// The payload's range is not within the buffer.
    PayloadOutOfBounds,
    /// No sequence number is left, or the sender is closed; nothing changed.
    Exhausted,
    /// The cipher failed, or its encrypter reported a wrong length.
    Failed,
}

impl From<Unsealed> for SealInPlaceError {
    fn from(error: Unsealed) -> Self {
        match error {
            Unsealed::Exhausted => Self::Exhausted,
            Unsealed::Failed => Self::Failed,
        }
    }
}
