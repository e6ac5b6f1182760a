//! Tests of TLS 1.2 connections after the handshake, in both roles and APIs: limits of keys, key
//! log, exporters, and buffered output.

use std::io::Write;
use std::sync::Arc;

use harness::peers::callbacks::KeyLines;
use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered, exchange, handshake, send_and_check,
};
use harness::peers::pairs::this::unbuffered::Unbuffered;
use harness::peers::roles::this::Config;
use harness::peers::roles::{ROLES, Role, upstream};
use harness::providers::provider_with_limit;
use harness::wire;
use rustls::crypto::CryptoProvider;
use rustls::unbuffered::{ConnectionState, EncryptError, UnbufferedStatus, WriteTraffic};
use rustls::{Error, HandshakeKind, InPlaceError, KeyLog};

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// Returns configurations of this crate for `role`, and of upstream for its peer.
fn configs(role: Role, provider: Provider, crypto: CryptoProvider) -> (Config, upstream::Config) {
    let (versions, peer) = (Versions::Tls12, role.other());
    (
        Config::new(role, versions, crypto, KEY_TYPE),
        upstream::Config::new(peer, versions, provider.upstream(), KEY_TYPE),
    )
}

/// Runs `test` with connections after the handshake, in each role, and their upstream peers. The
/// second connections of the same configurations are resumed. It prints the case.
fn for_each_pair(
    crypto: impl Fn(Provider) -> CryptoProvider,
    mut test: impl FnMut(ThisBuffered, UpstreamBuffered),
) {
    for (provider, role) in product(PROVIDERS, ROLES) {
        let (ours, theirs) = configs(role, provider, crypto(provider));
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

fn worn(provider: Provider) -> CryptoProvider {
    provider_with_limit(provider, LIMIT)
}

/// The number of records that one key protects: the Finished, data, and the close_notify.
const LIMIT: u64 = 10;
const DATA_RECORDS: usize = LIMIT as usize - 2;

/// TLS 1.2 cannot replace keys. A key at its limit ends the connection cleanly.
#[test]
fn a_key_at_its_limit_closes_a_buffered_connection() {
    for_each_pair(worn, |mut ours, mut theirs| {
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
    for_each_pair(worn, |mut ours, mut theirs| {
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

/// Applies `use_traffic` to an unbuffered connection that may write, and takes its output.
fn with_traffic<C: Unbuffered>(
    conn: &mut C,
    mut use_traffic: impl FnMut(&mut WriteTraffic<'_, C::Data>),
) -> Vec<u8> {
    let mut sent = Vec::new();
    let mut is_used = false;
    loop {
        let UnbufferedStatus { state, .. } = conn.process(&mut []);
        match state.unwrap() {
            ConnectionState::EncodeTlsData(mut state) => {
                let start = sent.len();
                sent.resize(start + 1000, 0);
                let len = state.encode(&mut sent[start..]).unwrap();
                sent.truncate(start + len);
            }
            ConnectionState::TransmitTlsData(state) => state.done(),
            ConnectionState::WriteTraffic(mut state) if !is_used => {
                use_traffic(&mut state);
                is_used = true;
            }
            _ => return sent,
        }
    }
}

fn worn_unbuffered<C: Unbuffered>(mut conn: C, theirs: &mut UpstreamBuffered, in_place: bool) {
    let mut records = 0;
    loop {
        let mut out = vec![0; 200];
        let mut sealed = None;
        let behind = with_traffic(&mut conn, |state| {
            sealed = if in_place {
                let room = state.in_place_room();
                // RFC 5288 §3: the explicit nonce precedes the payload
                assert_eq!((room.headroom, room.tailroom), (5 + 8, 16));
                match state.encrypt_in_place(&mut out, room.headroom..room.headroom + 50) {
                    Ok(record) => Some(record),
                    Err(InPlaceError::EncryptExhausted) => None,
                    Err(error) => panic!("{error}"),
                }
            } else {
                match state.encrypt(&[7; 50], &mut out) {
                    Ok(len) => Some(0..len),
                    Err(EncryptError::EncryptExhausted) => None,
                    Err(error) => panic!("{error}"),
                }
            };
        });
        match sealed {
            Some(record) => {
                records += 1;
                theirs.receive(&out[record]).unwrap();
                assert!(behind.is_empty());
            }
            None => {
                theirs.receive(&behind).unwrap();
                break;
            }
        }
    }
    assert_eq!(records, DATA_RECORDS);
    assert!(theirs.peer_has_closed());
}

#[test]
fn a_key_at_its_limit_closes_an_unbuffered_connection() {
    for (provider, in_place) in product(PROVIDERS, [false, true]) {
        let of = |role| configs(role, provider, worn(provider));
        let (ours, theirs) = of(Role::Client);
        let (mut client, mut theirs) = (ThisUnbuffered::client(ours.client()), theirs.buffered());
        handshake(&mut client, &mut theirs);
        worn_unbuffered(client.conn, &mut theirs, in_place);
        let (ours, theirs) = of(Role::Server);
        let (mut server, mut theirs) = (ThisUnbuffered::server(ours.server()), theirs.buffered());
        handshake(&mut theirs, &mut server);
        worn_unbuffered(server.conn, &mut theirs, in_place);
    }
}

/// There is no KeyUpdate, so nothing is sent and the connection continues. The error is the same as
/// upstream's.
#[test]
fn keys_cannot_be_refreshed() {
    for_each_pair(Provider::this, |mut ours, mut theirs| {
        let expected = theirs.conn.refresh_traffic_keys().unwrap_err();
        let error = ours.conn.refresh_traffic_keys().unwrap_err();
        assert_eq!(format!("{error:?}"), format!("{expected:?}"));
        assert_eq!(error, Error::HandshakeNotComplete);
        assert_eq!(ours.take_output(), b"");
        send_and_check(&mut ours, &mut theirs, b"under the same key");
        send_and_check(&mut theirs, &mut ours, b"data");
    });
}

#[test]
fn exporters_agree_with_upstream() {
    for_each_pair(Provider::this, |ours, theirs| {
        let (ours, theirs) = (&ours.conn, &theirs.conn);
        for (context, len) in product([None, Some(&b""[..]), Some(b"context")], [1, 32, 500]) {
            let ours = ours.export_keying_material(vec![0; len], b"label", context);
            let theirs = theirs.export_keying_material(vec![0; len], b"label", context);
            assert_eq!(ours.unwrap(), theirs.unwrap());
        }
        let of = |context| ours.export_keying_material([0; 32], b"label", context);
        // RFC 5705 §4: an empty context differs from none
        assert_ne!(of(None), of(Some(b"")));
        let empty = ours.export_keying_material([], b"label", None);
        assert!(matches!(empty, Err(Error::General(_))));
        let long = vec![0; 0x1_0000];
        assert!(matches!(of(Some(&long)), Err(Error::General(_))));
    });
}

/// Data written before the handshake is sent after it, and so is a close_notify.
#[test]
fn data_written_early_waits_for_the_handshake() {
    for (provider, role) in product(PROVIDERS, ROLES) {
        let (ours, theirs) = configs(role, provider, provider.this());
        let (mut ours, mut theirs) = (ours.buffered(), theirs.buffered());
        let data = vec![3; 20_000];
        assert_eq!(ours.send(&data), data.len());
        ours.close();
        let ends: (&mut dyn Endpoint, &mut dyn Endpoint) = (&mut ours, &mut theirs);
        let (client, server) = role.client_and_server(ends.0, ends.1);
        exchange(client, server).unwrap();
        assert!(theirs.read_all() == data, "{provider:?} {role:?}");
        assert!(theirs.peer_has_closed(), "{provider:?} {role:?}");
    }
}

/// RFC 9850: the label is `CLIENT_RANDOM` in full and resumed handshakes, which share their master
/// secret.
#[test]
fn both_ends_log_the_master_secret() {
    for (provider, role) in product(PROVIDERS, ROLES) {
        let (here, there) = (Arc::<KeyLines>::default(), Arc::<KeyLines>::default());
        assert!(here.will_log("CLIENT_RANDOM"));
        let (ours, theirs) = configs(role, provider, provider.this());
        let ours = ours.edit(
            |it| it.key_log = here.clone(),
            |it| it.key_log = here.clone(),
        );
        let theirs = theirs.edit(
            |it| it.key_log = there.clone(),
            |it| it.key_log = there.clone(),
        );
        let mut secrets = Vec::new();
        for kind in ["Some(Full)", "Some(Resumed)"] {
            let mut end = ours.buffered();
            role.handshake(&mut end, &mut theirs.buffered());
            let negotiated = end.negotiated();
            assert!(negotiated.ends_with(kind), "{negotiated}");

            let lines = here.take();
            assert_eq!(lines, there.take(), "{provider:?} {role:?} {kind}");
            let [(label, random, secret)] = &lines[..] else {
                panic!("{} lines", lines.len());
            };
            assert_eq!(label, "CLIENT_RANDOM");
            assert_eq!((random.len(), secret.len()), (32, 48));
            secrets.push(secret.clone());
        }
        assert_eq!(secrets[0], secrets[1]);
    }
}

/// The application can store its own data in a session, and later connections return it.
#[test]
fn sessions_contain_the_data_of_the_server() {
    for (provider, tickets) in product(PROVIDERS, [false, true]) {
        let config = |role| Config::new(role, Versions::Tls12, provider.this(), KEY_TYPE);
        let ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
        let server = config(Role::Server).edit(
            |_| (),
            |server| {
                if tickets {
                    server.ticketer = ticketer;
                }
            },
        );
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
