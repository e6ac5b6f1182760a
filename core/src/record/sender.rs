//! The sending half of a connection's record layer: cuts what is to be sent into records, gives each
//! its sequence number and header, and has it encrypted into the memory that the caller provides.
//!
//! It owns the encrypter, the sequence number and the limits of the key. It owns no buffer.

use alloc::boxed::Box;
use core::fmt;
use core::ops::Range;

use super::{HEADER_LEN, MAX_FRAGMENT_LEN};
use crate::crypto::cipher::{
    EncryptError, InsufficientSizeError, MessageEncrypter, OutboundChunks, OutboundPlainMessage,
};
use crate::enums::{ContentType, ProtocolVersion};
use crate::error::Error;

/// Sequence numbers from here on are never used (RFC 9846 §5.3: they must not wrap). The few below it
/// are kept for alerts.
const SEQUENCE_LIMIT: u64 = u64::MAX - 16;

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
    /// Decides how a protected record's header looks; the version negotiated once keys are there.
    protection: ProtocolVersion,
    /// What stands as the version in headers of unprotected records.
    plaintext_version: ProtocolVersion,
    /// The sequence number of the next record.
    seq: u64,
    /// How many records the key may protect (RFC 9846 §5.5).
    confidentiality_limit: u64,
    /// The most plaintext bytes of a record.
    max_fragment_len: usize,
}

impl RecordSender {
    /// A sender without keys: what it sends is in the clear.
    pub fn new() -> Self {
        Self {
            encrypter: None,
            protection: ProtocolVersion::TLSv1_2,
            plaintext_version: ProtocolVersion::TLSv1_2,
            seq: 0,
            confidentiality_limit: u64::MAX,
            max_fragment_len: MAX_FRAGMENT_LEN,
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
    /// `confidentiality_limit` is how many records its key may protect.
    pub fn set_encrypter(
        &mut self,
        encrypter: Box<dyn MessageEncrypter>,
        version: ProtocolVersion,
        confidentiality_limit: u64,
    ) {
        self.encrypter = Some(encrypter);
        self.protection = version;
        self.confidentiality_limit = confidentiality_limit;
        self.seq = 0;
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
        let records = self.confidentiality_limit.saturating_sub(self.seq + 1);
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
        let records = match payload_len <= self.max_fragment_len {
            true => usize::from(payload_len != 0),
            false => payload_len.div_ceil(self.max_fragment_len),
        };
        let overhead = self.head_len() + self.tail_len();
        records.saturating_mul(overhead).saturating_add(payload_len)
    }

    /// How many bytes a record has before its payload.
    #[inline]
    pub fn head_len(&self) -> usize {
        let offset = self.encrypter.as_ref().map(|enc| enc.payload_offset());
        HEADER_LEN + offset.unwrap_or(0)
    }

    /// How many bytes a record has after its payload.
    #[inline]
    pub fn tail_len(&self) -> usize {
        let tail = self
            .encrypter
            .as_ref()
            .map(|enc| enc.encrypted_payload_len(0) - enc.payload_offset());
        tail.unwrap_or(0)
    }

    /// How much room [`Self::seal_in_place`] needs around a payload.
    pub fn in_place_room(&self) -> InPlaceRoom {
        InPlaceRoom {
            headroom: self.head_len(),
            max_payload: self.max_fragment_len,
            tailroom: self.tail_len(),
        }
    }

    /// Writes the records that carry `payload` to the front of `out`; returns how many bytes they are.
    ///
    /// # Errors
    ///
    /// [`SealError::InsufficientSize`] when `out` is shorter than [`Self::sealed_len`]: nothing was
    /// written and no sequence number used. [`SealError::Exhausted`] when the sequence numbers are
    /// used up. [`SealError::Failed`] when the cipher refuses; the connection is unusable then.
    pub fn seal(
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
        if payload.len() <= self.max_fragment_len {
            return match payload.is_empty() {
                true => Ok(0),
                false => self.seal_record(typ, payload, out),
            };
        }
        let mut rest = payload;
        let mut used = 0;
        while !rest.is_empty() {
            let (fragment, tail) = rest.split_at(self.max_fragment_len);
            used += self.seal_record(typ, fragment, &mut out[used..])?;
            rest = tail;
        }
        Ok(used)
    }

    /// Writes one record; `out` is long enough and `payload` no longer than a fragment.
    #[inline]
    fn seal_record(
        &mut self,
        typ: ContentType,
        payload: OutboundChunks<'_>,
        out: &mut [u8],
    ) -> Result<usize, SealError> {
        let seq = self.next_sequence()?;
        let (header, body) = out.split_at_mut(HEADER_LEN);
        let (outer_type, version, len) = match &mut self.encrypter {
            None => {
                payload.copy_to_slice(&mut body[..payload.len()]);
                (typ, self.plaintext_version, payload.len())
            }
            Some(encrypter) => {
                let msg = OutboundPlainMessage {
                    typ,
                    version: ProtocolVersion::TLSv1_2,
                    payload,
                };
                let len = encrypter.encrypt(msg, seq, body)?;
                (self.outer_type(typ), ProtocolVersion::TLSv1_2, len)
            }
        };
        write_header(header, outer_type, version, len);
        Ok(HEADER_LEN + len)
    }

    /// Builds one record around the plaintext at `payload` of `buf`; returns where in `buf` the
    /// record is.
    ///
    /// # Errors
    ///
    /// [`InPlaceError`]: too little room before or after, too long a payload; nothing was changed and
    /// no sequence number used.
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
        if payload.start > payload.end || payload.end > buf.len() {
            return Err(InPlaceError::PayloadOutOfBounds);
        }
        if payload.len() > self.max_fragment_len {
            return Err(InPlaceError::PayloadTooLong {
                max: self.max_fragment_len,
            });
        }
        let (head, tail) = (self.head_len(), self.tail_len());
        let start = payload
            .start
            .checked_sub(head)
            .ok_or(InPlaceError::HeadroomTooShort { required: head })?;
        if buf.len() - payload.end < tail {
            return Err(InPlaceError::TailroomTooShort { required: tail });
        }
        let record = start..payload.end + tail;
        let seq = self.next_sequence()?;
        let (header, body) = buf[record.clone()].split_at_mut(HEADER_LEN);
        let (outer_type, version) = match &mut self.encrypter {
            None => (typ, self.plaintext_version),
            Some(encrypter) => {
                let version = ProtocolVersion::TLSv1_2;
                encrypter
                    .encrypt_in_place(typ, version, payload.len(), seq, body)
                    .map_err(SealError::from)?;
                (self.outer_type(typ), version)
            }
        };
        write_header(header, outer_type, version, body.len());
        Ok(record)
    }

    /// RFC 9846 §5.2: the outer type of a protected TLS 1.3 record is always application_data.
    #[inline]
    fn outer_type(&self, typ: ContentType) -> ContentType {
        match self.protection {
            ProtocolVersion::TLSv1_3 => ContentType::ApplicationData,
            _ => typ,
        }
    }

    /// The sequence number of the record about to be sent.
    #[inline]
    fn next_sequence(&mut self) -> Result<u64, SealError> {
        // RFC 9846 §5.3: sequence numbers must not wrap
        if self.seq >= SEQUENCE_LIMIT {
            return Err(SealError::Exhausted);
        }
        let seq = self.seq;
        self.seq += 1;
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

#[inline]
fn write_header(header: &mut [u8], typ: ContentType, version: ProtocolVersion, len: usize) {
    header[0] = typ.into();
    header[1..3].copy_from_slice(&u16::from(version).to_be_bytes());
    header[3..].copy_from_slice(&(len as u16).to_be_bytes());
}

/// Why [`RecordSender::seal`] wrote nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealError {
    /// The output is too short; nothing changed.
    InsufficientSize(InsufficientSizeError),
    /// The sequence numbers of the key are used up.
    Exhausted,
    /// The cipher refused.
    Failed,
}

impl From<EncryptError> for SealError {
    fn from(error: EncryptError) -> Self {
        match error {
            EncryptError::InsufficientSize(size) => Self::InsufficientSize(size),
            EncryptError::Failed => Self::Failed,
        }
    }
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

/// Why plaintext was not sealed where it lies; the buffer and the connection are as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InPlaceError {
    /// Fewer bytes than this lie before the payload.
    HeadroomTooShort {
        /// How many bytes are needed before the payload.
        required: usize,
    },
    /// Fewer bytes than this lie behind the payload.
    TailroomTooShort {
        /// How many bytes are needed behind the payload.
        required: usize,
    },
    /// The payload does not fit one record.
    PayloadTooLong {
        /// How many bytes one record carries at the most.
        max: usize,
    },
    /// The range given for the payload is not within the buffer.
    PayloadOutOfBounds,
    /// Bytes written before wait to be sent and would be overtaken: send them first.
    OutputPending,
    /// The connection cannot send application data, or can no longer.
    EncryptExhausted,
}

impl From<SealError> for InPlaceError {
    fn from(_: SealError) -> Self {
        // lengths were checked before: what is left is the end of the key's life
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
                write!(f, "{required} bytes are needed behind the payload")
            }
            Self::PayloadTooLong { max } => {
                write!(f, "the payload is longer than one record's {max} bytes")
            }
            Self::PayloadOutOfBounds => f.write_str("the payload is not within the buffer"),
            Self::OutputPending => f.write_str("earlier output must be sent first"),
            Self::EncryptExhausted => f.write_str("the connection cannot encrypt"),
        }
    }
}

impl core::error::Error for InPlaceError {}
