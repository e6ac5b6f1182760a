//! The receiving half of a connection's record layer: finds records in received data and opens
//! them, in place or into the caller's memory.
//!
//! The receiver owns the decrypter, the sequence number and the limits on useless records. It owns
//! no buffer and does not interpret the content of records. Its caller, which has the
//! [joiner](super::joiner), checks that handshake messages are not interleaved with other records
//! and do not span a change of keys.

use alloc::boxed::Box;
use core::fmt;
use core::ops::Range;

use super::counting::counting;
use super::framing::TLS13_OVERHEAD;
use super::{ALERT_LEN, HEADER_LEN, MAX_FRAGMENT_LEN, MAX_TLS13_PAYLOAD_LEN, MAX_WIRE_PAYLOAD_LEN};
use crate::crypto::cipher::{FromThisCrate, InboundOpaqueMessage, MessageDecrypter};
use crate::enums::{ContentType, ProtocolVersion};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};

#[cfg(test)]
mod early_data_tests;
#[cfg(test)]
mod tests;

/// The maximum number of empty records accepted in a row.
const MAX_CONSECUTIVE_EMPTY: u8 = 32;

/// The receiving half of the record layer.
///
/// For a record that is still incomplete, hot paths compare its length with `max_sealed_len`, and
/// check nothing else. So that field is 0 unless a key protects records, which sends all other
/// records to the slow path.
pub struct RecordReceiver {
    protection: Protection,
    /// The maximum number of bytes after the header of a protected record. 16 bits, to save memory
    /// in each connection.
    max_sealed_len: u16,
    /// The sequence number of the next record.
    seq: u64,
    /// True once a protected record has been opened, with any key.
    opened_any: bool,
    /// The number of empty records since the most recent record with content.
    consecutive_empty: u8,
    /// The number of bytes of early data that may still be skipped; `None` if early data is not
    /// skipped.
    skipped_early_data_left: Option<usize>,
}

/// The protection that later records must have.
enum Protection {
    /// Records are not protected, because there is no key.
    Plain,
    /// Records are protected by a key.
    Sealed(Opener),
    /// Every record is an error, and no key can be installed.
    Closed,
    /// Records are opened with the value's [`Counted::protection`], and counted.
    Counted(Box<Counted>),
}

counting!(RecordReceiver);

/// A decrypter, and the version of the records that it opens.
struct Opener {
    decrypter: Box<dyn MessageDecrypter>,
    version: ProtocolVersion,
}

/// The header of a record (RFC 9846 §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The content type; application_data for a protected TLS 1.3 record.
    pub typ: ContentType,
    /// The legacy version in the header.
    pub version: ProtocolVersion,
    /// The number of bytes after the header.
    pub payload_len: usize,
}

impl RecordHeader {
    /// Reads the header at the front of `bytes`. Returns `None` while there are fewer than
    /// [`HEADER_LEN`] bytes.
    ///
    /// # Errors
    ///
    /// Returns an error as soon as the type is unknown, the major version is not 3, or the length
    /// is zero in a record other than application data. So the caller does not wait for the rest.
    /// The length limit depends on the keys, so it is not checked here.
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, InvalidMessage> {
        let (typ, version, payload_len) = match *bytes {
            [typ, ..] if matches!(ContentType::from(typ), ContentType::Unknown(_)) => {
                return Err(InvalidMessage::InvalidContentType);
            }
            // RFC 9846 §5.1: the minor version is ignored
            [_, major, ..] if major != 3 => return Err(InvalidMessage::UnknownProtocolVersion),
            [typ, major, minor, high, low, ..] => (
                ContentType::from(typ),
                ProtocolVersion::from(u16::from_be_bytes([major, minor])),
                [high, low],
            ),
            _ => return Ok(None),
        };
        let header = Self {
            typ,
            version,
            payload_len: usize::from(u16::from_be_bytes(payload_len)),
        };
        // RFC 9846 §5.1: only application data may be empty
        if header.payload_len == 0 && header.typ != ContentType::ApplicationData {
            return Err(InvalidMessage::InvalidEmptyPayload);
        }
        Ok(Some(header))
    }

    /// Returns the length in bytes of the whole record.
    pub fn record_len(&self) -> usize {
        HEADER_LEN + self.payload_len
    }
}

/// A record that was opened in the buffer in which it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedRecord {
    /// The content type of the record; for a protected TLS 1.3 record, the inner type.
    pub typ: ContentType,
    /// The range of the record's content in the buffer.
    pub payload: Range<usize>,
    /// The length of the whole record in bytes.
    pub record_len: usize,
}

/// A record that was opened into the caller's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordOpenedInto {
    /// The content type of the record; for a protected TLS 1.3 record, the inner type.
    pub typ: ContentType,
    /// The number of bytes of content at the front of the caller's memory.
    pub len: usize,
    /// The length of the whole record in bytes.
    pub record_len: usize,
}

/// Describes a received record before it is opened, by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingRecord {
    /// The length of the whole record in bytes.
    pub record_len: usize,
    /// The maximum number of bytes of application data in it; 0 if it cannot carry any.
    ///
    /// With this crate's framing, the number is exact in TLS 1.2. A TLS 1.3 record does not show
    /// what it carries (RFC 9846 §5.2): a padded record has less (§5.4), and a KeyUpdate, ticket or
    /// alert has none.
    pub max_payload: usize,
}

impl RecordReceiver {
    /// Creates a receiver without keys. It accepts unprotected records.
    pub fn new() -> Self {
        Self {
            protection: Protection::Plain,
            max_sealed_len: 0,
            seq: 0,
            opened_any: false,
            consecutive_empty: 0,
            skipped_early_data_left: None,
        }
    }

    /// Opens later protected records with `decrypter`, starting with sequence number 0. Has no
    /// effect after [`Self::close`].
    pub fn set_decrypter(
        &mut self,
        decrypter: Box<dyn MessageDecrypter>,
        version: ProtocolVersion,
    ) {
        if matches!(self.protection.uncounted(), Protection::Closed) {
            return;
        }
        self.max_sealed_len = match version {
            // RFC 9846 §5.2
            ProtocolVersion::TLSv1_3 => MAX_TLS13_PAYLOAD_LEN as u16,
            // RFC 5246 §6.2.3
            _ => MAX_WIRE_PAYLOAD_LEN as u16,
        };
        self.seq = 0;
        // last, because dropping an external decrypter may panic
        *self.protection.uncounted_mut() = Protection::Sealed(Opener { decrypter, version });
    }

    /// Drops the decrypter and its key. Every later record is an error, even an unprotected one.
    pub fn close(&mut self) {
        self.max_sealed_len = 0;
        *self.protection.uncounted_mut() = Protection::Closed;
    }

    /// Skips up to `limit` bytes of a client's early data, not counting the overhead of encryption.
    /// With `None`, no early data is skipped.
    ///
    /// Early data consists of application_data records that arrive before there are keys, or that
    /// the first keys do not open (RFC 9846 §4.3.10). It ends with the first record that the keys
    /// open.
    pub fn skip_early_data(&mut self, limit: Option<usize>) {
        self.skipped_early_data_left = limit;
    }

    /// True while early data is skipped. A skipped record is returned as empty application data.
    pub fn skips_early_data(&self) -> bool {
        self.skipped_early_data_left.is_some()
    }

    /// True if received records are protected.
    pub fn is_decrypting(&self) -> bool {
        matches!(self.protection.uncounted(), Protection::Sealed(_))
    }

    /// Returns the sequence number of the next record.
    pub fn sequence(&self) -> u64 {
        self.seq
    }

    /// Opens the record at the front of `buf` in place. Returns `None` while the record is
    /// incomplete.
    ///
    /// A record with empty content is returned like any other, and so is a skipped record of early
    /// data ([`Self::skip_early_data`]). Too many empty records in a row are an error.
    ///
    /// # Errors
    ///
    /// Every error ends the connection. Returns the errors of [`RecordHeader::read`] and of the
    /// decrypter, and:
    ///
    /// - [`InvalidMessage::MessageTooLarge`] if the header's length exceeds the limit for all
    ///   records;
    /// - [`Error::PeerSentOversizedRecord`] if it exceeds the limit for this record;
    /// - [`Error::InappropriateMessage`] if early data that arrives before there are keys exceeds
    ///   the limit of [`Self::skip_early_data`];
    /// - [`InvalidMessage::InvalidContentType`] if the content type is unknown, or heartbeat;
    /// - [`PeerMisbehaved::IllegalMiddleboxChangeCipherSpec`] if a protected TLS 1.3 record
    ///   contains a change_cipher_spec;
    /// - [`PeerMisbehaved::IllegalTlsInnerPlaintext`] if a protected TLS 1.3 handshake or alert
    ///   record is empty;
    /// - [`PeerMisbehaved::TooManyEmptyFragments`];
    /// - [`Error::DecryptError`] if no sequence number is left, or after [`Self::close`];
    /// - [`Error::General`] if the decrypter returns bytes outside its buffer.
    // inlining saves a tenth of the time, because the result stays in registers
    #[inline(always)]
    pub fn open(&mut self, buf: &mut [u8]) -> Result<Option<OpenedRecord>, Error> {
        // fast path: application data, and every protected TLS 1.3 record
        let [0x17, 3, 3, high, low, rest @ ..] = buf else {
            if buf.is_empty() {
                return Ok(None);
            }
            return self.open_unusual(buf);
        };
        let payload_len = u16::from_be_bytes([*high, *low]);
        if payload_len > self.max_sealed_len {
            return self.open_unusual(buf);
        }
        let payload_len = usize::from(payload_len);
        let Some(body) = rest.get_mut(..payload_len) else {
            return Ok(None);
        };
        let Protection::Sealed(opener) = &mut self.protection else {
            return self.open_unusual(buf);
        };
        if self.seq == u64::MAX {
            return self.open_unusual(buf);
        }
        let body_at = body.as_ptr() as usize;
        let (typ, version) = (ContentType::ApplicationData, ProtocolVersion::TLSv1_2);
        let msg = InboundOpaqueMessage::new(typ, version, body);
        let (typ, content) = match opener.decrypter.decrypt(msg, self.seq) {
            Ok(plain) => (plain.typ, plain.payload),
            Err(error) => return self.skip_unopened(typ, payload_len, error).map(Some),
        };
        self.seq += 1;
        let at = (content.as_ptr() as usize).wrapping_sub(body_at);
        if matches!(typ, ContentType::ApplicationData)
            && self.opened_any
            && at < payload_len
            && content.len() <= payload_len - at
            && !content.is_empty()
        {
            self.consecutive_empty = 0;
            return Ok(Some(OpenedRecord {
                typ: ContentType::ApplicationData,
                payload: HEADER_LEN + at..HEADER_LEN + at + content.len(),
                record_len: HEADER_LEN + payload_len,
            }));
        }
        self.check_opened(payload_len, body_at, typ, content)
            .map(Some)
    }

    /// Opens the record at the front of `buf` to the front of `out`, without changing `buf`.
    ///
    /// Returns `None`, and changes nothing, if [`Self::open`] has to be called instead: the record
    /// is incomplete, does not fit into `out`, or is not an ordinary protected record, or the
    /// decrypter only decrypts in place.
    ///
    /// Bytes of `out` after the content may hold the record's padding.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::open`]. `out` then holds no byte of the record.
    pub fn open_into(
        &mut self,
        buf: &[u8],
        out: &mut [u8],
    ) -> Option<Result<RecordOpenedInto, Error>> {
        let [0x17, 3, 3, high, low, rest @ ..] = buf else {
            return None;
        };
        let payload_len = u16::from_be_bytes([*high, *low]);
        let is_usual = payload_len <= self.max_sealed_len
            && self.opened_any
            && !self.skips_early_data()
            && self.seq != u64::MAX;
        let body = rest.get(..payload_len.into()).filter(|_| is_usual)?;
        let Protection::Sealed(opener) = &mut self.protection else {
            return self.open_counted_into(body, out);
        };
        let opened = opener
            .decrypter
            .decrypt_into(body, self.seq, out, FromThisCrate::new())?;
        Some(self.check_opened_into(opened, body.len(), out))
    }

    /// Implements [`Self::open_into`] for a record that is counted.
    #[cold]
    fn open_counted_into(
        &mut self,
        body: &[u8],
        out: &mut [u8],
    ) -> Option<Result<RecordOpenedInto, Error>> {
        let Protection::Sealed(opener) = self.protection.uncounted_mut() else {
            return None;
        };
        let opened = opener
            .decrypter
            .decrypt_into(body, self.seq, out, FromThisCrate::new())?;
        let opened = self.check_opened_into(opened, body.len(), out);
        if let Ok(opened) = &opened {
            self.protection.count_record(opened.record_len);
        }
        Some(opened)
    }

    /// Checks the decrypter's result for a record whose body of `body_len` bytes was opened to the
    /// front of `out`.
    #[inline(always)]
    fn check_opened_into(
        &mut self,
        opened: Result<(ContentType, usize), Error>,
        body_len: usize,
        out: &mut [u8],
    ) -> Result<RecordOpenedInto, Error> {
        let (typ, len) = opened?;
        self.seq += 1;
        if typ == ContentType::ApplicationData && len != 0 {
            self.consecutive_empty = 0;
        } else if let Err(error) = self.check_unusual(typ, &out[..len]) {
            let end = Ord::min(out.len(), body_len);
            out[..end].fill(0);
            return Err(error);
        }
        Ok(RecordOpenedInto {
            typ,
            len,
            record_len: HEADER_LEN + body_len,
        })
    }

    /// Describes the record at the front of `buf` before it is opened. Returns `None` if it is
    /// incomplete, if its header is malformed or its length exceeds the limit, or after
    /// [`Self::close`].
    ///
    /// Does not check whether application data is allowed at this point.
    pub fn peek(&self, buf: &[u8]) -> Option<WaitingRecord> {
        let header = RecordHeader::read(buf).ok().flatten()?;
        let record_len = header.record_len();
        if matches!(self.protection.uncounted(), Protection::Closed)
            || record_len > buf.len()
            || header.payload_len > self.max_payload_len(&header)
        {
            return None;
        }
        let max_payload = match self.protection.uncounted() {
            Protection::Sealed(opener) if header.typ == ContentType::ApplicationData => Ord::min(
                opener.decrypter.max_content_len(header.payload_len),
                MAX_FRAGMENT_LEN,
            ),
            _ => 0,
        };
        Some(WaitingRecord {
            record_len,
            max_payload,
        })
    }

    /// Implements the slow path of [`Self::open`], for example for unprotected or counted records,
    /// and for errors.
    #[inline(never)]
    fn open_unusual(&mut self, buf: &mut [u8]) -> Result<Option<OpenedRecord>, Error> {
        let opened = self.open_uncounted(buf);
        if let Ok(Some(opened)) = &opened {
            self.protection.count_record(opened.record_len);
        }
        opened
    }

    /// Implements [`Self::open_unusual`], but does not count the record.
    #[inline(always)]
    fn open_uncounted(&mut self, buf: &mut [u8]) -> Result<Option<OpenedRecord>, Error> {
        if let Protection::Closed = self.protection.uncounted() {
            return Err(Error::DecryptError);
        }
        let Some(header) = RecordHeader::read(buf)? else {
            return Ok(None);
        };
        if header.payload_len > MAX_WIRE_PAYLOAD_LEN {
            return Err(InvalidMessage::MessageTooLarge.into());
        }
        if header.payload_len > self.max_payload_len(&header) {
            return Err(Error::PeerSentOversizedRecord);
        }
        let record_len = header.record_len();
        let Some(body) = buf.get_mut(HEADER_LEN..record_len) else {
            return Ok(None);
        };
        let is_clear = self.passes_in_the_clear(&header);
        match self.protection.uncounted_mut() {
            Protection::Sealed(opener) if !is_clear => {
                // RFC 9846 §5.3: sequence numbers must not wrap
                if self.seq == u64::MAX {
                    return Err(Error::DecryptError);
                }
                let body_at = body.as_ptr() as usize;
                let msg = InboundOpaqueMessage::new(header.typ, header.version, body);
                let (typ, content) = match opener.decrypter.decrypt(msg, self.seq) {
                    Ok(plain) => (plain.typ, plain.payload),
                    Err(error) => {
                        let skipped = self.skip_unopened(header.typ, header.payload_len, error);
                        return skipped.map(Some);
                    }
                };
                self.seq += 1;
                let opened = self.check_opened(header.payload_len, body_at, typ, content);
                return opened.map(Some);
            }
            Protection::Plain
                if header.typ == ContentType::ApplicationData
                    && self.skipped_early_data_left.is_some() =>
            {
                let skipped = self.skip(header.typ, header.payload_len);
                return skipped
                    .map(Some)
                    .ok_or_else(|| Error::InappropriateMessage {
                        expect_types: [ContentType::Handshake].into(),
                        got_type: header.typ,
                    });
            }
            _ => {}
        }
        self.check_content(header.typ, header.payload_len == 0)?;
        Ok(Some(OpenedRecord {
            typ: header.typ,
            payload: HEADER_LEN..record_len,
            record_len,
        }))
    }

    /// Checks the decrypter's result for a record whose body of `payload_len` bytes lies at
    /// `body_at`.
    #[inline(never)]
    fn check_opened(
        &mut self,
        payload_len: usize,
        body_at: usize,
        typ: ContentType,
        content: &[u8],
    ) -> Result<OpenedRecord, Error> {
        if !self.opened_any {
            self.opened_any = true;
            // RFC 9846 §4.3.10: early data ends with the first record that can be opened
            self.skipped_early_data_left = None;
        }
        let at = offset_in(body_at, payload_len, content).ok_or_else(|| {
            Error::General("the decrypter returned bytes outside its buffer".into())
        })?;
        self.check_unusual(typ, content)?;
        let start = HEADER_LEN + at;
        Ok(OpenedRecord {
            typ,
            payload: start..start + content.len(),
            record_len: HEADER_LEN + payload_len,
        })
    }

    /// Checks the type and the content of an opened record.
    fn check_unusual(&mut self, typ: ContentType, content: &[u8]) -> Result<(), Error> {
        if self.is_tls13() {
            check_inner_plaintext(typ, content)?;
        }
        self.check_content(typ, content.is_empty())
    }

    /// Returns the maximum number of bytes after `header`. It is checked as soon as the header
    /// arrives, so the receiver neither waits for a longer record nor decrypts it.
    fn max_payload_len(&self, header: &RecordHeader) -> usize {
        match self.protection.uncounted() {
            Protection::Sealed(_) if !self.passes_in_the_clear(header) => {
                self.max_sealed_len.into()
            }
            // this side does not have the keys of skipped early data
            Protection::Plain
                if header.typ == ContentType::ApplicationData && self.skips_early_data() =>
            {
                MAX_TLS13_PAYLOAD_LEN
            }
            // RFC 9846 §5.1, RFC 5246 §6.2.1
            _ => MAX_FRAGMENT_LEN,
        }
    }

    /// True for records that TLS 1.3 accepts unprotected although keys are active:
    ///
    /// - a change_cipher_spec, for middleboxes (RFC 9846 §5);
    /// - an alert before the first opened record: a peer that fails before it has our keys cannot
    ///   protect its alert. Once it has keys, an unprotected alert is forged, even after a later
    ///   key change. A record longer than an alert is not an unprotected alert.
    fn passes_in_the_clear(&self, header: &RecordHeader) -> bool {
        self.is_tls13()
            && match header.typ {
                ContentType::ChangeCipherSpec => true,
                ContentType::Alert => !self.opened_any && header.payload_len <= ALERT_LEN,
                _ => false,
            }
    }

    /// True if received records are protected as in TLS 1.3.
    fn is_tls13(&self) -> bool {
        match self.protection.uncounted() {
            Protection::Sealed(opener) => opener.version == ProtocolVersion::TLSv1_3,
            Protection::Plain | Protection::Closed | Protection::Counted(_) => false,
        }
    }

    /// Skips a rejected record if it may be early data. Otherwise returns the decrypter's `error`.
    #[cold]
    fn skip_unopened(
        &mut self,
        typ: ContentType,
        payload_len: usize,
        error: Error,
    ) -> Result<OpenedRecord, Error> {
        match error {
            Error::DecryptError => self.skip(typ, payload_len).ok_or(error),
            _ => Err(error),
        }
    }

    /// Skips a record if it may be early data.
    #[cold]
    fn skip(&mut self, typ: ContentType, payload_len: usize) -> Option<OpenedRecord> {
        let left = self.skipped_early_data_left?;
        // the client's limit covers only content; an empty record counts as one byte, because
        // otherwise any number of them could be sent
        let skipped = payload_len.saturating_sub(TLS13_OVERHEAD).max(1);
        if typ != ContentType::ApplicationData {
            return None;
        }
        self.skipped_early_data_left = Some(left.checked_sub(skipped)?);
        Some(OpenedRecord {
            typ: ContentType::ApplicationData,
            payload: HEADER_LEN..HEADER_LEN,
            record_len: HEADER_LEN + payload_len,
        })
    }

    /// Rejects unknown content types, heartbeats, and too many empty records in a row.
    fn check_content(&mut self, typ: ContentType, is_empty: bool) -> Result<(), Error> {
        if matches!(typ, ContentType::Heartbeat | ContentType::Unknown(_)) {
            return Err(InvalidMessage::InvalidContentType.into());
        }
        if is_empty {
            if self.consecutive_empty == MAX_CONSECUTIVE_EMPTY {
                return Err(PeerMisbehaved::TooManyEmptyFragments.into());
            }
            self.consecutive_empty += 1;
        } else {
            self.consecutive_empty = 0;
        }
        Ok(())
    }
}

/// Rejects content that a TLS 1.3 record must not have even if it is authentic.
fn check_inner_plaintext(typ: ContentType, content: &[u8]) -> Result<(), PeerMisbehaved> {
    match typ {
        ContentType::ApplicationData => Ok(()),
        // RFC 9846 §5: a protected change_cipher_spec is unexpected
        ContentType::ChangeCipherSpec => Err(PeerMisbehaved::IllegalMiddleboxChangeCipherSpec),
        // RFC 9846 §5.4: Handshake and Alert records must not be empty
        ContentType::Handshake | ContentType::Alert if content.is_empty() => {
            Err(PeerMisbehaved::IllegalTlsInnerPlaintext)
        }
        _ => Ok(()),
    }
}

/// Returns the position of `inner` within the `outer_len` bytes at address `outer_at`.
///
/// Returns `None` if it lies elsewhere, as the result of an external decrypter may. An empty slice
/// may point anywhere.
fn offset_in(outer_at: usize, outer_len: usize, inner: &[u8]) -> Option<usize> {
    if inner.is_empty() {
        return Some(0);
    }
    let offset = (inner.as_ptr() as usize).checked_sub(outer_at)?;
    let end = offset.checked_add(inner.len())?;
    (end <= outer_len).then_some(offset)
}

impl Default for RecordReceiver {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RecordReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordReceiver")
            .field("decrypting", &self.is_decrypting())
            .field("seq", &self.seq)
            .finish_non_exhaustive()
    }
}
