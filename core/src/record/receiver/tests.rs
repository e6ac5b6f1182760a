use alloc::boxed::Box;
use alloc::vec::Vec;
use alloc::{format, vec};

use super::super::toy::{IV, KEY, Protection, plaintext, sealed};
use super::*;
use crate::crypto::aead::{Aead, AeadAlgorithm};
use crate::crypto::cipher::{AeadKey, InboundPlainMessage, Iv, Nonce};
use crate::crypto::toy::ToyAlgorithm;
use crate::enums::AlertDescription;
use crate::record::traffic::Traffic;

const DATA: ContentType = ContentType::ApplicationData;

fn record(typ: u8, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u16).to_be_bytes();
    [&[typ, 3, 3], &len[..], payload].concat()
}

/// Opens `record`, which is complete. Returns its type and content.
fn open(receiver: &mut RecordReceiver, record: &[u8]) -> Result<(ContentType, Vec<u8>), Error> {
    let mut buf = record.to_vec();
    let opened = receiver.open(&mut buf)?.expect("a whole record");
    assert_eq!(opened.record_len, record.len());
    Ok((opened.typ, buf[opened.payload].to_vec()))
}

fn misbehaved(error: PeerMisbehaved) -> Result<(ContentType, Vec<u8>), Error> {
    Err(error.into())
}

fn invalid(error: InvalidMessage) -> Result<(ContentType, Vec<u8>), Error> {
    Err(error.into())
}

#[test]
fn records_survive_any_split_of_the_input() {
    for protection in Protection::ALL {
        let mut sender = protection.sender();
        let plain = plaintext(100);
        let mut stream = Vec::new();
        for len in [1, 0, 100, 7] {
            stream.extend(match len {
                0 => sealed(&mut sender, ContentType::Alert, &[1, 0]),
                _ => sealed(&mut sender, DATA, &plain[..len]),
            });
        }
        for cut in (1..=stream.len()).step_by(if cfg!(miri) { 37 } else { 1 }) {
            let mut receiver = protection.receiver();
            let (mut buf, mut seen) = (Vec::new(), Vec::new());
            for piece in stream.chunks(cut) {
                buf.extend_from_slice(piece);
                while let Some(opened) = receiver.open(&mut buf).unwrap() {
                    seen.push((opened.typ, buf[opened.payload].to_vec()));
                    buf.drain(..opened.record_len);
                }
            }
            assert!(buf.is_empty());
            let expected = [
                (DATA, plain[..1].to_vec()),
                (ContentType::Alert, vec![1, 0]),
                (DATA, plain.clone()),
                (DATA, plain[..7].to_vec()),
            ];
            assert_eq!(seen, expected, "{protection}, split every {cut} bytes");
            assert_eq!(receiver.sequence(), 4);
        }
    }
}

#[test]
fn incomplete_records_are_not_touched() {
    for protection in Protection::ALL {
        let record = sealed(&mut protection.sender(), DATA, b"abc");
        let mut receiver = protection.receiver();
        for len in 0..record.len() {
            let mut buf = record[..len].to_vec();
            assert_eq!(receiver.open(&mut buf), Ok(None), "{len} bytes");
            assert_eq!(buf, record[..len]);
        }
        assert_eq!(open(&mut receiver, &record), Ok((DATA, b"abc".to_vec())));
    }
}

#[test]
fn plaintext_starts_in_the_input_after_the_header() {
    for protection in Protection::ALL {
        let (head, _) = protection.overhead();
        let mut buf = sealed(&mut protection.sender(), DATA, b"abc");
        let record_len = buf.len();
        buf.extend_from_slice(b"the next record");
        assert_eq!(
            protection.receiver().open(&mut buf),
            Ok(Some(OpenedRecord {
                typ: DATA,
                payload: head..head + 3,
                record_len
            }))
        );
        assert_eq!(buf[head..head + 3], *b"abc");
        assert_eq!(buf[record_len..], *b"the next record");
    }
}

#[test]
fn impossible_headers_are_rejected() {
    let read = |bytes: [u8; 5]| RecordHeader::read(&bytes);
    // RFC 9846 §5: content types
    for typ in [0, 19, 25, 0xff] {
        assert_eq!(
            read([typ, 3, 3, 0, 1]),
            Err(InvalidMessage::InvalidContentType)
        );
    }
    for version in [[2, 0], [4, 3], [0, 0], [0xfe, 0xfd]] {
        assert_eq!(
            read([22, version[0], version[1], 0, 1]),
            Err(InvalidMessage::UnknownProtocolVersion)
        );
    }
    for typ in [20, 21, 22] {
        assert_eq!(
            read([typ, 3, 3, 0, 0]),
            Err(InvalidMessage::InvalidEmptyPayload)
        );
    }
    // RFC 9846 §5.1: the minor version is ignored
    for (bytes, payload_len) in [
        ([23, 3, 1, 0, 0], 0),
        ([22, 3, 0x99, 0x48, 0], 18432),
        ([21, 3, 0, 0, 2], 2),
    ] {
        let header = read(bytes).unwrap().unwrap();
        assert_eq!(header.payload_len, payload_len);
        assert_eq!(header.record_len(), payload_len + 5);
        assert_eq!(header.typ, ContentType::from(bytes[0]));
    }
    for len in 0..5 {
        assert_eq!(RecordHeader::read(&[22, 3, 3, 0, 1][..len]), Ok(None));
    }
    // rejected as soon as the invalid byte arrives
    assert_eq!(
        RecordHeader::read(&[25]),
        Err(InvalidMessage::InvalidContentType)
    );
    assert_eq!(
        RecordHeader::read(&[22, 2]),
        Err(InvalidMessage::UnknownProtocolVersion)
    );
    for len in 0..2 {
        assert_eq!(RecordHeader::read(&[22, 3][..len]), Ok(None));
    }
    assert_eq!(
        open(&mut RecordReceiver::new(), &record(0xff, b"a")),
        invalid(InvalidMessage::InvalidContentType)
    );
}

#[test]
fn unprotected_records_are_returned_unchanged() {
    let mut receiver = RecordReceiver::default();
    assert!(!receiver.is_decrypting());
    assert_eq!(
        open(&mut receiver, &record(22, b"hello")),
        Ok((ContentType::Handshake, b"hello".to_vec()))
    );
    let longest = plaintext(16384);
    assert_eq!(
        open(&mut receiver, &record(22, &longest)),
        Ok((ContentType::Handshake, longest))
    );
    assert_eq!(
        open(&mut receiver, &record(24, b"heartbeat")),
        invalid(InvalidMessage::InvalidContentType)
    );
    let alert = Error::from(InvalidMessage::InvalidContentType).alert();
    assert_eq!(alert, Some(AlertDescription::DecodeError));
}

#[test]
fn forged_replayed_and_reordered_records_are_rejected() {
    for protection in Protection::ALL {
        let mut sender = protection.sender();
        let first = sealed(&mut sender, DATA, b"one");
        let second = sealed(&mut sender, DATA, b"two");

        let mut receiver = protection.receiver();
        assert_eq!(open(&mut receiver, &second), Err(Error::DecryptError));

        let mut receiver = protection.receiver();
        open(&mut receiver, &first).unwrap();
        assert_eq!(open(&mut receiver, &first), Err(Error::DecryptError));

        let mut forged = first.clone();
        *forged.last_mut().unwrap() ^= 1;
        assert_eq!(
            open(&mut protection.receiver(), &forged),
            Err(Error::DecryptError)
        );
        // shorter than the protection's overhead
        assert_eq!(
            open(&mut protection.receiver(), &record(23, b"short")),
            Err(Error::DecryptError)
        );
        // a record sent unprotected although keys are active
        assert_eq!(
            open(&mut protection.receiver(), &record(22, &plaintext(40))),
            Err(Error::DecryptError)
        );
    }
}

#[test]
fn sequence_numbers_restart_with_each_key_and_do_not_wrap() {
    let mut sender = Protection::Tls13.sender();
    let first = sealed(&mut sender, DATA, b"one");
    let second = sealed(&mut sender, DATA, b"two");
    let mut receiver = Protection::Tls13.receiver();
    assert!(receiver.is_decrypting());
    open(&mut receiver, &first).unwrap();
    open(&mut receiver, &second).unwrap();
    assert_eq!(receiver.sequence(), 2);
    receiver.set_decrypter(Protection::Tls13.decrypter(), ProtocolVersion::TLSv1_3);
    assert_eq!(receiver.sequence(), 0);
    open(&mut receiver, &first).unwrap();

    // even if the decrypter accepts everything
    let obliging = Box::new(External(|all| all));
    receiver.set_decrypter(obliging, ProtocolVersion::TLSv1_3);
    receiver.seq = u64::MAX - 1;
    open(&mut receiver, &second).unwrap();
    assert_eq!(open(&mut receiver, &second), Err(Error::DecryptError));
    assert_eq!(receiver.sequence(), u64::MAX);
}

#[test]
fn only_tls13_accepts_an_unencrypted_change_cipher_spec() {
    let ccs = record(20, &[1]);
    let mut receiver = Protection::Tls13.receiver();
    let data = sealed(&mut Protection::Tls13.sender(), DATA, b"one");
    for _ in 0..2 {
        let opened = open(&mut receiver, &ccs);
        assert_eq!(opened, Ok((ContentType::ChangeCipherSpec, vec![1])));
    }
    assert_eq!(receiver.sequence(), 0, "it has no sequence number");
    open(&mut receiver, &data).unwrap();
    assert!(open(&mut receiver, &ccs).is_ok());

    for protection in [Protection::Tls12Gcm, Protection::Tls12Chacha20] {
        assert_eq!(
            open(&mut protection.receiver(), &ccs),
            Err(Error::DecryptError)
        );
        let sealed_ccs = sealed(
            &mut protection.sender(),
            ContentType::ChangeCipherSpec,
            &[1],
        );
        assert!(open(&mut protection.receiver(), &sealed_ccs).is_ok());
    }
}

#[test]
fn unencrypted_alerts_are_accepted_until_a_record_has_been_opened() {
    let alert = record(21, &[2, 40]);
    let opened = Ok((ContentType::Alert, vec![2, 40]));
    let mut receiver = Protection::Tls13.receiver();
    assert_eq!(open(&mut receiver, &alert), opened);
    // a record longer than an alert is not an unprotected alert
    assert_eq!(
        open(&mut receiver, &record(21, &[2, 40, 0])),
        Err(Error::DecryptError)
    );

    let data = sealed(&mut Protection::Tls13.sender(), DATA, b"one");
    open(&mut receiver, &data).unwrap();
    assert_eq!(open(&mut receiver, &alert), Err(Error::DecryptError));
    // an unprotected close_notify must not end the data of any later key
    receiver.set_decrypter(Protection::Tls13.decrypter(), ProtocolVersion::TLSv1_3);
    assert_eq!(
        open(&mut receiver, &record(21, &[1, 0])),
        Err(Error::DecryptError)
    );

    for protection in [Protection::Tls12Gcm, Protection::Tls12Chacha20] {
        assert_eq!(
            open(&mut protection.receiver(), &alert),
            Err(Error::DecryptError)
        );
    }
}

#[test]
fn protected_tls13_records_contain_only_allowed_types() {
    let open_sealed = |typ, payload: &[u8]| {
        let mut encrypter = Protection::Tls13.encrypter();
        let mut body = vec![0; encrypter.encrypted_payload_len(payload.len())];
        let msg = crate::crypto::cipher::OutboundPlainMessage {
            typ,
            version: ProtocolVersion::TLSv1_2,
            payload: payload.into(),
        };
        encrypter.encrypt(msg, 0, &mut body).unwrap();
        open(&mut Protection::Tls13.receiver(), &record(23, &body))
    };
    for payload in [&[1][..], &[2], &[]] {
        assert_eq!(
            open_sealed(ContentType::ChangeCipherSpec, payload),
            misbehaved(PeerMisbehaved::IllegalMiddleboxChangeCipherSpec)
        );
    }
    for typ in [ContentType::Handshake, ContentType::Alert] {
        assert_eq!(
            open_sealed(typ, &[]),
            misbehaved(PeerMisbehaved::IllegalTlsInnerPlaintext)
        );
        assert_eq!(open_sealed(typ, &[1]), Ok((typ, vec![1])));
    }
    // RFC 9846 §5: an unexpected record type is an unexpected_message, even as the inner type
    for typ in [ContentType::Heartbeat, ContentType::Unknown(99)] {
        assert_eq!(
            open_sealed(typ, &[1]),
            invalid(InvalidMessage::InvalidContentType)
        );
    }
    assert_eq!(open_sealed(DATA, &[]), Ok((DATA, vec![])));
}

#[test]
fn protected_tls13_records_have_outer_type_application_data() {
    let seal = |outer: u8, inner: ContentType, payload: &[u8]| {
        // the header is authentic: it was sealed with this type
        let mut text = [payload, &[inner.into()]].concat();
        let aad = [outer, 3, 3, 0, text.len() as u8 + 16];
        let nonce = Nonce::new(&Iv::new(IV), 0);
        let key = ToyAlgorithm::sealing_key(&AeadKey::new(&[KEY; 32]));
        let tag = key.0.seal_in_place(nonce, &aad, &mut text).unwrap();
        record(outer, &[&text[..], tag.as_ref()].concat())
    };
    let alert = || (ContentType::Alert, vec![2, 40]);
    let sealed = seal(23, ContentType::Alert, &[2, 40]);
    assert_eq!(
        open(&mut Protection::Tls13.receiver(), &sealed),
        Ok(alert())
    );
    for (outer, inner) in [(22, 22), (22, 23), (21, 21), (21, 23), (24, 23), (24, 24)] {
        let sealed = seal(outer, inner.into(), &[2, 40]);
        let error = open(&mut Protection::Tls13.receiver(), &sealed).unwrap_err();
        let expected = Error::InappropriateMessage {
            expect_types: vec![DATA],
            got_type: outer.into(),
        };
        assert_eq!(error, expected);
        assert_eq!(error.alert(), Some(AlertDescription::UnexpectedMessage));
    }
    // a change_cipher_spec is unprotected, regardless of its content
    let ccs = seal(20, DATA, &[1]);
    let (typ, content) = open(&mut Protection::Tls13.receiver(), &ccs).unwrap();
    assert_eq!(
        (typ, &content[..]),
        (ContentType::ChangeCipherSpec, &ccs[5..])
    );
    // a TLS 1.2 record has its real type in the header
    for protection in [Protection::Tls12Gcm, Protection::Tls12Chacha20] {
        let record = sealed_by(protection, ContentType::Alert, &[2, 40]);
        assert_eq!(open(&mut protection.receiver(), &record), Ok(alert()));
    }
}

fn sealed_by(protection: Protection, typ: ContentType, payload: &[u8]) -> Vec<u8> {
    sealed(&mut protection.sender(), typ, payload)
}

/// Rejected as soon as the header arrives.
#[test]
fn oversized_records_cause_record_overflow() {
    let clear = RecordReceiver::new;
    let tls13 = || Protection::Tls13.receiver();
    let skipping = |mut receiver: RecordReceiver| {
        receiver.skip_early_data(Some(usize::MAX));
        receiver
    };
    for (mut receiver, typ, longest) in [
        // RFC 9846 §5.1
        (clear(), 22, 16384_u16),
        (clear(), 23, 16384),
        (tls13(), 20, 16384),
        (skipping(clear()), 22, 16384),
        // RFC 9846 §5.2
        (tls13(), 23, 16640),
        (tls13(), 22, 16640),
        (tls13(), 21, 16640),
        (skipping(tls13()), 23, 16640),
        (skipping(clear()), 23, 16640),
        // RFC 5246 §6.2.3
        (Protection::Tls12Gcm.receiver(), 23, 18432),
        (Protection::Tls12Chacha20.receiver(), 20, 18432),
    ] {
        let mut header = |len: u16| {
            let [high, low] = len.to_be_bytes();
            receiver.open(&mut [typ, 3, 3, high, low])
        };
        assert_eq!(header(longest), Ok(None), "type {typ}, {longest} bytes");
        if longest != 18432 {
            let error = header(longest + 1).unwrap_err();
            assert_eq!(error, Error::PeerSentOversizedRecord);
            assert_eq!(error.alert(), Some(AlertDescription::RecordOverflow));
        }
        // too long for every version
        for len in [18433, 0xffff] {
            let error = header(len).unwrap_err();
            assert_eq!(error, InvalidMessage::MessageTooLarge.into());
            assert_eq!(error.alert(), Some(AlertDescription::DecodeError));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "records of full length")]
fn oversized_protected_records_are_rejected() {
    for protection in Protection::ALL {
        let mut sender = protection.sender();
        sender.set_max_fragment_size(None).unwrap();
        let longest = plaintext(16384);
        let record = sealed(&mut sender, DATA, &longest);
        assert_eq!(
            open(&mut protection.receiver(), &record),
            Ok((DATA, longest))
        );
    }
    // padded to more than 2^14 + 1
    let mut encrypter = Protection::Tls13.encrypter();
    let inner = [&b"a\x17"[..], &[0; 16384 - 1]].concat();
    let mut body = vec![0; encrypter.encrypted_payload_len(inner.len())];
    let msg = crate::crypto::cipher::OutboundPlainMessage {
        typ: DATA,
        version: ProtocolVersion::TLSv1_2,
        payload: inner[..].into(),
    };
    encrypter.encrypt(msg, 0, &mut body).unwrap();
    assert_eq!(
        open(&mut Protection::Tls13.receiver(), &record(23, &body)),
        Err(Error::PeerSentOversizedRecord)
    );
}

#[test]
#[cfg_attr(miri, ignore = "hundreds of records")]
fn consecutive_empty_records_are_limited() {
    for protection in Protection::ALL {
        let mut encrypter = protection.encrypter();
        let mut seq = 0;
        let mut next = |payload: &[u8]| {
            let mut body = vec![0; encrypter.encrypted_payload_len(payload.len())];
            let msg = crate::crypto::cipher::OutboundPlainMessage {
                typ: DATA,
                version: ProtocolVersion::TLSv1_2,
                payload: payload.into(),
            };
            encrypter.encrypt(msg, seq, &mut body).unwrap();
            seq += 1;
            record(23, &body)
        };
        let mut receiver = protection.receiver();
        for _ in 0..3 {
            for _ in 0..32 {
                assert_eq!(open(&mut receiver, &next(b"")), Ok((DATA, vec![])));
            }
            // content resets the count
            open(&mut receiver, &next(b"a")).unwrap();
        }
        for _ in 0..32 {
            open(&mut receiver, &next(b"")).unwrap();
        }
        for _ in 0..300 {
            assert_eq!(
                open(&mut receiver, &next(b"")),
                misbehaved(PeerMisbehaved::TooManyEmptyFragments)
            );
        }
    }
}

/// Any content resets the count, even of other types and of unprotected records.
#[test]
fn records_with_content_do_not_count_as_empty() {
    for protection in Protection::ALL {
        let (mut sender, mut receiver) = (protection.sender(), protection.receiver());
        for _ in 0..100 {
            let record = sealed(&mut sender, ContentType::Handshake, b"a");
            open(&mut receiver, &record).unwrap();
        }
    }
    let mut receiver = RecordReceiver::new();
    for typ in [22, 23] {
        for _ in 0..3 {
            for _ in 0..32 {
                open(&mut receiver, &record(23, b"")).unwrap();
            }
            open(&mut receiver, &record(typ, b"a")).unwrap();
        }
    }
}

#[test]
fn a_waiting_record_is_described_by_its_header() {
    let waiting = |record_len, max_payload| {
        Some(WaitingRecord {
            record_len,
            max_payload,
        })
    };
    for protection in Protection::ALL {
        let receiver = protection.receiver();
        for len in [1, 2, 100] {
            let record = sealed_by(protection, DATA, &plaintext(len));
            for cut in 0..record.len() {
                assert_eq!(receiver.peek(&record[..cut]), None, "{cut} bytes");
            }
            let expected = waiting(record.len(), len);
            assert_eq!(receiver.peek(&record), expected, "{protection}");
            // the record that follows does not matter
            let longer = [&record[..], &[22, 9]].concat();
            assert_eq!(receiver.peek(&longer), expected, "{protection}");
        }
        // the type of a TLS 1.2 record shows that it is not application data
        let alert = sealed_by(protection, ContentType::Alert, &[1, 0]);
        let content = if protection == Protection::Tls13 {
            2
        } else {
            0
        };
        assert_eq!(receiver.peek(&alert), waiting(alert.len(), content));
    }
    // application data needs keys
    for typ in [22, 23] {
        let record = record(typ, b"hello");
        assert_eq!(RecordReceiver::new().peek(&record), waiting(10, 0));
    }
}

#[test]
#[cfg_attr(miri, ignore = "records of full length")]
fn a_record_that_would_be_rejected_is_not_described() {
    let record_of = |len| record(23, &vec![0; len]);
    for (protection, longest) in [
        (Protection::Tls13, 16640),
        (Protection::Tls12Gcm, 18432),
        (Protection::Tls12Chacha20, 18432),
    ] {
        let mut receiver = protection.receiver();
        let record = record_of(longest);
        let described = receiver.peek(&record).unwrap();
        assert_eq!(described.record_len, record.len());
        // padding, or the overhead of another cipher
        assert_eq!(described.max_payload, MAX_FRAGMENT_LEN);
        assert_eq!(receiver.peek(&record_of(longest + 1)), None);

        for impossible in [
            [25, 3, 3, 0, 1, 0],
            [23, 2, 3, 0, 1, 0],
            [22, 3, 3, 0, 0, 0],
        ] {
            assert_eq!(receiver.peek(&impossible), None);
        }
        let short = sealed_by(protection, DATA, b"abc");
        assert!(receiver.peek(&short).is_some());
        receiver.close();
        assert_eq!(receiver.peek(&short), None);
        // not even an unprotected record
        assert_eq!(receiver.peek(&self::record(22, b"abc")), None);
    }
    assert_eq!(RecordReceiver::new().peek(&record_of(16385)), None);
    assert!(RecordReceiver::new().peek(&record_of(16384)).is_some());
}

#[test]
fn nothing_is_opened_after_close() {
    let hello = record(22, b"hello");
    let sealed = sealed(&mut Protection::Tls13.sender(), DATA, b"one");
    for mut receiver in [RecordReceiver::new(), Protection::Tls13.receiver()] {
        receiver.close();
        assert!(!receiver.is_decrypting());
        assert_eq!(receiver.open(&mut []), Ok(None));
        for record in [&hello, &sealed, &record(20, &[1]), &record(21, &[2, 40])] {
            assert_eq!(open(&mut receiver, record), Err(Error::DecryptError));
        }
        // even with another key
        receiver.set_decrypter(Protection::Tls13.decrypter(), ProtocolVersion::TLSv1_3);
        assert_eq!(open(&mut receiver, &sealed), Err(Error::DecryptError));
        assert!(!receiver.is_decrypting());
    }
}

/// Decrypts with an arbitrary function.
struct External(for<'a> fn(&'a [u8]) -> &'a [u8]);

impl MessageDecrypter for External {
    fn decrypt<'a>(
        &mut self,
        msg: InboundOpaqueMessage<'a>,
        _: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let all = msg.into_plain_message();
        Ok(InboundPlainMessage {
            payload: self.0(all.payload),
            ..all
        })
    }
}

#[test]
fn an_external_decrypter_must_return_a_slice_of_its_input() {
    static ELSEWHERE: [u8; 40000] = [7; 40000];
    let record = record(23, &plaintext(600));
    // the records after the first one take another path
    for is_first in [true, false] {
        let open = |plaintext| {
            let mut receiver = RecordReceiver::new();
            if !is_first {
                receiver.set_decrypter(Box::new(External(|all| all)), ProtocolVersion::TLSv1_3);
                open(&mut receiver, &record).unwrap();
            }
            receiver.set_decrypter(Box::new(External(plaintext)), ProtocolVersion::TLSv1_3);
            open(&mut receiver, &record)
        };
        let left = Err(Error::General(
            "the decrypter returned bytes outside its buffer".into(),
        ));
        assert_eq!(open(|_| &ELSEWHERE[..3]), left);
        assert_eq!(open(|_| &ELSEWHERE), left);
        // an empty slice may point anywhere
        assert_eq!(open(|_| &[]), Ok((DATA, vec![])));
        assert_eq!(open(|all| &all[600..]), Ok((DATA, vec![])));

        assert_eq!(open(|all| all), Ok((DATA, plaintext(600))));
        assert_eq!(open(|all| &all[..1]), Ok((DATA, plaintext(1))));
        assert_eq!(
            open(|all| &all[500..]),
            Ok((DATA, plaintext(600)[500..].to_vec()))
        );
    }
}

#[test]
fn only_slices_of_the_buffer_have_a_position_in_it() {
    let outer = [0; 8];
    let at = outer.as_ptr() as usize;
    assert_eq!(offset_in(at, 8, &outer), Some(0));
    assert_eq!(offset_in(at, 8, &outer[3..5]), Some(3));
    assert_eq!(offset_in(at, 8, &outer[7..]), Some(7));
    // one byte before, one after, and both
    assert_eq!(offset_in(at + 1, 7, &outer), None);
    assert_eq!(offset_in(at, 7, &outer), None);
    assert_eq!(offset_in(at + 1, 6, &outer), None);
    assert_eq!(offset_in(usize::MAX, 6, &outer), None);
}

#[test]
fn debug_shows_no_secrets() {
    assert_eq!(
        format!("{:?}", Protection::Tls13.receiver()),
        "RecordReceiver { decrypting: true, seq: 0, .. }"
    );
}

/// Opens the record at the front of `stream` into `out`. Returns its type and content.
fn open_into(
    receiver: &mut RecordReceiver,
    stream: &mut &[u8],
    out: &mut [u8],
) -> Option<Result<(ContentType, Vec<u8>), Error>> {
    Some(receiver.open_into(stream, out)?.map(|opened| {
        *stream = &stream[opened.record_len..];
        (opened.typ, out[..opened.len].to_vec())
    }))
}

#[test]
fn records_are_opened_into_other_memory() {
    for protection in Protection::ALL {
        let (mut sender, mut receiver) = (protection.sender(), protection.receiver());
        let plain = plaintext(100);
        let stream: Vec<_> = [100, 40, 7]
            .map(|len| sealed(&mut sender, DATA, &plain[..len]))
            .concat();
        let mut stream = &stream[..];
        let mut out = [0xee; 101];
        // the first record may end early data, so it must be opened in place
        assert_eq!(open_into(&mut receiver, &mut stream, &mut out), None);
        let first = stream.len() - receiver_rest(&mut receiver, stream).len();
        stream = &stream[first..];

        let complete = stream;
        for len in 0..sealed(&mut protection.sender(), DATA, &plain[..40]).len() {
            assert_eq!(
                open_into(&mut receiver, &mut &complete[..len], &mut out),
                None
            );
        }
        assert_eq!(open_into(&mut receiver, &mut stream, &mut out[..39]), None);
        assert_eq!(out, [0xee; 101]);
        for len in [40, 7] {
            let opened = open_into(&mut receiver, &mut stream, &mut out);
            assert_eq!(
                opened,
                Some(Ok((DATA, plain[..len].to_vec()))),
                "{protection}"
            );
        }
        assert_eq!((receiver.sequence(), stream), (3, &[][..]));
    }
}

/// Opens the first record of `stream` in place. Returns the rest.
fn receiver_rest<'a>(receiver: &mut RecordReceiver, stream: &'a [u8]) -> &'a [u8] {
    let opened = receiver.open(&mut stream.to_vec()).unwrap().unwrap();
    &stream[opened.record_len..]
}

#[test]
fn errors_are_the_same_when_opening_into_other_memory() {
    for protection in Protection::ALL {
        let mut sender = protection.sender();
        let first = sealed(&mut sender, DATA, b"first");
        let mut forged = sealed(&mut sender, DATA, b"second");
        *forged.last_mut().unwrap() ^= 1;
        let mut receiver = protection.receiver();
        receiver_rest(&mut receiver, &first);
        let mut out = [0xee; 50];
        let opened = open_into(&mut receiver, &mut &forged[..], &mut out);
        assert_eq!(opened, Some(Err(Error::DecryptError)), "{protection}");
        assert!(out.iter().all(|byte| matches!(byte, 0 | 0xee)));
        assert_eq!(receiver.sequence(), 1, "the number is not used up");

        receiver.close();
        assert_eq!(open_into(&mut receiver, &mut &forged[..], &mut out), None);
    }
    // a protected record with a change_cipher_spec or a heartbeat
    for (typ, error) in [
        (
            ContentType::ChangeCipherSpec,
            Error::from(PeerMisbehaved::IllegalMiddleboxChangeCipherSpec),
        ),
        (
            ContentType::Heartbeat,
            InvalidMessage::InvalidContentType.into(),
        ),
    ] {
        let (mut sender, mut receiver) = (Protection::Tls13.sender(), Protection::Tls13.receiver());
        receiver_rest(&mut receiver, &sealed(&mut sender, DATA, b"first"));
        let record = sealed(&mut sender, typ, b"content");
        let mut out = [0xee; 50];
        assert_eq!(
            open_into(&mut receiver, &mut &record[..], &mut out),
            Some(Err(error))
        );
        assert!(out.iter().all(|byte| matches!(byte, 0 | 0xee)), "{out:?}");
    }
}

#[test]
fn empty_records_opened_into_another_buffer_count_towards_the_limit() {
    for protection in Protection::ALL {
        let (mut sender, mut receiver) = (protection.sender(), protection.receiver());
        receiver_rest(&mut receiver, &sealed(&mut sender, DATA, b"first"));
        for count in 0..=MAX_CONSECUTIVE_EMPTY {
            let mut record = vec![0; sender.sealed_len(1) - 1];
            let mut encrypter = protection.encrypter();
            record[..HEADER_LEN].copy_from_slice(&[23, 3, 3, 0, 0]);
            record[4] = (record.len() - HEADER_LEN) as u8;
            let msg = crate::crypto::cipher::OutboundPlainMessage {
                typ: DATA,
                version: ProtocolVersion::TLSv1_2,
                payload: b""[..].into(),
            };
            let seq = u64::from(count) + 1;
            encrypter
                .encrypt(msg, seq, &mut record[HEADER_LEN..])
                .unwrap();
            let opened = open_into(&mut receiver, &mut &record[..], &mut [0; 50]).unwrap();
            let expected = if count < MAX_CONSECUTIVE_EMPTY {
                Ok((DATA, Vec::new()))
            } else {
                misbehaved(PeerMisbehaved::TooManyEmptyFragments)
            };
            assert_eq!(opened, expected, "{protection}, {count} before");
        }
    }
}

#[test]
fn counting_does_not_change_how_records_are_opened() {
    for protection in Protection::ALL {
        for begins_plain in [false, true] {
            for is_closed in [false, true] {
                let new = || {
                    let mut receiver = RecordReceiver::new();
                    receiver.skip_early_data(Some(30));
                    if !begins_plain {
                        receiver.set_decrypter(protection.decrypter(), protection.version());
                    }
                    receiver
                };
                let (mut plain, mut counted) = (new(), new());
                counted.count(Box::default());
                if is_closed {
                    for receiver in [&mut plain, &mut counted] {
                        receiver.close();
                        receiver.set_decrypter(protection.decrypter(), protection.version());
                    }
                }
                let mut sender = protection.sender();
                let records = [
                    record(21, &[1, 0]),
                    record(20, &[1]),
                    record(23, &[7; 30]),
                    record(23, &[7; 60]),
                    sealed(&mut sender, DATA, b"data"),
                    sealed(&mut sender, ContentType::Handshake, b"message"),
                    sealed(&mut sender, DATA, b"more"),
                    record(21, &[1, 0]),
                    record(23, &[7; 30]),
                    record(23, &[7; 17000]),
                    record(9, &[7; 30]),
                ];
                let mut expected = Traffic::default();
                for record in &records {
                    let (mut out, mut same) = (vec![0; 60], vec![0; 60]);
                    let into = plain.open_into(record, &mut out);
                    assert_eq!(counted.open_into(record, &mut same), into);
                    assert_eq!(same, out);
                    assert_eq!(counted.peek(record), plain.peek(record));
                    if into.is_none() {
                        for len in [0, 1, 4, 5, record.len() - 1] {
                            let mut buf = record[..len].to_vec();
                            let opened = plain.open(&mut buf);
                            assert_eq!(counted.open(&mut buf), opened);
                        }
                        let (mut buf, mut same) = (record.clone(), record.clone());
                        let opened = plain.open(&mut buf);
                        assert_eq!(counted.open(&mut same), opened);
                        assert_eq!(same, buf);
                        if opened.is_ok() {
                            expected.add(1, record.len());
                        }
                    } else if let Some(Ok(_)) = into {
                        expected.add(1, record.len());
                    }
                    assert_eq!(format!("{counted:?}"), format!("{plain:?}"));
                    assert_eq!(counted.skips_early_data(), plain.skips_early_data());
                    assert_eq!(counted.traffic(), Some(expected));
                }
            }
        }
    }
}

/// The memory of a counter outlives its connection.
#[test]
fn a_stopped_counter_holds_no_key() {
    let mut receiver = Protection::Tls13.receiver();
    receiver.count(Box::default());
    let counter = receiver.stop_counting().unwrap();
    assert!(matches!(counter.protection, super::Protection::Closed));
    assert!(receiver.is_decrypting());
    receiver.count(counter);
    assert_eq!(receiver.traffic(), Some(Traffic::default()));
}

#[cfg(feature = "std")]
#[test]
fn counts_survive_a_panic_in_the_decrypter() {
    let mut receiver = RecordReceiver::new();
    receiver.count(Box::default());
    open(&mut receiver, &record(22, b"message")).unwrap();
    let decrypter = Box::new(External(|_| panic!("as planned")));
    receiver.set_decrypter(decrypter, ProtocolVersion::TLSv1_3);
    let opening = std::panic::AssertUnwindSafe(|| open(&mut receiver, &record(23, &[7; 30])));
    assert!(std::panic::catch_unwind(opening).is_err());
    let mut expected = Traffic::default();
    expected.add(1, 12);
    assert_eq!(receiver.traffic(), Some(expected));
}

/// The decrypter may belong to the application, and so may its `drop`.
#[cfg(feature = "std")]
#[test]
fn the_receiver_stays_intact_if_dropping_its_decrypter_panics() {
    struct Panics;

    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("as planned");
        }
    }

    impl MessageDecrypter for Panics {
        fn decrypt<'a>(
            &mut self,
            msg: InboundOpaqueMessage<'a>,
            seq: u64,
        ) -> Result<InboundPlainMessage<'a>, Error> {
            External(|all| all).decrypt(msg, seq)
        }
    }

    type Change = fn(&mut RecordReceiver);
    let changes: [Change; 2] = [
        |receiver| receiver.set_decrypter(Protection::Tls13.decrypter(), ProtocolVersion::TLSv1_3),
        RecordReceiver::close,
    ];
    for (change, counts) in changes.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let mut receiver = RecordReceiver::new();
        if counts {
            receiver.count(Box::default());
        }
        receiver.set_decrypter(Box::new(Panics), ProtocolVersion::TLSv1_2);
        open(&mut receiver, &record(23, b"abc")).unwrap();
        let changing = std::panic::AssertUnwindSafe(|| change(&mut receiver));
        assert!(std::panic::catch_unwind(changing).is_err());
        let sealed = sealed(&mut Protection::Tls13.sender(), DATA, b"one");
        // with the next key, the sequence begins again
        let is_opened = open(&mut receiver, &sealed).is_ok();
        assert_eq!(is_opened, receiver.is_decrypting());
        assert_eq!(receiver.sequence(), 1);
        assert_eq!(receiver.max_sealed_len == 0, !is_opened, "{counts}");
    }
}
