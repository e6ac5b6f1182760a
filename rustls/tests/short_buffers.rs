//! Tests of output buffers of every length. If one is too short, the error contains the required
//! length, nothing is written or lost, and the same call succeeds with enough space. Buffers that
//! already contain the plaintext are in `behaviour/in_place.rs`.

use harness::peers::configs::PROVIDERS;
use harness::peers::endpoints::{Endpoint, ThisUnbuffered, Unbuffered, UpstreamBuffered};
use harness::peers::roles::this::Config;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus, WriteTraffic,
};

use crate::cases::{Case, Role, tls13_cases};

const UNTOUCHED: u8 = 0xa5;

/// Calls `write` with buffers of all `lens` that are too short, then with a longer one than
/// necessary. Returns the output.
fn write_everywhere(
    lens: impl Fn(usize) -> Vec<usize>,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, usize>,
) -> Vec<u8> {
    let Err(required) = write(&mut []) else {
        return Vec::new();
    };
    let mut out = vec![UNTOUCHED; required + 3];
    for len in lens(required).into_iter().filter(|len| *len < required) {
        assert_eq!(write(&mut out[..len]), Err(required), "{len}");
    }
    assert!(
        out.iter().all(|byte| *byte == UNTOUCHED),
        "wrote to a short buffer"
    );
    assert_eq!(write(&mut out), Ok(required));
    assert_eq!(out.split_off(required), [UNTOUCHED; 3]);
    out
}

fn every_length(required: usize) -> Vec<usize> {
    (0..required).collect()
}

fn encode<D>(state: &mut EncodeTlsData<'_, D>) -> Vec<u8> {
    let encoded = write_everywhere(every_length, |out| {
        state.encode(out).map_err(|error| match error {
            EncodeError::InsufficientSize(size) => size.required_size,
            EncodeError::AlreadyEncoded => panic!("{error}"),
        })
    });
    let again = state.encode(&mut [0; 4096]);
    assert!(matches!(again, Err(EncodeError::AlreadyEncoded)));
    encoded
}

fn required_size(error: EncryptError) -> usize {
    match error {
        EncryptError::InsufficientSize(size) => size.required_size,
        EncryptError::EncryptExhausted => panic!("{error}"),
    }
}

/// Tries buffers that are much or just too short, and lengths around record boundaries.
fn encrypt(traffic: &mut WriteTraffic<'_, impl Sized>, plaintext: &[u8]) -> Vec<u8> {
    const RECORD: usize = 5 + (1 << 14) + 1 + 16;
    let around = |required: usize| {
        if required < 200 {
            every_length(required)
        } else {
            [0, RECORD, 2 * RECORD, required]
                .iter()
                .flat_map(|at| at.saturating_sub(30)..at + 30)
                .chain((0..required).step_by(997))
                .collect()
        }
    };
    write_everywhere(around, |out| {
        traffic.encrypt(plaintext, out).map_err(required_size)
    })
}

/// Completes the handshake with an upstream peer and tries every buffer length for each flight. A
/// server also sends `half_rtt` data as soon as it can.
fn handshake<C: Unbuffered>(conn: &mut C, peer: &mut UpstreamBuffered, half_rtt: &[u8]) {
    let (mut incoming, mut outgoing) = (peer.take_output(), Vec::new());
    let mut sent_early = false;
    loop {
        let UnbufferedStatus { discard, state } = conn.process(&mut incoming);
        match state.unwrap() {
            ConnectionState::EncodeTlsData(mut state) => outgoing.extend(encode(&mut state)),
            ConnectionState::TransmitTlsData(mut state) => {
                if let Some(mut traffic) = state.may_encrypt_app_data()
                    && !sent_early
                {
                    outgoing.extend(encrypt(&mut traffic, half_rtt));
                    sent_early = true;
                }
                state.done();
                peer.receive(&outgoing).unwrap();
                outgoing.clear();
            }
            ConnectionState::BlockedHandshake => {}
            ConnectionState::WriteTraffic(_) => {
                let more = peer.take_output();
                if more.is_empty() && !peer.is_handshaking() {
                    break;
                }
                incoming.extend(more);
            }
            other => panic!("{other:?}"),
        }
        incoming.drain(..discard);
        incoming.extend(peer.take_output());
    }
    assert!(sent_early);
    let received = peer.read_all();
    assert_eq!(received, half_rtt);
}

fn write_traffic<C: Unbuffered>(conn: &mut C) -> WriteTraffic<'_, C::Data> {
    match conn.process(&mut []).state {
        Ok(ConnectionState::WriteTraffic(traffic)) => traffic,
        other => panic!("{other:?}"),
    }
}

/// Encodes the only message of a connection, which is then transmitted.
fn encoded<C: Unbuffered>(conn: &mut C) -> Vec<u8> {
    let encoded = match conn.process(&mut []).state {
        Ok(ConnectionState::EncodeTlsData(mut state)) => encode(&mut state),
        other => panic!("{other:?}"),
    };
    match conn.process(&mut []).state {
        Ok(ConnectionState::TransmitTlsData(state)) => state.done(),
        other => panic!("{other:?}"),
    }
    encoded
}

/// Writes everything that a connection can write.
fn everything<C: Unbuffered>(mut conn: C, mut peer: UpstreamBuffered) {
    handshake(&mut conn, &mut peer, b"as soon as possible");
    let mut arrives = |wire: &[u8], plaintext: &[u8]| {
        peer.receive(wire).unwrap();
        let received = peer.read_all();
        assert!(received == plaintext, "{} bytes", plaintext.len());
    };
    for len in [0, 1, 64, 100, 16_383, 16_384, 16_385, 40_000] {
        let plaintext: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let wire = encrypt(&mut write_traffic(&mut conn), &plaintext);
        arrives(&wire, &plaintext);
    }
    // a KeyUpdate, and data under the new keys
    write_traffic(&mut conn).refresh_traffic_keys().unwrap();
    let wire = encoded(&mut conn);
    arrives(&wire, b"");
    let wire = encrypt(&mut write_traffic(&mut conn), b"new keys");
    arrives(&wire, b"new keys");

    let mut traffic = write_traffic(&mut conn);
    let wire = write_everywhere(every_length, |out| {
        traffic.queue_close_notify(out).map_err(required_size)
    });
    arrives(&wire, b"");
    let refused = write_traffic(&mut conn).encrypt(b"too late", &mut [0; 100]);
    assert!(matches!(refused, Err(EncryptError::EncryptExhausted)));
    assert!(peer.peer_has_closed());
}

#[test]
fn every_output_requires_exactly_the_reported_length() {
    for case in tls13_cases() {
        println!("{case:?}");
        match case.config() {
            Config::Client(config) => {
                everything(ThisUnbuffered::client(config).conn, case.peer());
            }
            Config::Server(config) => {
                everything(ThisUnbuffered::server(config).conn, case.peer());
            }
        }
    }
}

/// Creates a server after its handshake with upstream's client.
fn connected() -> (UnbufferedServerConnection, UpstreamBuffered) {
    let case = Case::tls13(PROVIDERS[1], Role::Server);
    let mut conn = ThisUnbuffered::server(case.config().server()).conn;
    let mut peer = case.peer();
    handshake(&mut conn, &mut peer, b"");
    (conn, peer)
}

#[test]
fn peeked_data_is_offered_again() {
    let (mut conn, mut peer) = connected();
    peer.send(b"first");
    peer.send(b"second");
    let mut incoming = peer.take_output();
    for round in 0..3 {
        let UnbufferedStatus { discard, state } = conn.process(&mut incoming);
        assert_eq!(discard != 0, round == 0, "the record is counted once");
        match state {
            Ok(ConnectionState::ReadTraffic(state)) => {
                assert_eq!(state.peek_len().unwrap().get(), 5);
            }
            other => panic!("{other:?}"),
        }
        incoming.drain(..discard);
    }
    // the record after it stays, too
    for expected in [&b"first"[..], b"second"] {
        let UnbufferedStatus { discard, state } = conn.process(&mut incoming);
        let Ok(ConnectionState::ReadTraffic(mut state)) = state else {
            panic!("{state:?}");
        };
        let record = state.next_record().unwrap().unwrap();
        assert_eq!((record.payload, record.discard), (expected, 0));
        assert!(state.peek_len().is_none() && state.next_record().is_none());
        incoming.drain(..discard);
    }
    assert!(incoming.is_empty());
}

#[test]
fn unread_data_must_be_offered_again() {
    let (mut conn, mut peer) = connected();
    peer.send(b"first");
    let mut incoming = peer.take_output();
    let state = conn.process(&mut incoming).state;
    assert!(matches!(state, Ok(ConnectionState::ReadTraffic(_))));
    let error = conn.process(&mut []).state.unwrap_err();
    assert!(matches!(error, rustls::Error::General(_)), "{error:?}");
    // the peer receives an alert, and the error repeats
    let alert = encoded(&mut conn);
    let alert_error = peer.receive(&alert).unwrap_err();
    assert_eq!(alert_error, "AlertReceived(InternalError)");
    assert_eq!(conn.process(&mut []).state.unwrap_err(), error);
}
