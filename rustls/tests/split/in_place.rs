//! Tests of both halves with the caller's buffers, without any buffer of the connection.

use harness::peers::endpoints::Endpoint;
use rustls::Error;
use rustls::unbuffered::EncryptError;

use crate::split::kit::{Case, Halves, Receiving, cases};

/// Opens all records in the first `filled` bytes of `buffer` and moves the rest to the front.
/// Returns the application data.
fn drain(receiver: &mut dyn Receiving, buffer: &mut [u8], filled: &mut usize) -> Vec<Vec<u8>> {
    let (mut done, mut payloads) = (0, Vec::new());
    loop {
        let record = receiver.open_in_place(&mut buffer[done..*filled]).unwrap();
        done += record.discard;
        if record.payload.is_empty() {
            break;
        }
        payloads.push(record.payload.to_vec());
    }
    buffer.copy_within(done..*filled, 0);
    *filled -= done;
    payloads
}

#[test]
fn records_are_opened_in_place() {
    for case in cases() {
        let (mut halves, mut peer) = case.split();
        let mut wire = Vec::new();
        for len in [1, 2, 500, 16_384, 3] {
            peer.send(&vec![len as u8; len]);
            wire.extend(peer.take_output());
            if case.is_tls13() && len == 500 {
                peer.refresh_traffic_keys();
            }
        }
        // in any pieces
        let mut buffer = vec![0; wire.len()];
        let (mut filled, mut payloads) = (0, Vec::new());
        for piece in wire.chunks(301) {
            buffer[filled..filled + piece.len()].copy_from_slice(piece);
            filled += piece.len();
            payloads.extend(drain(&mut *halves.receiver, &mut buffer, &mut filled));
        }
        assert_eq!(filled, 0);
        let lens: Vec<_> = payloads.iter().map(Vec::len).collect();
        assert_eq!(lens, [1, 2, 500, 16_384, 3]);
        for payload in &payloads {
            assert!(payload.iter().all(|byte| *byte == payload.len() as u8));
        }
        assert_eq!(halves.receiver.sender_wants_write(), case.is_tls13());
        peer.close();
        let mut closing = peer.take_output();
        let len = closing.len();
        closing.extend_from_slice(b"and what is ignored");
        let end = halves.receiver.open_in_place(&mut closing).unwrap();
        assert!(end.payload.is_empty() && end.discard > len);
        assert!(halves.receiver.peer_has_closed());
    }
}

#[test]
fn records_are_encrypted_in_the_callers_buffers() {
    for (mut halves, mut peer) in cases().map(Case::split) {
        for len in [1, 100, 16_384] {
            let plaintext = vec![7; len];
            let mut out = vec![0; 20_000];
            let Err(EncryptError::InsufficientSize(size)) =
                halves.sender.encrypt(&plaintext, &mut out[..5])
            else {
                panic!("no room, but encrypted");
            };
            let sent = halves
                .sender
                .encrypt(&plaintext, &mut out[..size.required_size]);
            assert_eq!(sent.unwrap(), size.required_size);
            assert!(peer.read_from(&out[..size.required_size]) == plaintext);

            let room = halves.sender.in_place_room();
            let payload = room.headroom..room.headroom + len;
            out[payload.clone()].copy_from_slice(&plaintext);
            let record = halves.sender.encrypt_in_place(&mut out, payload).unwrap();
            assert!(peer.read_from(&out[record]) == plaintext);
        }
        // more than a record
        let plaintext = vec![8; 50_000];
        let mut out = vec![0; 60_000];
        let len = halves.sender.encrypt(&plaintext, &mut out).unwrap();
        assert!(peer.read_from(&out[..len]) == plaintext);
    }
}

/// A proxy between connections of the same kind builds each record in the bytes of the received
/// one.
#[test]
fn records_can_be_built_in_the_bytes_of_opened_ones() {
    for case in cases() {
        let (mut from, mut client) = case.split();
        let (mut to, mut server) = case.split();
        let mut wire = Vec::new();
        let sent = [1, 500, 16_384, 3].map(|len| vec![len as u8; len]);
        for plaintext in &sent {
            client.send(plaintext);
            wire.extend(client.take_output());
        }
        let base = wire.as_ptr() as usize;
        let mut done = 0;
        for plaintext in &sent {
            let record = from.receiver.open_in_place(&mut wire[done..]).unwrap();
            let came_in = done..done + record.discard;
            done = came_in.end;
            let start = record.payload.as_ptr() as usize - base;
            let payload = start..start + record.payload.len();
            let made = to.sender.encrypt_in_place(&mut wire, payload).unwrap();
            assert_eq!(made, came_in);
            assert!(server.read_from(&wire[made]) == *plaintext);
        }
        assert_eq!(done, wire.len());
    }
}

/// Data read by `read_tls` must be consumed first.
#[test]
fn buffered_input_must_be_read_before_records_are_opened_in_place() {
    for (mut halves, mut peer) in cases().map(Case::split) {
        peer.send(b"first");
        let first = peer.take_output();
        peer.send(b"second");
        let mut second = peer.take_output();
        let too_early = |halves: &mut Halves, second: &mut [u8]| {
            let error = halves.receiver.open_in_place(second).unwrap_err();
            assert!(matches!(error, Error::General(_)), "{error:?}");
        };
        // a partial record, a complete one, and unread plaintext
        halves.receiver.read_tls(&mut &first[..10]).unwrap();
        too_early(&mut halves, &mut second);
        halves.receiver.process().unwrap();
        too_early(&mut halves, &mut second);
        halves.receiver.read_tls(&mut &first[10..]).unwrap();
        too_early(&mut halves, &mut second);
        halves.receiver.process().unwrap();
        too_early(&mut halves, &mut second);
        assert_eq!(halves.read_buffered(), b"first");
        let record = halves.receiver.open_in_place(&mut second).unwrap();
        assert_eq!(record.payload, b"second");
    }
}
