//! Tests of TLS 1.2 connections after the handshake, in both roles and APIs: limits of keys, and
//! the application's data in sessions.

use std::io::Write;

use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, Unbuffered, UpstreamBuffered, handshake, send_and_check,
};
use harness::peers::roles::this::Config;
use harness::peers::roles::{ROLES, Role, upstream};
use harness::providers::provider_with_limit;
use harness::wire;
use rustls::unbuffered::EncryptError;
use rustls::{HandshakeKind, InPlaceError};

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// Returns configurations of this crate for `role`, whose keys wear out, and of upstream for its
/// peer.
fn configs(role: Role, provider: Provider) -> (Config, upstream::Config) {
    let (versions, peer) = (Versions::Tls12, role.other());
    let worn = provider_with_limit(provider, LIMIT);
    (
        Config::new(role, versions, worn, KEY_TYPE),
        upstream::Config::new(peer, versions, provider.upstream(), KEY_TYPE),
    )
}

/// Runs `test` with connections after the handshake, in each role, and their upstream peers. The
/// second connections of the same configurations are resumed. It prints the case.
fn for_each_pair(mut test: impl FnMut(ThisBuffered, UpstreamBuffered)) {
    for (provider, role) in product(PROVIDERS, ROLES) {
        let (ours, theirs) = configs(role, provider);
        for kind in ["Some(Full)", "Some(Resumed)"] {
            let (mut ours, mut theirs) = (ours.buffered(), theirs.buffered());
            role.handshake(&mut ours, &mut theirs);
            let negotiated = ours.negotiated();
            assert!(negotiated.ends_with(kind), "{role:?}: {negotiated}");
            println!("{provider:?} {role:?} {kind}");
            test(ours, theirs);
        }
    }
}

/// The number of records that one key protects: the Finished, data, and the close_notify.
const LIMIT: u64 = 10;
const DATA_RECORDS: usize = LIMIT as usize - 2;

/// TLS 1.2 cannot replace keys. A key at its limit ends the connection cleanly.
#[test]
fn a_key_at_its_limit_closes_a_buffered_connection() {
    for_each_pair(|mut ours, mut theirs| {
        // two records more than the key allows, in one write: only as much as can be sent is
        // accepted
        let data = vec![7; (DATA_RECORDS + 2) << 14];
        ours.conn.set_buffer_limit(None);
        let room = ours.conn.writer().room_left();
        assert_eq!(room, Some(DATA_RECORDS << 14));
        let written = ours.conn.writer().write(&data).unwrap();
        assert_eq!(written, DATA_RECORDS << 14);
        assert_eq!(ours.conn.writer().room_left(), Some(0));
        let out = ours.take_output();
        assert_eq!(wire::records(&out).len(), DATA_RECORDS);
        // dropped, as after every close_notify
        ours.conn.writer().write_all(&data[written..]).unwrap();
        assert_eq!(deliver(&mut theirs, &out), data[..written]);
        theirs.receive(&ours.take_output()).unwrap();
        assert!(theirs.peer_has_closed());
    });
}

/// Delivers many bytes to a peer and returns the plaintext it reads.
fn deliver(peer: &mut UpstreamBuffered, bytes: &[u8]) -> Vec<u8> {
    let mut plaintext = Vec::new();
    for chunk in bytes.chunks(4096) {
        peer.receive(chunk).unwrap();
        peer.read_into(&mut plaintext);
    }
    plaintext
}

#[test]
fn a_key_at_its_limit_closes_after_small_records() {
    for_each_pair(|mut ours, mut theirs| {
        for number in 0..DATA_RECORDS {
            send_and_check(&mut ours, &mut theirs, &[number as u8; 100]);
        }
        assert!(ours.take_output().is_empty());
        ours.conn.writer().write_all(b"one too many").unwrap();
        theirs.receive(&ours.take_output()).unwrap();
        assert!(theirs.peer_has_closed());
        // the other direction stays open
        send_and_check(&mut theirs, &mut ours, b"last words");
    });
}

fn worn_unbuffered<C: Unbuffered>(
    mut end: ThisUnbuffered<C>,
    theirs: &mut UpstreamBuffered,
    in_place: bool,
) {
    for _ in 0..DATA_RECORDS {
        let (mut out, mut traffic) = ([0; 200], end.conn.write_traffic().unwrap());
        let record = if in_place {
            let room = traffic.in_place_room();
            // RFC 5288 §3: the explicit nonce precedes the payload
            assert_eq!((room.headroom, room.tailroom), (5 + 8, 16));
            let payload = room.headroom..room.headroom + 50;
            traffic.encrypt_in_place(&mut out, payload).unwrap()
        } else {
            0..traffic.encrypt(&[7; 50], &mut out).unwrap()
        };
        theirs.receive(&out[record]).unwrap();
        assert!(end.take_output().is_empty());
    }
    let mut traffic = end.conn.write_traffic().unwrap();
    if in_place {
        let sealed = traffic.encrypt_in_place(&mut [0; 200], 13..63);
        assert_eq!(sealed, Err(InPlaceError::EncryptExhausted));
    } else {
        let sealed = traffic.encrypt(&[7; 50], &mut [0; 200]);
        assert!(matches!(sealed, Err(EncryptError::EncryptExhausted)));
    }
    theirs.receive(&end.take_output()).unwrap();
    assert!(theirs.peer_has_closed());
}

#[test]
fn a_key_at_its_limit_closes_an_unbuffered_connection() {
    for (provider, in_place) in product(PROVIDERS, [false, true]) {
        let of = |role| configs(role, provider);
        let (ours, theirs) = of(Role::Client);
        let (mut client, mut theirs) = (ThisUnbuffered::client(ours.client()), theirs.buffered());
        handshake(&mut client, &mut theirs);
        worn_unbuffered(client, &mut theirs, in_place);
        let (ours, theirs) = of(Role::Server);
        let (mut server, mut theirs) = (ThisUnbuffered::server(ours.server()), theirs.buffered());
        handshake(&mut theirs, &mut server);
        worn_unbuffered(server, &mut theirs, in_place);
    }
}

/// The application can store its own data in a session, and later connections return it.
#[test]
fn sessions_contain_the_data_of_the_server() {
    for (provider, tickets) in product(PROVIDERS, [false, true]) {
        let config = |role| Config::new(role, Versions::Tls12, provider.this(), KEY_TYPE);
        let mut server = config(Role::Server);
        if tickets {
            server = server.edit(|_| (), |it| it.ticketer = provider.this_ticketer());
        }
        let client = config(Role::Client);
        let connect = |data: &[u8]| {
            let mut server = server.buffered();
            server.as_server().set_resumption_data(data);
            handshake(&mut client.buffered(), &mut server);
            let server = server.as_server();
            let received = server.received_resumption_data().map(<[u8]>::to_vec);
            (server.handshake_kind(), received)
        };
        assert_eq!(connect(b"first"), (Some(HandshakeKind::Full), None));
        let resumed = (Some(HandshakeKind::Resumed), Some(b"first".to_vec()));
        assert_eq!(connect(b"second"), resumed);
    }
}
