//! KeyUpdate between two ends that share their secrets. What crosses to rustls 0.23 is tested with the
//! handshakes.

use alloc::vec;

use super::*;
#[cfg(feature = "aws_lc_rs")]
use crate::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use crate::crypto::cipher::OutboundChunks;
#[cfg(not(feature = "aws_lc_rs"))]
use crate::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use crate::enums::{ContentType, Side};
use crate::msgs::{HandshakeMessage, HandshakePayload};

/// One end of an established connection.
struct End {
    traffic: Traffic,
    common: CommonState,
}

fn ends() -> [End; 2] {
    let end = |side, sending: u8, receiving: u8| {
        let suite = TLS13_AES_128_GCM_SHA256.tls13().unwrap();
        let secret = |byte| OkmBlock::new(&[byte; 32]);
        let mut common = CommonState::new(side);
        set_sending_secret(suite, &secret(sending), &mut common);
        set_receiving_secret(suite, &secret(receiving), &mut common).unwrap();
        End {
            traffic: Traffic::new(suite, secret(sending), secret(receiving), secret(3)),
            common,
        }
    };
    [end(Side::Client, 1, 2), end(Side::Server, 2, 1)]
}

impl End {
    /// Takes in what `from` has to send; returns the KeyUpdates that were among it.
    fn receive(&mut self, from: &mut Self) -> Result<Vec<KeyUpdateRequest>, Error> {
        let mut rest = from.common.outgoing.pending().to_vec();
        from.common.consume_outgoing(rest.len());
        let mut requests = Vec::new();
        while let Some(record) = self.common.receiver.open(&mut rest)? {
            if record.typ == ContentType::ApplicationData {
                rest.drain(..record.record_len);
                continue;
            }
            assert_eq!(record.typ, ContentType::Handshake);
            self.common.receiver.push_handshake(&rest[record.payload])?;
            let message = self.common.receiver.next_handshake_message()?.unwrap();
            let HandshakePayload::KeyUpdate(request) = HandshakeMessage::read(&message)?.payload
            else {
                panic!("no KeyUpdate");
            };
            requests.push(request);
            self.traffic.read_key_update(request, &mut self.common)?;
            rest.drain(..record.record_len);
        }
        Ok(requests)
    }
}

const REQUESTED: KeyUpdateRequest = KeyUpdateRequest::UpdateRequested;
const NOT_REQUESTED: KeyUpdateRequest = KeyUpdateRequest::UpdateNotRequested;

#[test]
fn a_request_is_answered_and_both_directions_go_on() {
    let [mut a, mut b] = ends();
    for _ in 0..3 {
        a.traffic.refresh(&mut a.common);
        assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED]);
        assert_eq!(a.receive(&mut b).unwrap(), [NOT_REQUESTED]);
        assert_eq!(b.receive(&mut a).unwrap(), []);
    }
}

#[test]
fn a_second_request_waits_for_the_answer_to_the_first() {
    let [mut a, mut b] = ends();
    a.traffic.refresh(&mut a.common);
    a.traffic.refresh(&mut a.common);
    assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED, NOT_REQUESTED]);
    assert_eq!(a.receive(&mut b).unwrap(), [NOT_REQUESTED]);
    a.traffic.refresh(&mut a.common);
    assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED]);
}

#[test]
fn requests_that_wait_together_have_one_answer() {
    let [mut a, mut b] = ends();
    for _ in 0..5 {
        a.traffic.awaits_update = false;
        a.traffic.refresh(&mut a.common);
    }
    assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED; 5]);
    assert_eq!(a.receive(&mut b).unwrap(), [NOT_REQUESTED]);
}

#[test]
fn application_data_parts_requests_into_two_answers() {
    let [mut a, mut b] = ends();
    let request_update = |a: &mut End, b: &mut End| {
        a.traffic.awaits_update = false;
        a.traffic.refresh(&mut a.common);
        assert_eq!(b.receive(a).unwrap(), [REQUESTED]);
    };
    request_update(&mut a, &mut b);
    let payload = OutboundChunks::Single(b"data");
    b.common
        .seal_to_outgoing(ContentType::ApplicationData, payload)
        .unwrap();
    request_update(&mut a, &mut b);
    request_update(&mut a, &mut b);
    assert_eq!(a.receive(&mut b).unwrap(), [NOT_REQUESTED; 2]);
}

#[test]
fn a_sender_stops_before_the_epoch_would_be_too_high() {
    let [mut a, mut b] = ends();
    a.traffic.sending_updates = MAX_SENDING_UPDATES - 1;
    a.traffic.refresh(&mut a.common);
    assert_eq!(b.receive(&mut a).unwrap(), [REQUESTED]);
    assert_eq!(a.receive(&mut b).unwrap(), [NOT_REQUESTED]);

    // neither on its own account nor asked to
    a.traffic.refresh(&mut a.common);
    assert!(a.common.outgoing.is_empty());
    b.traffic.refresh(&mut b.common);
    assert_eq!(a.receive(&mut b).unwrap(), [REQUESTED]);
    assert!(a.common.outgoing.is_empty());
}

#[test]
fn nothing_is_sent_after_close_notify() {
    let [mut a, mut b] = ends();
    a.common.sent_close_notify = true;
    b.traffic.refresh(&mut b.common);
    assert_eq!(a.receive(&mut b).unwrap(), [REQUESTED]);
    a.traffic.refresh(&mut a.common);
    assert!(a.common.outgoing.is_empty());
}

#[test]
fn a_peer_that_only_updates_keys_is_stopped() {
    let [mut a, mut b] = ends();
    let mut send = |a: &mut End| {
        a.traffic.send_key_update(NOT_REQUESTED, &mut a.common);
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
fn an_unknown_request_has_its_own_alert() {
    let [mut a, mut b] = ends();
    let unknown = KeyUpdateRequest::Unknown(2);
    assert_eq!(
        a.traffic.read_key_update(unknown, &mut a.common),
        Err(InvalidMessage::InvalidKeyUpdate.into())
    );
    let mut alert = a.common.outgoing.pending().to_vec();
    let record = b.common.receiver.open(&mut alert).unwrap().unwrap();
    assert_eq!(record.typ, ContentType::Alert);
    assert_eq!(
        alert[record.payload],
        [2, AlertDescription::IllegalParameter.into()]
    );
}

#[test]
fn exporting_checks_lengths() {
    let [a, _] = ends();
    let export = |label: &[u8], len| {
        let mut output = vec![0; len];
        let exported = a.traffic.export_keying_material(&mut output, label, None);
        exported.map(|()| output)
    };
    assert!(export(b"label", 255 * 32).is_ok());
    for (label_len, len) in [(5, 0), (5, 255 * 32 + 1), (250, 1)] {
        let error = export(&vec![b'l'; label_len], len).unwrap_err();
        assert!(matches!(error, Error::General(_)), "{label_len} {len}");
    }
}
