//! Tests of KeyUpdate: requests, answers, floods, and automatic updates near a key's limit.

use std::io::Write;

use harness::peers::configs::product;
use harness::peers::endpoints::{
    Endpoint, ThisUnbuffered, UpstreamBuffered, exchange, send_and_check,
};
use harness::peers::roles::this::Config;
use harness::providers::provider_with_limit;
use harness::wire;
use rustls::crypto::CryptoProvider;
use rustls::unbuffered::EncryptError;

use crate::behaviour::connected::this::{connected, exchange_all, input, output};
use crate::behaviour::connected::{encrypt_in_place, upstream};
use crate::cases::{Case, Role, tls13_cases, tls13_cases_of};

/// Returns a connection in each API of this crate, and one that encrypts in place, each with an
/// upstream peer.
fn pairs(case: Case) -> Vec<(Box<dyn Endpoint>, UpstreamBuffered)> {
    pairs_over(case.provider.this(), case)
}

fn pairs_over(ours: CryptoProvider, case: Case) -> Vec<(Box<dyn Endpoint>, UpstreamBuffered)> {
    let config = case.config_over(ours);
    let ends: [Box<dyn Endpoint>; 3] = [
        Box::new(config.buffered()),
        config.unbuffered(),
        config.in_place(),
    ];
    let connected = ends.map(|mut ours| {
        let mut theirs = case.peer();
        case.role.handshake(&mut *ours, &mut theirs);
        (ours, theirs)
    });
    connected.into()
}

#[test]
fn many_key_updates_work_in_both_directions() {
    for case in tls13_cases() {
        for (mut ours, mut theirs) in pairs(case) {
            for round in 0..20 {
                ours.refresh_traffic_keys();
                send_and_check(&mut *ours, &mut theirs, &[round; 100]);
                send_and_check(&mut theirs, &mut *ours, &[round; 100]);
                theirs.refresh_traffic_keys();
                send_and_check(&mut theirs, &mut *ours, &[round; 20_000]);
                send_and_check(&mut *ours, &mut theirs, &[round; 20_000]);
                // neither has received the other's request yet
                ours.refresh_traffic_keys();
                theirs.refresh_traffic_keys();
                exchange(&mut *ours, &mut theirs).unwrap();
                send_and_check(&mut *ours, &mut theirs, &[round; 100]);
                send_and_check(&mut theirs, &mut *ours, &[round; 100]);
            }
            assert_eq!(ours.exported(), theirs.exported());
        }
    }
}

/// RFC 9846 §4.7.3: a request is answered before the next application data. Several requests before
/// that need a single answer, and nothing is buffered while this side only listens.
#[test]
fn the_next_write_carries_the_requested_key_update() {
    /// The length of a KeyUpdate: header, message of five bytes, content type and tag.
    const ANSWER: usize = 5 + 5 + 1 + 16;
    for case in tls13_cases() {
        let requests = [(1, &b""[..]), (5, b""), (1000, b"x")];
        for ((requests, data), closes) in product(requests, [false, true]) {
            let upstream = upstream::connected(case);
            let upstream: (Box<dyn Endpoint>, _) =
                (Box::new(UpstreamBuffered::new(upstream.0)), upstream.1);
            for (mut end, mut peer) in pairs(case).into_iter().chain([upstream]) {
                for _ in 0..requests {
                    peer.refresh_traffic_keys();
                    peer.send(data);
                    assert_eq!(end.read_from(&peer.take_output()), data);
                    assert!(end.take_output().is_empty());
                }
                let len = if closes {
                    end.close();
                    2
                } else {
                    end.send(b"data")
                };
                let out = end.take_output();
                assert_eq!(out.len(), ANSWER + 5 + len + 1 + 16);
                peer.receive(&out).unwrap();
                send_and_check(&mut peer, &mut *end, b"new keys");
            }
        }
    }
}

/// The answer must be sent before a record that is encrypted in place.
#[test]
fn the_key_update_reply_precedes_records_encrypted_in_place() {
    for case in tls13_cases() {
        let (mut conn, mut peer) = connected(case);
        peer.refresh_traffic_keys();
        input(&mut conn, &peer.take_output()).unwrap();
        assert!(!conn.wants_write());
        let mut buf = vec![0; 5 + 4 + 17];
        let pending = encrypt_in_place(&mut conn, &mut buf, 5..9);
        assert_eq!(pending, Err(rustls::InPlaceError::OutputPending));
        peer.receive(&output(&mut conn)).unwrap();
        let record = encrypt_in_place(&mut conn, &mut buf, 5..9).unwrap();
        assert_eq!(peer.read_from(&buf[record]), [0; 4]);
    }
}

/// The required buffer size includes the answer.
#[test]
fn the_required_buffer_length_includes_the_key_update() {
    for (case, closes) in product(tls13_cases_of(Role::Client), [false, true]) {
        let mut client = ThisUnbuffered::client(case.config().client());
        let mut peer = case.peer();
        exchange(&mut client, &mut peer).unwrap();
        peer.refresh_traffic_keys();
        client.receive(&peer.take_output()).unwrap();

        let mut state = client.conn.write_traffic().unwrap();
        let mut out = [0; 100];
        let mut write = |len| {
            if closes {
                state.queue_close_notify(&mut out[..len])
            } else {
                state.encrypt(b"data", &mut out[..len])
            }
        };
        let expected = 27 + 22 + if closes { 2 } else { 4 };
        for len in [0, 27, expected - 1] {
            assert!(matches!(
                write(len),
                Err(EncryptError::InsufficientSize(short)) if short.required_size == expected
            ));
        }
        assert_eq!(write(expected).unwrap(), expected);
        let received = peer.read_from(&out[..expected]);
        assert_eq!(received, if closes { &b""[..] } else { b"data" });
        assert_eq!(peer.peer_has_closed(), closes);
    }
}

/// A flood ends the connection as upstream's does; data in between resets the count.
#[test]
fn key_update_floods_are_bounded_and_data_resets_the_bound() {
    for case in tls13_cases() {
        for (mut ours, mut theirs) in pairs(case) {
            for _ in 0..100 {
                theirs.refresh_traffic_keys();
                send_and_check(&mut theirs, &mut *ours, b"x");
                send_and_check(&mut *ours, &mut theirs, b"y");
            }
            for _ in 0..3 {
                for _ in 0..30 {
                    theirs.refresh_traffic_keys();
                    ours.receive(&theirs.take_output()).unwrap();
                }
                send_and_check(&mut theirs, &mut *ours, b"x");
                send_and_check(&mut *ours, &mut theirs, b"y");
            }
            // answers to this side's own requests are not counted
            for _ in 0..100 {
                ours.refresh_traffic_keys();
                send_and_check(&mut *ours, &mut theirs, b"x");
                ours.receive(&theirs.take_output()).unwrap();
            }
            let (conn, mut peer) = upstream::connected(case);
            let mut reference = UpstreamBuffered::new(conn);
            let bound = flood(&mut peer, &mut reference);
            let (at, error, alert_len) = flood(&mut theirs, &mut *ours);
            assert_eq!((at, &error, alert_len), (bound.0, &bound.1, bound.2));
            assert_eq!(error, "PeerMisbehaved(TooManyKeyUpdateRequests)");
        }
    }
}

/// Sends only KeyUpdates until they are refused. Returns their number, the error, and the bytes
/// sent in response.
fn flood(from: &mut dyn Endpoint, to: &mut dyn Endpoint) -> (usize, String, usize) {
    for at in 0..1000 {
        from.refresh_traffic_keys();
        if let Err(error) = to.receive(&from.take_output()) {
            return (at, error, to.take_output().len());
        }
        // the answers do not matter
        to.take_output();
    }
    panic!("never refused");
}

/// The test cannot see the key of each record. It checks that the receiver opens all records, and
/// that there are more of them than the data alone needs.
#[test]
fn keys_are_updated_automatically_near_the_limit() {
    for case in tls13_cases() {
        for limit in [4, 5, 8, 64] {
            let ours = provider_with_limit(case.provider, limit);
            for (mut ours, mut theirs) in pairs_over(ours, case) {
                let mut updates = 0;
                for round in 0..3 * limit {
                    ours.send(&[round as u8; 10]);
                    let out = ours.take_output();
                    let records = record_lens(&out);
                    assert_eq!(records.last(), Some(&(10 + 1 + 16)));
                    updates += records[..records.len() - 1].len();
                    assert_eq!(theirs.read_from(&out), [round as u8; 10]);
                    // the answers to the updates, and data under the new keys
                    send_and_check(&mut theirs, &mut *ours, b"back");
                }
                // one record under each key is the KeyUpdate
                let data_per_key = limit - 1;
                let expected = (3 * limit / data_per_key) as usize;
                let is_expected = (expected.saturating_sub(1)..=expected + 2).contains(&updates);
                assert!(is_expected, "{case:?} {limit}: {updates}, not {expected}");
            }
        }
    }
}

/// The KeyUpdate must be sent before a record that is encrypted in place.
#[test]
fn keys_are_updated_automatically_for_records_in_place() {
    const LIMIT: u64 = 4;
    for case in tls13_cases() {
        let (mut conn, mut peer) = (limited(case, LIMIT).connection(), case.peer());
        exchange_all(&mut conn, &mut peer);
        let mut updates = 0;
        for round in 0..40 {
            let (front, len, behind) = (5, 100, 17);
            let mut buf = vec![round; front + len + behind];
            let mut encrypt = |conn: &mut _| encrypt_in_place(conn, &mut buf, front..front + len);
            let mut result = encrypt(&mut conn);
            if result == Err(rustls::InPlaceError::OutputPending) {
                updates += 1;
                peer.receive(&output(&mut conn)).unwrap();
                input(&mut conn, &peer.take_output()).unwrap();
                result = encrypt(&mut conn);
            }
            assert_eq!(peer.read_from(&buf[result.unwrap()]), vec![round; len]);
        }
        assert!((12..=14).contains(&updates), "{updates}");
    }
}

/// Returns the payload lengths of the records in `bytes`.
fn record_lens(bytes: &[u8]) -> Vec<usize> {
    let records = wire::records(bytes).into_iter();
    records.map(|record| record.payload.len()).collect()
}

/// Makes a single write that is longer than one key can protect.
#[test]
fn a_write_may_be_longer_than_one_key_can_protect() {
    const LEN: usize = 300_000;
    for case in tls13_cases() {
        let plaintext: Vec<u8> = (0..LEN).map(|at| (at % 251) as u8).collect();
        for is_connected in [true, false] {
            let (mut conn, mut peer) = (limited(case, 6).connection(), case.peer());
            if is_connected {
                exchange_all(&mut conn, &mut peer);
            }
            conn.set_buffer_limit(None);
            conn.writer().write_all(&plaintext).unwrap();
            let received = exchange_all(&mut conn, &mut peer);
            let len = received.len();
            assert!(received == plaintext, "{case:?} {is_connected} {len}");
        }
    }
}

/// The length of a protected KeyUpdate, which no other record in these tests has.
const KEY_UPDATE_RECORD: usize = 5 + 1 + 16;

/// Asserts that no key protects more than `limit` records, including its KeyUpdate.
fn assert_keys_kept_their_limit(records: &[usize], limit: usize) {
    for under_one_key in records.split_inclusive(|len| *len == KEY_UPDATE_RECORD) {
        assert!(under_one_key.len() <= limit, "{under_one_key:?}");
    }
}

/// Plaintext buffered during the handshake is sent all together at its end.
#[test]
fn buffered_plaintext_never_exceeds_the_limit_of_a_key() {
    const LIMIT: u64 = 4;
    for case in tls13_cases() {
        let (mut conn, mut peer) = (limited(case, LIMIT).connection(), case.peer());
        let hello = output(&mut conn);
        conn.set_buffer_limit(None);
        conn.writer().write_all(&[7; 20 << 14]).unwrap();
        peer.receive(&hello).unwrap();
        let mut received = Vec::new();
        while received.len() < 20 << 14 {
            input(&mut conn, &peer.take_output()).unwrap();
            let out = output(&mut conn);
            if !conn.is_handshaking() {
                // the first record is a client's Finished under other keys, or a server's tickets
                assert_keys_kept_their_limit(&record_lens(&out)[2..], LIMIT as usize);
            }
            received.extend(peer.read_from(&out));
        }
        assert!(received == [7; 20 << 14]);
    }
}

/// The required buffer size includes the KeyUpdates.
#[test]
fn one_large_unbuffered_write_never_exceeds_the_limit_of_a_key() {
    const LIMIT: u64 = 4;
    for case in tls13_cases_of(Role::Client) {
        let mut client = ThisUnbuffered::client(limited(case, LIMIT).client());
        let mut peer = case.peer();
        exchange(&mut client, &mut peer).unwrap();

        let plaintext: Vec<u8> = (0..300_000).map(|at| (at % 251) as u8).collect();
        for round in 0..3 {
            let mut state = client.conn.write_traffic().unwrap();
            let Err(EncryptError::InsufficientSize(short)) = state.encrypt(&plaintext, &mut [])
            else {
                panic!("nothing was too short");
            };
            let mut out = vec![0; short.required_size];
            let len = out.len();
            assert!(matches!(
                state.encrypt(&plaintext, &mut out[..len - 1]),
                Err(EncryptError::InsufficientSize(again)) if again == short
            ));
            assert_eq!(state.encrypt(&plaintext, &mut out).unwrap(), len);
            let records = record_lens(&out);
            // the first key of a round has already protected part of the previous round
            assert!(records.contains(&KEY_UPDATE_RECORD), "{round}");
            assert_keys_kept_their_limit(&records, LIMIT as usize);
            assert!(peer.read_from(&out) == plaintext);
            client.receive(&peer.take_output()).unwrap();
        }
    }
}

/// Creates a configuration whose keys protect at most `limit` records.
fn limited(case: Case, limit: u64) -> Config {
    case.config_over(provider_with_limit(case.provider, limit))
}

/// Half-RTT data may use up the key except for the KeyUpdate's record.
#[test]
fn tickets_do_not_exceed_the_limit_of_a_key() {
    for (case, half_rtt) in product(tls13_cases_of(Role::Server), [0, 20_000]) {
        let config = limited(case, 3).edit(|_| {}, |server| server.send_half_rtt_data = true);
        let (mut ours, mut theirs) = (config.connection(), case.peer());
        ours.writer().write_all(&vec![7; half_rtt]).unwrap();
        input(&mut ours, &theirs.take_output()).unwrap();
        let flight = output(&mut ours);
        assert_eq!(theirs.read_from(&flight).len(), half_rtt);

        exchange_all(&mut ours, &mut theirs);
        assert!(!ours.is_handshaking());
        let client = theirs.as_client();
        assert_eq!(client.tls13_tickets_received() == 0, half_rtt != 0);
        // the next data uses the next key
        ours.writer().write_all(b"more").unwrap();
        assert_eq!(theirs.read_from(&output(&mut ours)), b"more");
    }
}
