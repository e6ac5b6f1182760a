//! Handshakes that end between the calls for both directions of a proxy.

use std::io::Write;
use std::sync::Arc;

use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product};
use harness::peers::memory::Memory;
use harness::peers::pairs::this::Configs;
use harness::peers::pairs::this::buffered::{Pair, hand_over, take_in};
use harness::wire::records;
use rustls::relay::{Forwarded, Plain, Sink, Source, forward};
use rustls::{ConnectionCommon, StreamOwned};

const DATA: &[u8] = b"data";

fn configs(provider: Provider, versions: Versions) -> Configs {
    Configs::new(versions, provider.this(), KeyType::EcdsaP256)
}

fn tls<C>(connection: C) -> StreamOwned<C, Memory> {
    let sock = Memory::new(&[]);
    StreamOwned {
        conn: connection,
        sock,
    }
}

/// Lets `peer` receive what was written to `socket`, and puts its answer there.
fn answer<Data>(peer: &mut ConnectionCommon<Data>, socket: &mut Memory) {
    let mut output = Vec::new();
    take_in(peer, &socket.outgoing, &mut [0; 100]).unwrap();
    socket.outgoing.clear();
    hand_over(peer, &mut output).unwrap();
    socket.incoming.extend(output);
}

/// Sends data after what `peer` has sent so far.
fn send<Data>(peer: &mut ConnectionCommon<Data>, socket: &mut Memory) {
    let mut output = Vec::new();
    peer.writer().write_all(DATA).unwrap();
    hand_over(peer, &mut output).unwrap();
    socket.incoming.extend(output);
}

/// Forwards from `a` to `b`. Then something happens, and before an event loop can learn of it,
/// forwards in the other direction. Continues until an event is needed.
fn forward_around<A, B>(a: &mut A, b: &mut B, happens: impl FnOnce(&mut A, &mut B))
where
    A: Source + Sink,
    B: Source + Sink,
{
    let mut to_b = forward(a, b).unwrap();
    assert_ne!(to_b, Forwarded::Yielded);
    happens(a, b);
    let mut to_a = forward(b, a).unwrap();
    while to_b == Forwarded::Yielded || to_a == Forwarded::Yielded {
        to_b = forward(a, b).unwrap();
        to_a = forward(b, a).unwrap();
    }
}

#[test]
fn data_sent_with_a_clients_last_flight_is_forwarded_at_once() {
    for provider in PROVIDERS {
        let (mut client, server) = configs(provider, Versions::Tls13).ends().unwrap();
        let (mut front, mut back) = (tls(server), Plain(Memory::new(&[])));
        answer(&mut client, &mut front.sock);
        forward_around(&mut front, &mut back, |front, _| {
            answer(&mut client, &mut front.sock);
            send(&mut client, &mut front.sock);
        });
        assert_eq!(back.0.outgoing, DATA);
    }
}

#[test]
fn data_sent_with_a_servers_last_flight_is_forwarded_at_once() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let mut configs = configs(provider, versions);
        Arc::make_mut(&mut configs.server).send_half_rtt_data = true;
        let (client, mut server) = configs.ends().unwrap();
        let (mut back, mut front) = (tls(client), Plain(Memory::new(&[])));
        if versions == Versions::Tls12 {
            forward(&mut back, &mut front).unwrap();
            answer(&mut server, &mut back.sock);
        }
        forward_around(&mut back, &mut front, |back, _| {
            answer(&mut server, &mut back.sock);
            send(&mut server, &mut back.sock);
        });
        assert_eq!(front.0.outgoing, DATA, "{versions:?}");
    }
}

/// The direction that waits for the handshake is not the one whose call completes it.
#[test]
fn data_that_waits_for_a_handshake_is_forwarded_when_it_completes() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let connected = Pair::connect(&configs(provider, versions)).unwrap();
        let (mut left, mut front) = (connected.client, tls(*connected.server));
        send(&mut left, &mut front.sock);
        front.conn.read_tls(&mut front.sock).unwrap();
        front.conn.process_new_packets().unwrap();

        let (client, mut server) = configs(provider, versions).ends().unwrap();
        let mut back = tls(client);
        if versions == Versions::Tls12 {
            forward(&mut front, &mut back).unwrap();
            answer(&mut server, &mut back.sock);
        }
        forward_around(&mut front, &mut back, |_, back| {
            answer(&mut server, &mut back.sock);
        });
        let mut received = [0; 100];
        let len = take_in(&mut server, &back.sock.outgoing, &mut received).unwrap();
        assert_eq!(received[..len], *DATA, "{versions:?}");
    }
}

#[test]
fn an_end_sent_with_a_clients_last_flight_is_forwarded_once() {
    for provider in PROVIDERS {
        let connected = Pair::connect(&configs(provider, Versions::Tls13)).unwrap();
        let (mut right, mut back) = (connected.server, tls(*connected.client));
        let (mut client, server) = configs(provider, Versions::Tls13).ends().unwrap();
        let (mut front, mut output) = (tls(server), Vec::new());
        answer(&mut client, &mut front.sock);
        forward_around(&mut front, &mut back, |front, _| {
            answer(&mut client, &mut front.sock);
            send(&mut client, &mut front.sock);
            client.send_close_notify();
            hand_over(&mut client, &mut output).unwrap();
            front.sock.incoming.extend(output);
        });
        // one record of data and one close_notify
        assert_eq!(records(&back.sock.outgoing).len(), 2);
        let mut received = [0; 100];
        let len = take_in(&mut right, &back.sock.outgoing, &mut received).unwrap();
        assert_eq!(received[..len], *DATA);
        let state = right.process_new_packets().unwrap();
        assert!(state.peer_has_closed());
    }
}
