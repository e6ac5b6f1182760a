//! The receiving half of a connection's record layer: finds records in what was received, opens each
//! where it lies, and hands handshake records to the joiner.
//!
//! It owns the decrypter, the sequence number, the handshake joiner and the bounds on useless
//! records. It owns no buffer.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::joiner::HandshakeJoiner;
use super::{HEADER_LEN, MAX_FRAGMENT_LEN, MAX_WIRE_PAYLOAD_LEN};
use crate::crypto::cipher::{InboundOpaqueMessage, MessageDecrypter};
use crate::enums::{ContentType, ProtocolVersion};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};

/// How many records without content are taken in a row.
const MAX_CONSECUTIVE_EMPTY: u8 = 32;

/// The receiving half of the record layer.
pub struct RecordReceiver {
    decrypter: Option<Box<dyn MessageDecrypter>>,
    protection: ProtocolVersion,
    /// The sequence number of the next record.
    seq: u64,
    /// True once a record was opened with the present key.
    opened_any: bool,
    consecutive_empty: u8,
    /// While early data is skipped: how many bytes of it still are.
    skipped_early_data_left: Option<usize>,
    joiner: HandshakeJoiner,
}

/// The header of a record (RFC 9846 §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Its content type; for a protected TLS 1.3 record always application_data.
    pub typ: ContentType,
    /// Its legacy version.
    pub version: ProtocolVersion,
    /// How many bytes follow the header.
    pub payload_len: usize,
}

impl RecordHeader {
    /// Reads the header at the front of `bytes`; `None` when there are fewer than [`HEADER_LEN`].
    ///
    /// # Errors
    ///
    /// What cannot be the header of a record of TLS 1.2 or 1.3 is refused as soon as it is there, so
    /// that nothing is waited for or stored on its word.
    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, InvalidMessage> {
        let Some(&[typ, major, minor, high, low]) = bytes.first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let header = Self {
            typ: ContentType::from(typ),
            version: ProtocolVersion::from(u16::from_be_bytes([major, minor])),
            payload_len: usize::from(u16::from_be_bytes([high, low])),
        };
        if matches!(header.typ, ContentType::Unknown(_)) {
            return Err(InvalidMessage::InvalidContentType);
        }
        // RFC 9846 §5.1: the minor version is ignored
        if major != 3 {
            return Err(InvalidMessage::UnknownProtocolVersion);
        }
        // RFC 9846 §5.1: only application data may be empty
        if header.payload_len == 0 && header.typ != ContentType::ApplicationData {
            return Err(InvalidMessage::InvalidEmptyPayload);
        }
        if header.payload_len > MAX_WIRE_PAYLOAD_LEN {
            return Err(InvalidMessage::MessageTooLarge);
        }
        Ok(Some(header))
    }

    /// Length in bytes of the whole record.
    pub fn record_len(&self) -> usize {
        HEADER_LEN + self.payload_len
    }
}

/// A record that was opened in the buffer it was received in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedRecord {
    /// Its content type; for a protected TLS 1.3 record the inner one.
    pub typ: ContentType,
    /// Where in the buffer its content lies.
    pub payload: Range<usize>,
    /// How many bytes the whole record took.
    pub record_len: usize,
}

impl RecordReceiver {
    /// A receiver without keys: what it takes is in the clear.
    pub fn new() -> Self {
        Self {
            decrypter: None,
            protection: ProtocolVersion::TLSv1_2,
            seq: 0,
            opened_any: false,
            consecutive_empty: 0,
            skipped_early_data_left: None,
            joiner: HandshakeJoiner::default(),
        }
    }

    /// Takes all that follows as protected for `decrypter`, from sequence number 0 on.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved::KeyEpochWithPendingFragment`] when handshake bytes wait that were received
    /// under the old key: RFC 9846 §5.1, handshake messages must not span key changes.
    pub fn set_decrypter(
        &mut self,
        decrypter: Box<dyn MessageDecrypter>,
        version: ProtocolVersion,
    ) -> Result<(), PeerMisbehaved> {
        self.check_aligned()?;
        self.decrypter = Some(decrypter);
        self.protection = version;
        self.seq = 0;
        self.opened_any = false;
        Ok(())
    }

    /// # Errors
    ///
    /// [`PeerMisbehaved::KeyEpochWithPendingFragment`] when handshake bytes wait, as in
    /// [`Self::set_decrypter`].
    pub fn check_aligned(&self) -> Result<(), PeerMisbehaved> {
        match self.joiner.is_empty() {
            true => Ok(()),
            false => Err(PeerMisbehaved::KeyEpochWithPendingFragment),
        }
    }

    /// Skips a client's early data of up to `limit` bytes, headers not counted; `None` skips none.
    ///
    /// Early data is what is of type application_data before keys are there, or what the first keys do
    /// not open (RFC 9846 §4.3.10). It ends with the first record that they do.
    pub fn skip_early_data(&mut self, limit: Option<usize>) {
        self.skipped_early_data_left = limit;
    }

    /// True while early data is skipped: empty records of application data stand for it then.
    pub fn skips_early_data(&self) -> bool {
        self.skipped_early_data_left.is_some()
    }

    /// True when what is received is protected.
    pub fn is_decrypting(&self) -> bool {
        self.decrypter.is_some()
    }

    /// The sequence number of the next record.
    pub fn sequence(&self) -> u64 {
        self.seq
    }

    /// Opens the record at the front of `buf` in place; `None` when it is not complete yet.
    ///
    /// A record whose content is empty is returned like any other; too many in a row are an error. So
    /// is a record of early data that is skipped ([`Self::skip_early_data`]).
    ///
    /// # Errors
    ///
    /// Those of [`RecordHeader::read`] and of the decrypter; [`PeerMisbehaved::TooManyEmptyFragments`];
    /// [`PeerMisbehaved::MessageInterleavedWithHandshakeMessage`] when the record comes in between
    /// the fragments of a handshake message. The connection is over then.
    #[inline]
    pub fn open(&mut self, buf: &mut [u8]) -> Result<Option<OpenedRecord>, Error> {
        let Some(header) = RecordHeader::read(buf)? else {
            return Ok(None);
        };
        let record_len = header.record_len();
        let Some(body) = buf.get_mut(HEADER_LEN..record_len) else {
            return Ok(None);
        };
        let (typ, payload) = match &mut self.decrypter {
            Some(decrypter) if !passes_in_the_clear(self.protection, &header, self.opened_any) => {
                // RFC 9846 §5.3: sequence numbers must not wrap
                let seq = self.seq;
                self.seq = seq.checked_add(1).ok_or(Error::DecryptError)?;
                let body_at = body.as_ptr() as usize;
                let msg = InboundOpaqueMessage::new(header.typ, header.version, body);
                let plain = match decrypter.decrypt(msg, seq) {
                    Ok(plain) => plain,
                    Err(error) => {
                        self.seq = seq;
                        return self.skip(&header, error).map(Some);
                    }
                };
                if !self.opened_any {
                    self.opened_any = true;
                    // RFC 9846 §4.3.10: what can be opened is no early data
                    self.skipped_early_data_left = None;
                }
                // where in `buf` the decrypter left the plaintext, which is a slice of its input
                let start = HEADER_LEN + (plain.payload.as_ptr() as usize).wrapping_sub(body_at);
                (plain.typ, start..start + plain.payload.len())
            }
            None if header.typ == ContentType::ApplicationData
                && self.skipped_early_data_left.is_some() =>
            {
                let error = Error::InappropriateMessage {
                    expect_types: [ContentType::Handshake].into(),
                    got_type: header.typ,
                };
                return self.skip(&header, error).map(Some);
            }
            _ if header.payload_len > MAX_FRAGMENT_LEN => {
                return Err(Error::PeerSentOversizedRecord);
            }
            _ => (header.typ, HEADER_LEN..record_len),
        };
        // a decrypter from outside might return a slice that is not of its input
        if payload.start > payload.end || payload.end > record_len {
            return Err(Error::General("decrypter left its buffer".into()));
        }
        self.check_content(typ, payload.is_empty())?;
        Ok(Some(OpenedRecord {
            typ,
            payload,
            record_len,
        }))
    }

    /// Skips a record if it may be early data, or else fails with `error`.
    #[cold]
    fn skip(&mut self, header: &RecordHeader, error: Error) -> Result<OpenedRecord, Error> {
        let left = match (&error, self.skipped_early_data_left) {
            (Error::DecryptError | Error::InappropriateMessage { .. }, Some(left)) => left,
            _ => return Err(error),
        };
        // an empty record counts, too, so that there cannot be more and more of them
        let skipped = header.payload_len.max(1);
        if header.typ != ContentType::ApplicationData || skipped > left {
            return Err(error);
        }
        // RFC 9846 §5.1: handshake messages must not be interleaved with other record types
        if !self.joiner.is_empty() {
            return Err(PeerMisbehaved::RejectedEarlyDataInterleavedWithHandshakeMessage.into());
        }
        self.skipped_early_data_left = Some(left - skipped);
        Ok(OpenedRecord {
            typ: ContentType::ApplicationData,
            payload: HEADER_LEN..HEADER_LEN,
            record_len: header.record_len(),
        })
    }

    /// The bounds that hold for any record once its content is known.
    #[inline]
    fn check_content(&mut self, typ: ContentType, is_empty: bool) -> Result<(), Error> {
        if is_empty {
            self.consecutive_empty += 1;
            if self.consecutive_empty > MAX_CONSECUTIVE_EMPTY {
                return Err(PeerMisbehaved::TooManyEmptyFragments.into());
            }
        } else {
            self.consecutive_empty = 0;
        }
        // RFC 9846 §5.1: handshake messages must not be interleaved with other record types
        if typ != ContentType::Handshake && !self.joiner.is_empty() {
            return Err(PeerMisbehaved::MessageInterleavedWithHandshakeMessage.into());
        }
        Ok(())
    }

    /// Takes in the payload of a handshake record.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage::HandshakePayloadTooLarge`].
    pub fn push_handshake(&mut self, payload: &[u8]) -> Result<(), InvalidMessage> {
        self.joiner.push(payload)
    }

    /// The next complete handshake message, header included.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage::HandshakePayloadTooLarge`].
    pub fn next_handshake_message(&mut self) -> Result<Option<Vec<u8>>, InvalidMessage> {
        self.joiner.next_message()
    }
}

/// True for the records that TLS 1.3 lets through unprotected although keys are in use.
///
/// A change_cipher_spec, for middleboxes (RFC 9846 §5). And an alert before anything was opened with
/// the key: a peer that fails before it has our keys can say so only in the clear.
#[inline]
fn passes_in_the_clear(
    protection: ProtocolVersion,
    header: &RecordHeader,
    opened_any: bool,
) -> bool {
    if header.typ == ContentType::ApplicationData || protection != ProtocolVersion::TLSv1_3 {
        return false;
    }
    match header.typ {
        ContentType::ChangeCipherSpec => true,
        ContentType::Alert => !opened_any && header.payload_len == 2,
        _ => false,
    }
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

#[cfg(test)]
mod early_data_tests {
    use alloc::vec;

    use super::*;
    use crate::crypto::cipher::InboundPlainMessage;

    /// Opens records of `!` only, which must come with sequence numbers from 0 on.
    struct Exclamations(u64);

    impl MessageDecrypter for Exclamations {
        fn decrypt<'a>(
            &mut self,
            msg: InboundOpaqueMessage<'a>,
            seq: u64,
        ) -> Result<InboundPlainMessage<'a>, Error> {
            let plain = msg.into_plain_message();
            if plain.payload.iter().any(|byte| *byte != b'!') || seq != self.0 {
                return Err(Error::DecryptError);
            }
            self.0 += 1;
            Ok(plain)
        }
    }

    fn open(
        receiver: &mut RecordReceiver,
        typ: ContentType,
        payload: &[u8],
    ) -> Result<Range<usize>, Error> {
        let mut record = vec![u8::from(typ), 3, 3, 0, payload.len() as u8];
        record.extend_from_slice(payload);
        let opened = receiver.open(&mut record)?.expect("a whole record");
        assert_eq!(opened.record_len, record.len());
        assert_eq!(opened.typ, typ);
        Ok(opened.payload)
    }

    fn receiver(protected: bool, limit: usize) -> RecordReceiver {
        let mut receiver = RecordReceiver::new();
        if protected {
            let decrypter = Box::new(Exclamations(0));
            receiver
                .set_decrypter(decrypter, ProtocolVersion::TLSv1_3)
                .unwrap();
        }
        receiver.skip_early_data(Some(limit));
        receiver
    }

    const APPLICATION_DATA: ContentType = ContentType::ApplicationData;
    const SKIPPED: Result<Range<usize>, Error> = Ok(HEADER_LEN..HEADER_LEN);

    #[test]
    fn what_the_key_does_not_open_is_skipped_up_to_the_limit() {
        let mut receiver = receiver(true, 5);
        assert_eq!(open(&mut receiver, APPLICATION_DATA, b"abc"), SKIPPED);
        assert_eq!(open(&mut receiver, APPLICATION_DATA, b""), Ok(5..5));
        assert!(!receiver.skips_early_data(), "the empty record was opened");

        let mut receiver = self::receiver(true, 5);
        assert_eq!(open(&mut receiver, APPLICATION_DATA, b"abc"), SKIPPED);
        assert_eq!(open(&mut receiver, APPLICATION_DATA, b"de"), SKIPPED);
        assert!(receiver.skips_early_data());
        assert_eq!(
            open(&mut receiver, APPLICATION_DATA, b"f"),
            Err(Error::DecryptError)
        );
    }

    #[test]
    fn nothing_is_skipped_after_a_record_was_opened() {
        let mut receiver = receiver(true, 100);
        assert_eq!(open(&mut receiver, APPLICATION_DATA, b"abc"), SKIPPED);
        assert_eq!(open(&mut receiver, APPLICATION_DATA, b"!!"), Ok(5..7));
        assert_eq!(
            open(&mut receiver, APPLICATION_DATA, b"abc"),
            Err(Error::DecryptError)
        );
    }

    #[test]
    fn other_types_are_not_skipped() {
        assert_eq!(
            open(&mut receiver(true, 100), ContentType::Handshake, b"abc"),
            Err(Error::DecryptError)
        );
    }

    #[test]
    fn application_data_before_keys_is_skipped_up_to_the_limit() {
        let mut receiver = receiver(false, 4);
        assert_eq!(open(&mut receiver, APPLICATION_DATA, b"abc"), SKIPPED);
        // an empty record counts for a byte
        assert_eq!(open(&mut receiver, APPLICATION_DATA, b""), SKIPPED);
        assert!(matches!(
            open(&mut receiver, APPLICATION_DATA, b""),
            Err(Error::InappropriateMessage { .. })
        ));

        let mut receiver = self::receiver(false, 4);
        assert_eq!(
            open(&mut receiver, ContentType::Handshake, b"abc"),
            Ok(5..8)
        );
        receiver.skip_early_data(None);
        assert_eq!(open(&mut receiver, APPLICATION_DATA, b"abc"), Ok(5..8));
    }

    #[test]
    fn skipped_records_do_not_interrupt_a_handshake_message() {
        for protected in [false, true] {
            let mut receiver = receiver(protected, 100);
            receiver.push_handshake(&[1]).unwrap();
            assert_eq!(
                open(&mut receiver, APPLICATION_DATA, b"abc"),
                Err(PeerMisbehaved::RejectedEarlyDataInterleavedWithHandshakeMessage.into())
            );
        }
    }
}
