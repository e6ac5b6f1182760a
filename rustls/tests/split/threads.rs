//! Tests with each half on a separate thread and upstream as the peer: much data in both
//! directions, and key updates at any time.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox, channel};
use std::thread;

use harness::peers::endpoints::{Endpoint, Transfer, UpstreamBuffered};
use harness::peers::os::loopback;
use harness::peers::roles::ROLES;
use harness::wire::Noise;
use rustls::split::Sender;

use crate::split::kit::{Case, Halves, Receiving, cases, output, split};

/// The number of bytes sent in each direction.
const TOTAL: usize = 3 << 20;

/// Returns the byte at offset `at` of the data.
fn byte_at(at: usize) -> u8 {
    (at / 7 % 251) as u8
}

/// Asserts that `bytes` are those of the data at offset `received`, and advances that offset.
fn check(bytes: &[u8], received: &mut usize) {
    assert!(bytes == stretch(*received, bytes.len()), "at {received}");
    *received += bytes.len();
}

fn stretch(from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(byte_at).collect()
}

/// Sends everything in pieces of any length, by every method, with occasional key updates.
fn send_all(mut sender: Sender, updates: bool, mut out: impl FnMut(Vec<u8>), mut noise: Noise) {
    let mut sent = 0;
    let mut buf = vec![0; 80_000];
    while sent < TOTAL {
        let len = Ord::min(noise.up_to(30_000), TOTAL - sent);
        let plaintext = stretch(sent, len);
        if updates && noise.up_to(10) == 1 {
            sender.refresh_traffic_keys().unwrap();
        }
        let mut waiting = Vec::new();
        match noise.up_to(3) {
            1 => sent += sender.writer().write(&plaintext).unwrap(),
            2 => {
                let len = sender.encrypt(&plaintext, &mut buf).unwrap();
                waiting.extend_from_slice(&buf[..len]);
                sent += plaintext.len();
            }
            _ => {
                waiting = output(&mut sender);
                let room = sender.in_place_room();
                let len = Ord::min(len, room.max_payload);
                let payload = room.headroom..room.headroom + len;
                buf[payload.clone()].copy_from_slice(&plaintext[..len]);
                // the receiving half may want to send first; try again later
                if let Ok(record) = sender.encrypt_in_place(&mut buf, payload) {
                    waiting.extend_from_slice(&buf[record]);
                    sent += len;
                }
            }
        }
        waiting.extend(output(&mut sender));
        out(waiting);
    }
    sender.send_close_notify();
    out(output(&mut sender));
}

/// Receives everything until the peer closes, through the connection's buffer.
fn receive_all(mut receiver: Box<dyn Receiving>, incoming: impl IntoIterator<Item = Vec<u8>>) {
    let mut received = 0;
    let mut plaintext = vec![0; 50_000];
    for bytes in incoming {
        let mut bytes = &bytes[..];
        while !bytes.is_empty() {
            receiver.read_tls(&mut bytes).unwrap();
            let state = receiver.process().unwrap();
            while receiver.reader().read(&mut plaintext).is_ok_and(|len| {
                check(&plaintext[..len], &mut received);
                len != 0
            }) {}
            if state.peer_has_closed() {
                assert_eq!(received, TOTAL);
                return;
            }
        }
    }
    panic!("the stream has ended before the data");
}

/// Receives everything in place, in the buffer in which it arrives.
fn receive_all_in_place(mut receiver: Box<dyn Receiving>, incoming: Inbox<Vec<u8>>) {
    let mut received = 0;
    let mut waiting = Vec::new();
    for bytes in incoming {
        waiting.extend_from_slice(&bytes);
        let mut done = 0;
        loop {
            let record = receiver.open_in_place(&mut waiting[done..]).unwrap();
            done += record.discard;
            if record.payload.is_empty() {
                break;
            }
            check(record.payload, &mut received);
        }
        waiting.drain(..done);
        if receiver.peer_has_closed() {
            assert_eq!(received, TOTAL);
            return;
        }
    }
    panic!("the stream has ended before the data");
}

/// Runs upstream's connection, which uses one thread for both directions.
fn be_the_peer(
    mut peer: UpstreamBuffered,
    updates: bool,
    incoming: Inbox<Vec<u8>>,
    out: Outbox<Vec<u8>>,
    mut noise: Noise,
) {
    let (mut sent, mut received, mut closed) = (0, 0, false);
    while !closed || !peer.peer_has_closed() {
        if sent < TOTAL {
            if updates && noise.up_to(10) == 1 {
                peer.refresh_traffic_keys();
            }
            let len = Ord::min(noise.up_to(30_000), TOTAL - sent);
            sent += peer.send(&stretch(sent, len));
        } else if !closed {
            peer.close();
            closed = true;
        }
        let output = peer.take_output();
        if !output.is_empty() {
            out.send(output).unwrap();
        }
        // process available input, and block for it once everything is sent
        let bytes = match (closed, incoming.try_recv()) {
            (_, Ok(bytes)) => bytes,
            (true, Err(_)) if !peer.peer_has_closed() => incoming.recv().unwrap(),
            _ => continue,
        };
        check(&peer.read_from(&bytes), &mut received);
    }
    assert_eq!(received, TOTAL);
}

fn in_both_directions(case: Case, in_place: bool, seed: u64) {
    let (halves, peer) = case.split();
    let (to_peer, from_us) = channel();
    let (to_us, from_peer) = channel();
    let updates = case.is_tls13();
    thread::scope(|scope| {
        let to_peer = move |bytes| to_peer.send(bytes).unwrap();
        scope.spawn(move || send_all(halves.sender, updates, to_peer, Noise::new(seed)));
        scope.spawn(move || match in_place {
            true => receive_all_in_place(halves.receiver, from_peer),
            false => receive_all(halves.receiver, from_peer),
        });
        scope.spawn(move || be_the_peer(peer, updates, from_us, to_us, Noise::new(seed + 2)));
    });
}

#[test]
fn data_arrives_on_two_threads_with_key_updates() {
    for (seed, case) in cases().enumerate() {
        in_both_directions(case, false, seed as u64 * 8);
        in_both_directions(case, true, seed as u64 * 8 + 4);
    }
}

/// Both ends are this crate's and are split, with four threads. The sockets' buffers are shorter
/// than the data, so each end must read and write at the same time.
#[test]
fn two_split_ends_exchange_data_over_sockets() {
    for case in cases() {
        let (client, server) = our_ends(case);
        let (near, far) = loopback().unwrap();
        thread::scope(|scope| {
            for (conn, mut socket) in [(client, near), (server, far)] {
                let Halves {
                    sender, receiver, ..
                } = split(conn);
                let mut incoming = socket.try_clone().unwrap();
                let (updates, noise) = (case.is_tls13(), Noise::new(7));
                scope.spawn(move || {
                    send_all(
                        sender,
                        updates,
                        |bytes| socket.write_all(&bytes).unwrap(),
                        noise,
                    );
                    socket.shutdown(Shutdown::Write).unwrap();
                });
                let pieces = std::iter::from_fn(move || {
                    let mut piece = vec![0; 20_000];
                    let len = incoming.read(&mut piece).unwrap();
                    piece.truncate(len);
                    (len != 0).then_some(piece)
                });
                scope.spawn(move || receive_all(receiver, pieces));
            }
        });
    }
}

/// Creates a client and a server of this crate after their handshake.
fn our_ends(case: Case) -> (rustls::Connection, rustls::Connection) {
    let [mut client, mut server] = ROLES.map(|role| Case { role, ..case }.config().connection());
    while client.wants_write() || server.wants_write() {
        server.input(&client.output());
        client.input(&server.output());
    }
    (client, server)
}
