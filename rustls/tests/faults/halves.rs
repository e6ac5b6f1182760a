//! Tests of the halves of a split connection over a transport that fails at one of its calls, for
//! each call.

use std::io::{ErrorKind, Read, Write};

use harness::either;
use harness::peers::endpoints::Endpoint;
use harness::peers::roles::{ROLES, Role};
use rustls::split::{Receiver, Sender};

use crate::pieces::{Pieces, piece};
use crate::scripts::{Scene, Tried, plans, this, tried};
use crate::transport::{Counts, KINDS, Plan, Transport};

/// Moves all bytes in both directions, and continues after faults of the transport.
fn pump<D>(
    sender: &mut Sender,
    receiver: &mut Receiver<D>,
    received: &mut Vec<u8>,
    transport: &mut Transport,
) {
    for _ in 0..4 {
        for _ in 0..4 {
            if sender.wants_write() {
                let _: Tried<_> = tried(|| sender.write_tls(transport));
            }
            let _: Tried<_> = tried(|| receiver.read_tls(transport));
            receiver.process_new_packets().unwrap();
            match receiver.reader().read_to_end(received) {
                Ok(_) => assert!(receiver.peer_has_closed()),
                // UnexpectedEof after a `read` that returned `Ok(0)`; more data follows later
                Err(error) => assert!(matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::UnexpectedEof
                )),
            }
        }
    }
    assert!(!sender.wants_write());
}

/// Sends data in both directions, KeyUpdates from both sides, more data, and a close_notify.
fn talk<D>((mut sender, mut receiver): (Sender, Receiver<D>), transport: &mut Transport) {
    let mut pieces = Pieces::default();
    let (mut sent_by_peer, mut received) = (Vec::new(), Vec::new());
    for round in 0..3 {
        for number in 0..2 {
            let piece = pieces.next();
            sender.writer().write_all(&piece).unwrap();
            pieces.written(&piece);
            let piece = piece_of_peer(round, number);
            transport.peer.send(&piece);
            sent_by_peer.extend(piece);
        }
        pump(&mut sender, &mut receiver, &mut received, transport);
        // both calls fail in TLS 1.2
        let _ = sender.refresh_traffic_keys();
        let _ = transport.peer.conn.refresh_traffic_keys();
    }
    sender.send_close_notify();
    transport.peer.close();
    pump(&mut sender, &mut receiver, &mut received, transport);
    pieces.check(&transport.received_by_peer);
    assert_eq!(received, sent_by_peer);
    assert!(receiver.peer_has_closed() && transport.peer.peer_has_closed());
}

fn piece_of_peer(round: u8, number: u8) -> Vec<u8> {
    piece(100 + 10 * round + number)
}

fn run(configs: &this::Configs, role: Role, plan: Option<Plan>) -> Counts {
    let mut ends = configs.fresh(role);
    this::connect(&mut ends);
    let (conn, peer) = ends;
    let mut transport = Transport::new(peer, plan);
    either!(rustls: conn, conn => talk(conn.into_split().unwrap(), &mut transport));
    transport.counts
}

#[test]
fn halves_survive_faults_of_the_transport() {
    for scene in [Scene::Tls12, Scene::Tls13] {
        let configs = this::Configs::new(scene);
        for role in ROLES {
            let counts = run(&configs, role, None);
            for plan in plans(counts, &KINDS) {
                println!("{scene:?} {role:?} {plan:?}");
                run(&configs, role, Some(plan));
            }
        }
    }
}
