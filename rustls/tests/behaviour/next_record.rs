//! `ReadTraffic::next_record` goes on by itself: past records without data, up to whatever the application has
//! to be told of, and no further.

use harness::Noise;
use harness::configs::ClientAuth;
use harness::endpoints::{Endpoint, ThisBuffered};
use harness::transparent::{TAG, this};
use harness::wire::record;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{AlertDescription, ContentType, Error};

/// A record under the transparent cipher, with `padding` zeros.
fn protected(typ: ContentType, content: &[u8], padding: usize) -> Vec<u8> {
    let payload = [content, &[typ.into()], &vec![0; padding], &TAG].concat();
    let mut record = record(ContentType::ApplicationData.into(), &payload);
    record[2] = 3;
    record
}

fn data(content: &[u8]) -> Vec<u8> {
    protected(ContentType::ApplicationData, content, 0)
}

fn key_update(request: u8) -> Vec<u8> {
    protected(ContentType::Handshake, &[24, 0, 0, 1, request], 0)
}

fn alert(level: u8, description: u8) -> Vec<u8> {
    protected(ContentType::Alert, &[level, description], 0)
}

/// A server after the handshake, in both APIs.
fn connected() -> (UnbufferedServerConnection, ThisBuffered) {
    let mut client = ThisBuffered::new(this::client(ClientAuth::None));
    let mut buffered = ThisBuffered::new(this::server(ClientAuth::None));
    let setup = harness::transparent::Setup::usual(ClientAuth::None);
    let config = this::Configs::new(setup).server;
    let mut server = UnbufferedServerConnection::new(config).unwrap();
    let mut incoming = Vec::new();
    // everything of the provider's is always the same, so that one client does for both
    while server.is_handshaking() {
        let from_client = client.take_output();
        buffered.receive(&from_client).unwrap();
        incoming.extend(from_client);
        let UnbufferedStatus { discard, state, .. } = server.process_tls_records(&mut incoming);
        match state.unwrap() {
            ConnectionState::EncodeTlsData(mut state) => {
                state.encode(&mut [0; 4096]).unwrap();
                client.receive(&buffered.take_output()).unwrap();
            }
            ConnectionState::TransmitTlsData(state) => state.done(),
            _ => {}
        }
        incoming.drain(..discard);
    }
    buffered.take_output();
    send_all(&mut server);
    (server, buffered)
}

/// Has it send what it wants to send.
fn send_all(server: &mut UnbufferedServerConnection) {
    loop {
        match server.process_tls_records(&mut []).state {
            Ok(ConnectionState::EncodeTlsData(mut state)) => {
                state.encode(&mut [0; 4096]).unwrap();
            }
            Ok(ConnectionState::TransmitTlsData(state)) => state.done(),
            _ => return,
        }
    }
}

/// What is behind it was never there, and the error stays.
#[test]
fn nothing_comes_after_an_error() {
    let (mut server, _) = connected();
    let mut incoming = [data(b"one"), alert(2, 80), data(b"two")].concat();
    let status = server.process_tls_records(&mut incoming);
    let Ok(ConnectionState::ReadTraffic(mut state)) = status.state else {
        panic!("{:?}", status.state);
    };
    assert_eq!(state.next_record().unwrap().unwrap().payload, b"one");
    let expected = Error::AlertReceived(AlertDescription::InternalError);
    assert_eq!(state.next_record().unwrap().unwrap_err(), expected);
    for _ in 0..3 {
        assert!(state.next_record().is_none());
    }
    let status = server.process_tls_records(&mut []);
    assert_eq!(status.state.unwrap_err(), expected);
}

/// An open record is no part of what is offered.
#[test]
fn bytes_kept_back_do_not_hold_up_what_is_to_be_sent() {
    let (mut server, _) = connected();
    let mut incoming = data(b"one");
    let status = server.process_tls_records(&mut incoming);
    assert_eq!(status.discard, 0);
    assert!(matches!(status.state, Ok(ConnectionState::ReadTraffic(_))));

    let status = server.process_tls_records(&mut []);
    let Ok(ConnectionState::WriteTraffic(state)) = status.state else {
        panic!("{:?}", status.state);
    };
    state.refresh_traffic_keys().unwrap();
    let status = server.process_tls_records(&mut []);
    assert!(matches!(
        status.state,
        Ok(ConnectionState::EncodeTlsData(_))
    ));
    send_all(&mut server);
    let status = server.process_tls_records(&mut incoming);
    let Ok(ConnectionState::ReadTraffic(mut state)) = status.state else {
        panic!("{:?}", status.state);
    };
    assert_eq!(state.next_record().unwrap().unwrap().payload, b"one");
}

/// All that a server got out of what it was given.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    plaintext: Vec<u8>,
    error: Option<String>,
    closed: bool,
}

/// Offers any number of the bytes that are there, takes any number of records of them, and forgets states.
fn drive(
    server: &mut UnbufferedServerConnection,
    mut incoming: Vec<u8>,
    noise: &mut Noise,
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut below = |limit: usize| noise.next() as usize % limit;
    let mut calls = 0;
    loop {
        calls += 1;
        let (offered, most) = match (below(3), server.peek_record(&incoming)) {
            (0, _) => (below(incoming.len() + 1), usize::MAX),
            // padding of any length is counted, too
            (1, Some(record)) => (record.record_len, record.max_payload),
            _ => (incoming.len(), usize::MAX),
        };
        let UnbufferedStatus {
            mut discard, state, ..
        } = server.process_tls_records(&mut incoming[..offered]);
        match state {
            Ok(ConnectionState::ReadTraffic(mut state)) => {
                for _ in 0..below(5) {
                    if let Some(Ok(record)) = state.next_record() {
                        assert!((1..=most).contains(&record.payload.len()));
                        outcome.plaintext.extend_from_slice(record.payload);
                        discard += record.discard;
                    }
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
        if calls > 20 && incoming.is_empty() && (0..8).all(|_| below(2) == 0) {
            return outcome;
        }
    }
}

/// Whatever is offered and taken when, it is what the buffered API gets out of the same records.
#[test]
fn any_way_through_any_records() {
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
                8..10 => protected(ContentType::ApplicationData, b"", 300),
                10..13 => protected(ContentType::ApplicationData, &[number; 7], 1000),
                13 => alert(1, 0),
                14 => match noise.next() % 4 {
                    0 => alert(2, 80),
                    1 => protected(ContentType::Handshake, b"", 0),
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
