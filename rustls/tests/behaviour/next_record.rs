//! `process_tls_records` skips records without data, and stops at the first one that concerns the
//! application.

use harness::peers::configs::ClientAuth;
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, UpstreamUnbuffered, handshake,
};
use harness::providers::transparent::{self, Setup};
use harness::scripted::recorded::flights::frame;
use harness::wire::Noise;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{AlertDescription, ContentType, Error};

use crate::behaviour::transparent::{alert, data, key_update, padded, protected};

/// Creates a server after the handshake, in each API.
fn connected() -> (UnbufferedServerConnection, ThisBuffered) {
    let configs = transparent::this::Configs::new(Setup::usual(ClientAuth::None));
    let mut buffered = ThisBuffered::new(configs.server());
    let mut unbuffered = ThisUnbuffered::server(configs.server.clone());
    for end in [&mut buffered as &mut dyn Endpoint, &mut unbuffered] {
        handshake(&mut ThisBuffered::new(configs.client()), end);
    }
    (unbuffered.conn, buffered)
}

/// Bytes after an error are never processed, the error repeats, and the record that caused it is
/// discarded.
#[test]
fn no_byte_after_an_error_is_processed() {
    let (mut server, _) = connected();
    let (one, fatal) = (data(b"one"), alert(2, 80));
    let mut incoming = [&one[..], &fatal, &data(b"two")].concat();
    let UnbufferedStatus { discard, state } = server.process_tls_records(&mut incoming);
    let Ok(ConnectionState::ReadTraffic(mut state)) = state else {
        panic!("{state:?}");
    };
    assert_eq!(state.next_record().unwrap().unwrap().payload, b"one");
    assert!(state.next_record().is_none());
    assert_eq!(discard, one.len());
    incoming.drain(..discard);
    let expected = Error::AlertReceived(AlertDescription::InternalError);
    for is_first in [true, false, false, false] {
        let UnbufferedStatus { discard, state } = server.process_tls_records(&mut incoming);
        assert_eq!(state.unwrap_err(), expected);
        let expected = if is_first {
            fatal.len()
        } else {
            incoming.len()
        };
        assert_eq!(discard, expected);
        incoming.drain(..discard);
    }
}

/// Both crates discard equally many bytes on an error and show the same state afterwards.
#[test]
fn errors_discard_the_same_bytes_as_upstream() {
    let begun = protected(ContentType::Handshake, &[24, 0]);
    let cases = [
        ("a record that cannot be opened", frame(23, b"abc")),
        ("too long a record", b"\x17\x03\x03\xff\xffabc".to_vec()),
        ("not a record", b"GET / HTTP/1.0\r\n\r\n".to_vec()),
        ("a fatal alert", alert(2, 80)),
        ("an invalid message", key_update(7)),
        ("an alert in a message", [begun, alert(1, 90)].concat()),
        ("a close_notify", alert(1, 0)),
    ];
    for (name, case) in cases {
        for behind in [&b""[..], &data(b"behind")] {
            let bytes = [&case[..], behind].concat();
            let (ours, theirs) = (this::first(&bytes), upstream::first(&bytes));
            // this crate does not keep the beginning of a message in the caller's buffer
            let begun = 24 * usize::from(name == "an alert in a message");
            assert_eq!(ours.0 - begun, theirs.0, "{name}");
            assert_eq!(ours.1, theirs.1, "{name}");
        }
    }
}

macro_rules! first {
    ($module:ident, $endpoint:ident) => {
        mod $module {
            use super::*;

            /// Returns the bytes that a connected server discards of `bytes`, and its state.
            pub(super) fn first(bytes: &[u8]) -> (usize, String) {
                let setup = Setup::usual(ClientAuth::None);
                let client = transparent::this::Configs::new(setup).client();
                let mut client = ThisBuffered::new(client);
                let mut server =
                    $endpoint::server(transparent::$module::Configs::new(setup).server);
                handshake(&mut client, &mut server);
                let mut bytes = bytes.to_vec();
                let status = server.conn.process_tls_records(&mut bytes);
                (status.discard, format!("{:?}", status.state))
            }
        }
    };
}

first!(this, ThisUnbuffered);
first!(upstream, UpstreamUnbuffered);

/// Everything that a server reports about its input.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    plaintext: Vec<u8>,
    error: Option<String>,
    closed: bool,
}

/// Offers random prefixes of the available bytes, and leaves some states for later.
fn drive(
    server: &mut UnbufferedServerConnection,
    mut incoming: Vec<u8>,
    noise: &mut Noise,
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut below = |limit: usize| noise.next() as usize % limit;
    let (mut calls, mut is_left) = (0, false);
    loop {
        calls += 1;
        let (offered, most) = match (below(3), server.peek_record(&incoming)) {
            (0, _) => (below(incoming.len() + 1), usize::MAX),
            // `max_payload` includes padding of any length
            (1, Some(record)) => (record.record_len, record.max_payload),
            _ => (incoming.len(), usize::MAX),
        };
        let UnbufferedStatus { discard, state, .. } =
            server.process_tls_records(&mut incoming[..offered]);
        match state {
            Ok(ConnectionState::ReadTraffic(mut state)) => {
                let is_new = !core::mem::take(&mut is_left);
                if below(4) == 0 {
                    state.peek_len().unwrap();
                    is_left = true;
                } else {
                    let record = state.next_record().unwrap().unwrap();
                    assert!(!record.payload.is_empty() && record.discard == 0);
                    assert!(!is_new || record.payload.len() <= most);
                    outcome.plaintext.extend_from_slice(record.payload);
                    assert!(state.next_record().is_none());
                }
            }
            Ok(ConnectionState::EncodeTlsData(mut state)) => {
                if below(2) == 0 {
                    state.encode(&mut [0; 4096]).unwrap();
                }
            }
            Ok(ConnectionState::TransmitTlsData(state)) => {
                if below(2) == 0 {
                    state.done();
                }
            }
            Ok(ConnectionState::WriteTraffic(mut state)) if below(3) == 0 => {
                state.encrypt(b"written", &mut [0; 4096]).unwrap();
            }
            Ok(ConnectionState::PeerClosed) => {
                assert!(!outcome.closed, "closed twice");
                outcome.closed = true;
            }
            Ok(_) => {}
            Err(error) => {
                outcome.error = Some(format!("{error:?}"));
                return outcome;
            }
        }
        incoming.drain(..discard);
        assert!(calls < 100_000, "no end, with {} bytes", incoming.len());
        // bytes after a close_notify are left unread
        let is_done = incoming.is_empty() || outcome.closed;
        if calls > 20 && !is_left && is_done && (0..8).all(|_| below(2) == 0) {
            return outcome;
        }
    }
}

/// Any sequence of offers yields the same data as the buffered API does for the same records.
#[test]
fn any_sequence_of_offers_yields_the_same_data() {
    let mut noise = Noise::new(0x5eed);
    for round in 0..400 {
        let (mut server, mut buffered) = connected();
        let mut stream = Vec::new();
        let mut number = 0;
        for _ in 0..noise.next() % 24 {
            number += 1;
            stream.extend(match noise.next() % 32 {
                0 => alert(1, 90),
                1 => key_update(0),
                2..5 => key_update(1),
                5..8 => data(b""),
                8..10 => padded(ContentType::ApplicationData, b"", 300),
                10..13 => padded(ContentType::ApplicationData, &[number; 7], 1000),
                13 => alert(1, 0),
                14 => match noise.next() % 4 {
                    0 => alert(2, 80),
                    1 => protected(ContentType::Handshake, b""),
                    2 => b"\x17\x03\x03\x00\x03abc".to_vec(),
                    _ => key_update(7),
                },
                _ => data(&[number; 20]),
            });
        }
        let mut expected = Outcome {
            error: buffered.receive(&stream).err(),
            ..Outcome::default()
        };
        buffered.read_into(&mut expected.plaintext);
        expected.closed = buffered.peer_has_closed();
        let outcome = drive(&mut server, stream, &mut noise);
        assert_eq!(outcome, expected, "round {round}");
    }
}
