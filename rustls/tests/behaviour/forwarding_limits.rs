//! Limits of forwarding: the turns of one call, and output buffers that hold almost nothing.

use std::io::{self, ErrorKind, Read, Write};

use harness::peers::configs::{PROVIDERS, Provider, Versions, product, product3};
use harness::peers::memory::Memory;
use harness::peers::pairs::this::buffered::{hand_over, write};
use harness::providers::provider_with_limit;
use rustls::StreamOwned;
use rustls::crypto::CryptoProvider;
use rustls::relay::{Forwarded, Plain, Sink, Source, forward};

use crate::behaviour::forwarding::{DATA, opened, pair, pair_over};

/// A socket that returns one byte per read.
struct Slow(Memory);

impl Read for Slow {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(&mut buf[..1])
    }
}

impl Write for Slow {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Forwards everything. No call may read more than 32 times. Returns the number of calls that
/// yielded.
fn forward_all<F: Source, T: Sink>(from: &mut F, to: &mut T, reads: impl Fn(&F) -> usize) -> usize {
    let mut yielded = 0;
    loop {
        let before = reads(from);
        let result = forward(from, to).unwrap();
        let reads = reads(from) - before;
        assert!(reads <= 32, "{reads} reads");
        match result {
            Forwarded::Yielded => yielded += 1,
            Forwarded::WantsRead => return yielded,
            _ => panic!("{result:?}"),
        }
    }
}

/// The socket always has more, as if the peer were faster than this side.
#[test]
fn a_call_returns_even_if_the_peer_keeps_sending() {
    let kinds = [(false, false), (false, true), (true, false), (true, true)];
    for (provider, versions, (is_split, to_plain)) in product3(PROVIDERS, Versions::EACH, kinds) {
        let what = format!("{provider:?} {versions:?} {is_split} {to_plain}");
        let [mut left, mut right] = [(); 2].map(|()| pair(provider, versions));
        let (data, mut wire) = (&DATA[..], Vec::new());
        write(&mut left.client, data, &mut wire).unwrap();
        let (incoming, outgoing) = (Memory::new(&wire), Memory::new(&[]));
        let mut plain = Plain(outgoing);
        let (yielded, received) = match (is_split, to_plain) {
            (false, false) => {
                let mut front = StreamOwned::new(*left.server, incoming);
                let mut back = StreamOwned::new(*right.client, plain.0);
                let yielded = forward_all(&mut front, &mut back, |front| front.sock.reads);
                (yielded, opened(&mut right.server, &back.sock.outgoing))
            }
            (false, true) => {
                let mut front = StreamOwned::new(*left.server, incoming);
                let yielded = forward_all(&mut front, &mut plain, |front| front.sock.reads);
                (yielded, plain.0.outgoing)
            }
            (true, false) => {
                let (_front_sender, receiver) = left.server.into_split().unwrap();
                let (sender, _back_receiver) = right.client.into_split().unwrap();
                let (mut front, mut back) = ((receiver, incoming), (sender, plain.0));
                let yielded = forward_all(&mut front, &mut back, |front| front.1.reads);
                (yielded, opened(&mut right.server, &back.1.outgoing))
            }
            (true, true) => {
                let (_front_sender, receiver) = left.server.into_split().unwrap();
                let mut front = (receiver, incoming);
                let yielded = forward_all(&mut front, &mut plain, |front| front.1.reads);
                (yielded, plain.0.outgoing)
            }
        };
        assert!(received == data, "{what}: {} bytes", received.len());
        // a read returns up to 64 KiB
        assert!(yielded >= 2, "{what}: {yielded}");
    }
}

#[test]
fn a_call_returns_even_if_a_plain_peer_keeps_sending() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let (data, mut right) = (&DATA[..2_000_000], pair(provider, versions));
        let mut back = StreamOwned::new(*right.client, Memory::new(&[]));
        let mut front = Plain(Memory::new(data));
        let yielded = forward_all(&mut front, &mut back, |front| front.0.reads);
        assert!(yielded >= 3, "{yielded}");
        assert!(opened(&mut right.server, &back.sock.outgoing) == data);
    }
}

/// The peer seems to send messages without data, one after the other.
#[test]
fn a_call_returns_even_if_reads_return_no_data() {
    for (provider, versions, is_split) in product3(PROVIDERS, Versions::EACH, [false, true]) {
        let mut left = pair(provider, versions);
        let mut wire = Vec::new();
        write(&mut left.client, &[7; 500], &mut wire).unwrap();
        let (incoming, mut to) = (Slow(Memory::new(&wire)), Plain(Memory::new(&[])));
        let yielded = if is_split {
            let (_sender, receiver) = left.server.into_split().unwrap();
            forward_all(&mut (receiver, incoming), &mut to, |front| front.1.0.reads)
        } else {
            let mut front = StreamOwned::new(*left.server, incoming);
            forward_all(&mut front, &mut to, |front| front.sock.0.reads)
        };
        assert!(yielded >= 500 / 32, "{yielded}");
        assert_eq!(to.0.outgoing, [7; 500]);
    }
}

/// The data of one read is sent in many writes.
#[test]
fn a_call_returns_even_if_the_output_accepts_only_a_little() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let [mut left, mut right] = [(); 2].map(|()| pair(provider, versions));
        let mut wire = Vec::new();
        write(&mut left.client, &[7; 500], &mut wire).unwrap();
        let mut front = StreamOwned::new(*left.server, Memory::new(&wire));
        let mut back = StreamOwned::new(*right.client, Memory::new(&[]));
        back.conn.set_buffer_limit(Some(1));
        let yielded = forward_all(&mut front, &mut back, |front| front.sock.reads);
        assert!(yielded >= 500 / 32, "{yielded}");
        assert_eq!(opened(&mut right.server, &back.sock.outgoing), [7; 500]);
    }
}

/// Output limits near the length of a KeyUpdate.
const LIMITS: [usize; 8] = [1, 4, 20, 26, 27, 28, 29, 100];

/// Keys that protect only a few records, so that each write may begin with a KeyUpdate.
fn worn(provider: Provider) -> CryptoProvider {
    provider_with_limit(provider, 3)
}

#[test]
fn a_key_update_does_not_end_forwarding_with_a_small_output_limit() {
    for (provider, limit, is_plain) in product3(PROVIDERS, LIMITS, [false, true]) {
        let what = format!("{provider:?} {limit} {is_plain}");
        let mut right = pair_over(worn(provider), Versions::Tls13);
        let (data, mut wire) = (&DATA[..200], Vec::new());
        let mut back = StreamOwned::new(*right.client, Memory::new(&[]));
        back.conn.set_buffer_limit(Some(limit));
        if is_plain {
            let mut front = Plain(Memory::new(data));
            forward_all(&mut front, &mut back, |from| from.0.reads);
        } else {
            let mut left = pair(provider, Versions::Tls13);
            write(&mut left.client, data, &mut wire).unwrap();
            let mut front = StreamOwned::new(*left.server, Memory::new(&wire));
            forward_all(&mut front, &mut back, |from| from.sock.reads);
        }
        let received = opened(&mut right.server, &back.sock.outgoing);
        assert!(received == data, "{what}");
    }
}

/// The peer requests a KeyUpdate, which is sent with the next data.
#[test]
fn an_answer_to_a_key_update_does_not_end_forwarding_with_a_small_output_limit() {
    for (provider, limit, is_split) in product3(PROVIDERS, LIMITS, [false, true]) {
        for is_plain in [false, true] {
            let what = format!("{provider:?} {limit} {is_split} {is_plain}");
            let [mut left, mut right] = [(); 2].map(|()| pair(provider, Versions::Tls13));
            let (data, mut wire, mut request) = (&DATA[..200], Vec::new(), Vec::new());
            write(&mut left.client, data, &mut wire).unwrap();
            right.client.set_buffer_limit(Some(limit));
            right.server.refresh_traffic_keys().unwrap();
            hand_over(&mut right.server, &mut request).unwrap();
            let mut plain = Plain(Memory::new(data));
            let mut front = StreamOwned::new(*left.server, Memory::new(&wire));
            let outgoing = if is_split {
                let (sender, mut receiver) = right.client.into_split().unwrap();
                receiver.read_tls(&mut &request[..]).unwrap();
                receiver.process_new_packets().unwrap();
                assert!(receiver.sender_wants_write());
                let mut back = (sender, Memory::new(&[]));
                match is_plain {
                    true => forward_all(&mut plain, &mut back, |from| from.0.reads),
                    false => forward_all(&mut front, &mut back, |from| from.sock.reads),
                };
                back.1.outgoing
            } else {
                let mut back = StreamOwned::new(*right.client, Memory::new(&[]));
                back.conn.read_tls(&mut &request[..]).unwrap();
                back.conn.process_new_packets().unwrap();
                match is_plain {
                    true => forward_all(&mut plain, &mut back, |from| from.0.reads),
                    false => forward_all(&mut front, &mut back, |from| from.sock.reads),
                };
                back.sock.outgoing
            };
            assert!(opened(&mut right.server, &outgoing) == data, "{what}");
        }
    }
}

#[test]
fn forwarding_without_room_for_output_is_an_error() {
    let [mut left, right] = [(); 2].map(|()| pair_over(worn(PROVIDERS[0]), Versions::Tls13));
    let mut wire = Vec::new();
    write(&mut left.client, b"data", &mut wire).unwrap();
    let mut front = StreamOwned::new(*left.server, Memory::new(&wire));
    let mut back = StreamOwned::new(*right.client, Memory::new(&[]));
    back.conn.set_buffer_limit(Some(0));
    let error = forward(&mut front, &mut back).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
}

/// Forwards from a plain socket, whose bytes must not be lost, with a limit of 0 and then without.
#[test]
fn nothing_is_read_from_a_plain_socket_without_room_for_output() {
    for (provider, versions, is_split) in product3(PROVIDERS, Versions::EACH, [false, true]) {
        let what = format!("{provider:?} {versions:?} {is_split}");
        let mut right = pair(provider, versions);
        let mut front = Plain(Memory::new(b"data"));
        let outgoing = if is_split {
            let (sender, _receiver) = right.client.into_split().unwrap();
            let mut back = (sender, Memory::new(&[]));
            back.0.set_buffer_limit(Some(0));
            let error = forward(&mut front, &mut back).unwrap_err();
            assert_eq!((error.kind(), front.0.reads), (ErrorKind::WriteZero, 0));
            back.0.set_buffer_limit(Some(100));
            forward_all(&mut front, &mut back, |front| front.0.reads);
            back.1.outgoing
        } else {
            let mut back = StreamOwned::new(*right.client, Memory::new(&[]));
            back.conn.set_buffer_limit(Some(0));
            let error = forward(&mut front, &mut back).unwrap_err();
            assert_eq!((error.kind(), front.0.reads), (ErrorKind::WriteZero, 0));
            back.conn.set_buffer_limit(Some(100));
            forward_all(&mut front, &mut back, |front| front.0.reads);
            back.sock.outgoing
        };
        assert_eq!(opened(&mut right.server, &outgoing), b"data", "{what}");
    }
}
