//! Received records that are opened straight into memory of the application.

use std::io::{BufRead, ErrorKind, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::peers::callbacks::this::Sessions;
use harness::peers::configs::{PROVIDERS, Provider};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use harness::wire::Noise;
use rustls::client::Resumption;
use rustls::{Connection, Error, PeerMisbehaved};

use crate::behaviour::connected::this::{connected, input, output};
use crate::cases::{Case, Role, cases, tls13_cases};
use crate::split::kit::{APPLICATION_DATA, HANDSHAKE};

/// Feeds `bytes` to the connection, which opens their records into `buf`. Returns the plaintext.
fn read_through(conn: &mut Connection, mut bytes: &[u8], buf: &mut [u8]) -> Result<Vec<u8>, Error> {
    let mut plaintext = Vec::new();
    loop {
        let (len, _) = conn.process_new_packets_into(buf)?;
        plaintext.extend_from_slice(&buf[..len]);
        if len == 0 && (bytes.is_empty() || conn.read_tls(&mut bytes).unwrap() == 0) {
            return Ok(plaintext);
        }
    }
}

/// Returns `len` bytes, each different from its neighbours.
fn numbered(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

/// The records in which upstream sends `plaintext`.
fn sent(peer: &mut UpstreamBuffered, plaintext: &[u8]) -> Vec<u8> {
    peer.conn.set_buffer_limit(None);
    assert_eq!(peer.send(plaintext), plaintext.len());
    peer.take_output()
}

#[test]
fn all_data_arrives_in_buffers_of_any_length() {
    for case in cases() {
        let (mut conn, mut peer) = connected(case);
        let plaintext = numbered(200_000);
        for len in [1000, 16_383, 16_384, 16_385, 40_000, 65_540, 300_000] {
            let records = sent(&mut peer, &plaintext);
            let received = read_through(&mut conn, &records, &mut vec![0; len]).unwrap();
            assert!(received == plaintext, "{case:?}, {len}");
        }
    }
}

#[test]
fn several_records_are_read_at_a_time_while_they_fill_the_buffer() {
    // ring only opens in place, so it reads one after the other
    for (provider, records_at_a_time) in [(Provider::AwsLc, 4), (Provider::Ring, 1)] {
        let (mut conn, mut peer) = connected(Case::tls13(provider, Role::Client));
        let records = sent(&mut peer, &numbered(500_000));
        let (mut rest, mut buf) = (&records[..], vec![0; 70_000]);
        let mut longest = 0;
        while !rest.is_empty() {
            longest = longest.max(conn.read_tls_for(&mut rest, buf.len()).unwrap());
            let (len, state) = conn.process_new_packets_into(&mut buf).unwrap();
            assert_eq!(state.plaintext_bytes_to_read(), 0, "{len}");
        }
        let most = longest / 16_384;
        assert_eq!(most, records_at_a_time, "{provider:?}: {longest}");
    }
}

#[test]
fn unread_plaintext_is_returned_first() {
    for case in cases() {
        let (mut conn, mut peer) = connected(case);
        let records = [b"first", b"third"]
            .map(|data| sent(&mut peer, data))
            .concat();
        conn.read_tls(&mut &records[..]).unwrap();
        conn.process_new_packets().unwrap();
        assert_eq!(conn.reader().read(&mut [0; 3]).unwrap(), 3);
        let more = sent(&mut peer, &[7; 20]);
        // unread plaintext does not prevent it
        conn.read_tls(&mut &more[..]).unwrap();
        let mut buf = [0; 20];
        let (len, state) = conn.process_new_packets_into(&mut buf).unwrap();
        assert_eq!(buf[..len], *[&b"stthird"[..], &[7; 13]].concat());
        assert_eq!(state.plaintext_bytes_to_read(), 7);
    }
}

/// Tries records other than application data, before, between and after it.
#[test]
fn other_messages_are_handled_in_order() {
    for case in tls13_cases() {
        let (mut conn, mut peer) = connected(case);
        peer.refresh_traffic_keys();
        let mut records = sent(&mut peer, b"one");
        peer.refresh_traffic_keys();
        records.extend(sent(&mut peer, b"two"));
        peer.close();
        records.extend(peer.take_output());
        let mut buf = [0xb3; 100];
        let received = read_through(&mut conn, &records, &mut buf).unwrap();
        assert_eq!(received, b"onetwo");
        let end = conn.reader().read(&mut buf).unwrap();
        assert_eq!(end, 0, "the peer has closed");
        // the answer to the KeyUpdates comes first
        conn.writer().write_all(b"three").unwrap();
        assert_eq!(peer.read_from(&output(&mut conn)), b"three");
    }
}

#[test]
fn data_before_an_error_is_still_unread() {
    for case in cases() {
        for good in [1, 20, 16_384, 50_000] {
            let (mut conn, mut peer) = connected(case);
            let plaintext = numbered(good);
            let mut records = sent(&mut peer, &plaintext);
            let mut forged = sent(&mut peer, &[0x5a; 900]);
            *forged.last_mut().unwrap() ^= 1;
            records.extend(forged);
            let (mut bytes, mut buf) = (&records[..], vec![0xb3; 70_000]);
            let mut received = Vec::new();
            let error = loop {
                conn.read_tls(&mut bytes).unwrap();
                match conn.process_new_packets_into(&mut buf) {
                    Ok((len, _)) => received.extend_from_slice(&buf[..len]),
                    Err(error) => break error,
                }
            };
            assert_eq!(error, Error::DecryptError);
            let rest = conn.reader().read_to_end(&mut received);
            assert_eq!(rest.unwrap_err().kind(), ErrorKind::WouldBlock);
            assert!(received == plaintext, "{case:?}, {good}");
            // none of the forged record is there
            let forged = buf.windows(4).filter(|bytes| **bytes == [0x5a; 4]);
            assert_eq!(forged.count(), 0);
            assert_eq!(conn.process_new_packets_into(&mut buf).unwrap_err(), error);
            let alert = peer.receive(&output(&mut conn));
            assert_eq!(alert.unwrap_err(), "AlertReceived(BadRecordMac)");
        }
    }
}

/// RFC 9846 §5.1: nothing comes between the parts of a message.
#[test]
fn data_between_the_parts_of_a_message_is_rejected() {
    for case in cases() {
        let (mut conn, peer) = connected(case);
        let mut peer = case.bare(peer);
        let records = [(HANDSHAKE, &b"\x18\0"[..]), (APPLICATION_DATA, b"data")];
        let records = records.map(|(typ, content)| peer.seals.seal(typ, content));
        let mut buf = [0xb3; 100];
        let error = read_through(&mut conn, &records.concat(), &mut buf).unwrap_err();
        let expected = PeerMisbehaved::MessageInterleavedWithHandshakeMessage;
        assert_eq!(error, expected.into(), "{case:?}");
        assert!(!buf.windows(4).any(|bytes| bytes == b"data"), "{case:?}");
        let error = conn.reader().read(&mut buf).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}

#[test]
fn unprocessed_len_reports_partial_records_and_messages() {
    for case in cases() {
        let (mut conn, mut peer) = connected(case);
        assert_eq!(conn.unprocessed_len(), 0);
        let record = sent(&mut peer, b"hello");
        let (front, back) = record.split_at(record.len() - 1);
        for (part, is_partial) in [(&front[..1], true), (&front[1..], true), (back, false)] {
            conn.read_tls(&mut &part[..]).unwrap();
            conn.process_new_packets().unwrap();
            assert_eq!(conn.unprocessed_len() != 0, is_partial, "{case:?}");
        }
        // plaintext is not partial
        assert_eq!(conn.reader().read(&mut [0; 9]).unwrap(), 5);
        assert_eq!(conn.unprocessed_len(), 0);

        // half of a handshake message in a whole record
        let mut conn = super::connected::this::fresh(case);
        let half = [22, 3, 3, 0, 4, 1, 0, 0, 90];
        conn.read_tls(&mut &half[..]).unwrap();
        if conn.process_new_packets().is_ok() {
            assert_eq!(conn.unprocessed_len(), 4);
        }
    }
}

#[test]
fn all_data_arrives_in_order_if_every_way_to_read_is_used() {
    for case in cases() {
        for seed in 0..12 {
            let mut noise = Noise::new(seed);
            let mut below = |limit: usize| noise.next() as usize % limit;
            let (mut conn, mut peer) = connected(case);
            let (mut wire, mut expected, mut received) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..40 {
                let len = [1, 20, 1000, 16_384, 50_000][below(5)];
                let data = numbered(1 + below(len));
                wire.extend(sent(&mut peer, &data));
                expected.extend(data);
                if case.is_tls13() && below(4) == 0 {
                    peer.refresh_traffic_keys();
                }
            }
            let is_forged = seed % 2 == 1;
            if is_forged {
                let mut forged = sent(&mut peer, &[0x5a; 30]);
                forged[10] ^= 1;
                wire.extend(forged);
            }
            peer.close();
            wire.extend(peer.take_output());

            let mut rest = &wire[..];
            let mut buf = vec![0; 70_000];
            let (mut failed, mut is_processed) = (false, true);
            for _ in 0..5_000 {
                if conn.wants_read() && is_processed && below(3) != 0 {
                    let arrived = Ord::min(rest.len(), 1 + below(80_000));
                    let read = conn.read_tls(&mut &rest[..arrived]).unwrap();
                    rest = &rest[read..];
                    is_processed = false;
                }
                let room = [1, 100, 16_385, 40_000, 70_000][below(5)];
                let out = &mut buf[..room];
                let way = below(4);
                is_processed |= way != 3;
                match way {
                    0 => failed |= conn.process_new_packets().is_err(),
                    1 | 2 => match conn.process_new_packets_into(out) {
                        Ok((len, _)) => received.extend_from_slice(&out[..len]),
                        Err(_) => failed = true,
                    },
                    _ => {
                        if let Ok(len) = conn.reader().read(out) {
                            received.extend_from_slice(&out[..len]);
                        }
                        if let Ok(chunk) = conn.reader().fill_buf() {
                            let len = chunk.len().min(1 + below(9000));
                            received.extend_from_slice(&chunk[..len]);
                            conn.reader().consume(len);
                        }
                    }
                }
            }
            let _ = conn.reader().read_to_end(&mut received);
            assert!(received == expected, "{case:?}, {seed}");
            assert_eq!(failed, is_forged, "{case:?}, {seed}");
        }
    }
}

/// The session store panics between two records of data.
#[test]
fn data_before_a_panic_is_still_unread_and_the_ticket_is_cleared() {
    for provider in PROVIDERS {
        let panics = Arc::new(AtomicBool::new(false));
        let is_set = panics.clone();
        let store = Sessions::when(move |call| {
            let panics = call == "insert_tls13_ticket" && is_set.load(Ordering::Relaxed);
            assert!(!panics, "the store panics");
            true
        });
        let config = |role| Case::tls13(provider, role).config();
        let client = config(Role::Client).edit(
            |client| client.resumption = Resumption::store(store),
            |_| {},
        );
        let server = config(Role::Server).edit(|_| {}, |server| server.send_half_rtt_data = true);
        let (mut client, mut server) = (client.connection(), server.connection());
        input(&mut server, &output(&mut client)).unwrap();
        input(&mut client, &output(&mut server)).unwrap();
        server.writer().write_all(b"before").unwrap();
        let mut records = output(&mut server);
        input(&mut server, &output(&mut client)).unwrap();
        server.writer().write_all(b"after").unwrap();
        records.extend(output(&mut server));

        panics.store(true, Ordering::Relaxed);
        client.read_tls(&mut &records[..]).unwrap();
        let mut buf = [0xb3; 4000];
        let into = AssertUnwindSafe(|| client.process_new_packets_into(&mut buf).map(drop));
        assert!(catch_unwind(into).is_err());
        let mut received = Vec::new();
        let _ = client.reader().read_to_end(&mut received);
        assert_eq!(received, b"before", "{provider:?}");
        let rest = buf.iter().skip(received.len());
        let mut rest = rest.filter(|byte| !matches!(byte, 0 | 22 | 0xb3));
        assert_eq!(rest.next(), None, "{provider:?}");
        client.process_new_packets_into(&mut buf).unwrap_err();
    }
}
