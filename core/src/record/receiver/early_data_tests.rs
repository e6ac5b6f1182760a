use alloc::vec;

use super::*;
use crate::crypto::cipher::InboundPlainMessage;

/// Opens only records of `!`, and checks that their sequence numbers start at 0.
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

/// Stands for the content type and tag of a record of early data. It is never opened, so its bytes
/// do not matter.
const PROTECTION: &[u8] = &[b'?'; TLS13_OVERHEAD];

/// Receives a record of early data.
fn open_early(receiver: &mut RecordReceiver, content: &[u8]) -> Result<Range<usize>, Error> {
    open(receiver, APPLICATION_DATA, &[content, PROTECTION].concat())
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
        receiver.set_decrypter(decrypter, ProtocolVersion::TLSv1_3);
    }
    receiver.skip_early_data(Some(limit));
    receiver
}

const APPLICATION_DATA: ContentType = ContentType::ApplicationData;
const SKIPPED: Result<Range<usize>, Error> = Ok(HEADER_LEN..HEADER_LEN);

#[test]
fn unopenable_records_are_skipped_up_to_the_limit() {
    let mut receiver = receiver(true, 5);
    assert_eq!(open_early(&mut receiver, b"abc"), SKIPPED);
    assert_eq!(open(&mut receiver, APPLICATION_DATA, b""), Ok(5..5));
    assert!(!receiver.skips_early_data(), "the empty record was opened");

    let mut receiver = self::receiver(true, 5);
    assert_eq!(open_early(&mut receiver, b"abc"), SKIPPED);
    assert_eq!(open_early(&mut receiver, b"de"), SKIPPED);
    assert!(receiver.skips_early_data());
    assert_eq!(open_early(&mut receiver, b"f"), Err(Error::DecryptError));
}

#[test]
fn an_empty_record_counts_as_one_byte() {
    let mut receiver = receiver(true, 3);
    for content in [&b""[..], b"a", b""] {
        assert_eq!(open_early(&mut receiver, content), SKIPPED);
    }
    assert_eq!(open_early(&mut receiver, b""), Err(Error::DecryptError));
}

/// A record that was opened, but has wrong content, is not early data.
#[test]
fn no_record_that_was_opened_is_skipped() {
    struct TooLong;

    impl MessageDecrypter for TooLong {
        fn decrypt<'a>(
            &mut self,
            _: InboundOpaqueMessage<'a>,
            _: u64,
        ) -> Result<InboundPlainMessage<'a>, Error> {
            Err(Error::PeerSentOversizedRecord)
        }
    }

    let mut receiver = receiver(true, 100);
    receiver.set_decrypter(Box::new(TooLong), ProtocolVersion::TLSv1_3);
    assert_eq!(
        open_early(&mut receiver, b"abc"),
        Err(Error::PeerSentOversizedRecord)
    );
}

#[test]
fn nothing_is_skipped_once_a_record_has_been_opened() {
    let mut receiver = receiver(true, 100);
    assert_eq!(open_early(&mut receiver, b"abc"), SKIPPED);
    assert_eq!(open(&mut receiver, APPLICATION_DATA, b"!!"), Ok(5..7));
    assert_eq!(
        open(&mut receiver, APPLICATION_DATA, b"abc"),
        Err(Error::DecryptError)
    );
}

#[test]
fn only_application_data_is_skipped() {
    assert_eq!(
        open(&mut receiver(true, 100), ContentType::Handshake, b"abc"),
        Err(Error::DecryptError)
    );
}

#[test]
fn application_data_before_keys_is_skipped_up_to_the_limit() {
    let mut receiver = receiver(false, 4);
    assert_eq!(open_early(&mut receiver, b"abc"), SKIPPED);
    // an empty record counts as one byte, however short it is
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
