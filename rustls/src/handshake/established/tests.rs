//! KeyUpdates between two ends that share their secrets. The handshake tests cover KeyUpdates with
//! rustls 0.23.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use rustls_core::codec::Codec;
use rustls_core::crypto::cipher::{EncryptError, MessageEncrypter, OutboundPlainMessage};

use super::*;
use crate::callbacks::Callbacks;
use crate::conn::records::{Records, Sending};
#[cfg(feature = "aws_lc_rs")]
use crate::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
#[cfg(not(feature = "aws_lc_rs"))]
use crate::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use crate::enums::{AlertDescription, ContentType, ProtocolVersion};
use crate::error::InvalidMessage;
use crate::failure::Failure;
use crate::handshake::Context;
use crate::handshake::observation::Recorder;
use crate::handshake::tls13::key_update::read_key_update;
use crate::handshake::tolerance::Tolerance;
use crate::msgs::HandshakeMessage;

/// One end of an established connection.
struct End {
    records: Records,
    established: Option<Established>,
    tolerance: Tolerance,
}

fn ends() -> [End; 2] {
    let end = |sending: u8, receiving: u8| {
        let suite = TLS13_AES_128_GCM_SHA256.tls13().unwrap();
        let secret = |byte| OkmBlock::new(&[byte; 32]);
        let mut records = Records::new();
        let secrets = Tls13Secrets::derive(suite, |of_sending, of_receiving, exporter| {
            of_sending.clone_from(&secret(sending));
            of_receiving.clone_from(&secret(receiving));
            exporter.clone_from(&secret(3));
        });
        secrets.install_sending(&mut records);
        secrets.install_receiving(&mut records).unwrap();
        End {
            records,
            established: Some(Established::Tls13(secrets)),
            tolerance: Tolerance::default(),
        }
    };
    [end(1, 2), end(2, 1)]
}

impl End {
    fn secrets(&mut self) -> &mut SendingSecrets {
        let established = self.established.as_mut().unwrap();
        established.refreshable().unwrap()
    }

    fn refresh(&mut self) {
        let established = self.established.as_mut().unwrap();
        let secrets = established.refreshable().unwrap();
        secrets.refresh(&mut self.records).unwrap();
    }

    /// Sends a KeyUpdate even if [`Self::refresh`] would not.
    fn send_key_update(&mut self, request: KeyUpdateRequest) {
        let established = self.established.as_mut().unwrap();
        let secrets = established.refreshable().unwrap();
        secrets.send_key_update(request, &mut self.records).unwrap();
    }

    fn send_data(&mut self) {
        // every write does this
        if self.records.sender.payload_left() == 0 {
            self.refresh();
        }
        self.records
            .seal(ContentType::ApplicationData, b"data".into())
            .unwrap();
    }

    fn read_key_update(&mut self, request: KeyUpdateRequest) -> Result<(), Failure> {
        let mut cx = Context {
            transport: &mut self.records,
            negotiated: &mut Default::default(),
            established: &mut self.established,
            tolerance: &mut self.tolerance,
            #[cfg(feature = "tls12")]
            session: &mut None,
            data: &mut (),
            callbacks: Callbacks::Sync,
            recorder: Recorder(None),
        };
        read_key_update(request, &mut cx)
    }

    /// Receives the queued output of `from`. Returns the KeyUpdates in it.
    fn receive(&mut self, from: &mut Self) -> Result<Vec<KeyUpdateRequest>, Error> {
        let mut rest = from.records.outgoing.pending().to_vec();
        from.records.outgoing.consume(rest.len());
        let mut requests = Vec::new();
        while let Some(record) = self.records.receiver.open(&mut rest)? {
            if record.typ == ContentType::Handshake {
                self.records.joiner.push(&rest[record.payload])?;
                let message = self.records.joiner.next_message()?.unwrap();
                let message_read = HandshakeMessage::new(&message)?;
                let request = message_read.decode(KeyUpdateRequest::read)?;
                requests.push(request);
                self.read_key_update(request)
                    .map_err(|failure| failure.error)?;
                self.records.joiner.give_back(message);
            } else {
                assert_eq!(record.typ, ContentType::ApplicationData);
            }
            rest.drain(..record.record_len);
        }
        Ok(requests)
    }
}

const REQUESTED: KeyUpdateRequest = KeyUpdateRequest::UpdateRequested;
const NOT_REQUESTED: KeyUpdateRequest = KeyUpdateRequest::UpdateNotRequested;

#[test]
fn a_requested_key_update_is_sent_and_both_directions_continue() {
    let [mut a, mut b] = ends();
    for _ in 0..3 {
        a.refresh();
        assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED]);
        // the reply waits until there is application data to send
        assert!(b.records.outgoing.is_empty());
        b.send_data();
        b.send_data();
        assert_eq!(a.receive(&mut b).unwrap(), [NOT_REQUESTED]);
        a.send_data();
        assert_eq!(b.receive(&mut a).unwrap(), []);
    }
}

/// Repeated requests by the application gain nothing.
#[test]
fn an_unused_key_is_not_replaced() {
    let [mut a, mut b] = ends();
    for _ in 0..100 {
        a.refresh();
    }
    assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED]);
    // the reply also replaces this side's keys
    b.refresh();
    assert_eq!(a.receive(&mut b).unwrap(), [NOT_REQUESTED]);
    b.refresh();
    a.refresh();
    assert!(a.records.outgoing.is_empty() && b.records.outgoing.is_empty());

    a.send_data();
    a.refresh();
    assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED]);
}

#[test]
fn a_second_request_waits_for_the_answer_to_the_first() {
    let [mut a, mut b] = ends();
    a.refresh();
    a.send_data();
    a.refresh();
    assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED, NOT_REQUESTED]);
    b.send_data();
    assert_eq!(a.receive(&mut b).unwrap(), [NOT_REQUESTED]);
    a.send_data();
    a.refresh();
    assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED]);
}

/// In a split connection, the receiving half may get the reply while the sending half is sealing.
#[test]
fn a_reply_that_arrives_while_the_request_is_sealed_is_not_awaited_again() {
    struct AnsweredMeanwhile(Arc<Link>);

    impl MessageEncrypter for AnsweredMeanwhile {
        fn encrypt(
            &mut self,
            msg: OutboundPlainMessage<'_>,
            _: u64,
            _: &mut [u8],
        ) -> Result<usize, EncryptError> {
            if msg.typ == ContentType::Handshake {
                assert!(self.0.take_awaited_update());
            }
            Ok(msg.payload.len())
        }

        fn encrypt_in_place(
            &mut self,
            _: ContentType,
            _: ProtocolVersion,
            _: usize,
            _: u64,
            _: &mut [u8],
        ) -> Result<usize, EncryptError> {
            Err(EncryptError::Failed)
        }

        fn encrypted_payload_len(&self, payload_len: usize) -> usize {
            payload_len
        }

        fn payload_offset(&self) -> usize {
            0
        }
    }

    let [mut a, _] = ends();
    let link = Arc::new(Link::new());
    let mut sending = a.established.as_mut().unwrap().split(&link).unwrap();
    let secrets = sending.refreshable().unwrap();
    secrets.refresh(&mut a.records).unwrap();
    assert!(link.awaits_update());
    a.records.sender.set_encrypter(
        Box::new(AnsweredMeanwhile(link.clone())),
        ProtocolVersion::TLSv1_3,
        u64::MAX,
    );
    a.records
        .seal(ContentType::ApplicationData, b"data".into())
        .unwrap();
    secrets.refresh(&mut a.records).unwrap();
    // otherwise no KeyUpdate would ever be requested again
    assert!(!link.awaits_update());
}

#[test]
fn pending_requests_share_one_answer() {
    let [mut a, mut b] = ends();
    for _ in 0..5 {
        a.send_key_update(REQUESTED);
    }
    assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED; 5]);
    b.send_data();
    assert_eq!(a.receive(&mut b).unwrap(), [NOT_REQUESTED]);
}

/// A KeyUpdate that is already on its way does not count as the reply to a request that crosses it.
#[test]
fn crossing_requests_are_both_answered() {
    let [mut a, mut b] = ends();
    b.refresh();
    a.send_key_update(REQUESTED);
    assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED]);
    b.send_data();
    assert_eq!(a.receive(&mut b).unwrap(), [REQUESTED, NOT_REQUESTED]);
    a.send_data();
    assert_eq!(b.receive(&mut a).unwrap(), [NOT_REQUESTED]);
}

#[test]
fn requests_separated_by_data_get_separate_answers() {
    let [mut a, mut b] = ends();
    let request_update = |a: &mut End, b: &mut End| {
        a.send_key_update(REQUESTED);
        assert_eq!(b.receive(a).unwrap(), [REQUESTED]);
    };
    request_update(&mut a, &mut b);
    b.send_data();
    request_update(&mut a, &mut b);
    request_update(&mut a, &mut b);
    b.send_data();
    assert_eq!(a.receive(&mut b).unwrap(), [NOT_REQUESTED; 2]);
}

/// A sent reply does not satisfy later requests.
#[test]
fn a_request_after_an_answer_gets_its_own_answer() {
    let [mut a, mut b] = ends();
    for _ in 0..3 {
        a.send_key_update(REQUESTED);
        assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED]);
        b.send_data();
        assert_eq!(a.receive(&mut b).unwrap(), [NOT_REQUESTED]);
    }
}

#[test]
fn a_sender_stops_updating_keys_at_the_limit() {
    let [mut a, mut b] = ends();
    a.secrets().updates = MAX_SENDING_UPDATES - 1;
    a.send_data();
    a.refresh();
    assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED]);
    b.send_data();
    assert_eq!(a.receive(&mut b).unwrap(), [NOT_REQUESTED]);

    // it updates neither by itself nor on request
    a.send_data();
    assert_eq!(b.receive(&mut a).unwrap(), []);
    a.refresh();
    assert!(a.records.outgoing.is_empty());
    b.send_data();
    b.refresh();
    assert_eq!(a.receive(&mut b).unwrap(), [REQUESTED]);
    a.send_data();
    assert_eq!(b.receive(&mut a).unwrap(), []);
}

/// RFC 9846 §4.7.3: the same limit applies to extracted keys.
#[test]
fn extracted_keys_have_the_same_update_limit() {
    let [mut a, _] = ends();
    a.secrets().updates = MAX_SENDING_UPDATES - 1;
    let Some(established) = &mut a.established else {
        unreachable!();
    };
    established.update_extracted_sending().unwrap();
    assert!(matches!(
        established.update_extracted_sending(),
        Err(Error::General(_))
    ));
    established.update_extracted_receiving().unwrap();
}

#[test]
fn nothing_is_sent_after_close_notify() {
    let [mut a, mut b] = ends();
    a.records.sending = Sending::Closed;
    b.refresh();
    assert_eq!(a.receive(&mut b).unwrap(), [REQUESTED]);
    a.refresh();
    assert!(a.records.outgoing.is_empty());
}

#[test]
fn too_many_key_updates_are_an_error() {
    const MAX_KEY_UPDATES: usize = 32;

    let [mut a, mut b] = ends();
    let mut send = |a: &mut End| {
        a.send_key_update(NOT_REQUESTED);
        b.receive(a)
    };
    for _ in 0..MAX_KEY_UPDATES {
        assert_eq!(send(&mut a).unwrap(), [NOT_REQUESTED]);
    }
    assert_eq!(
        send(&mut a).unwrap_err(),
        PeerMisbehaved::TooManyKeyUpdateRequests.into()
    );
}

#[test]
fn an_unknown_request_is_an_illegal_parameter() {
    let [mut a, _] = ends();
    let failure = a.read_key_update(KeyUpdateRequest::Unknown(2)).unwrap_err();
    assert_eq!(failure.error, InvalidMessage::InvalidKeyUpdate.into());
    assert_eq!(failure.alert, Some(AlertDescription::IllegalParameter));
}

#[test]
fn exporters_reject_invalid_lengths() {
    let [a, _] = ends();
    let established = a.established.as_ref().unwrap();
    let export = |label: &[u8], len| {
        let mut output = vec![0; len];
        let exported = established.export_keying_material(&mut output, label, None);
        exported.map(|()| output)
    };
    assert!(export(b"label", 255 * 32).is_ok());
    for (label_len, len) in [(5, 0), (5, 255 * 32 + 1), (250, 1)] {
        let error = export(&vec![b'l'; label_len], len).unwrap_err();
        assert!(matches!(error, Error::General(_)), "{label_len} {len}");
    }
}
