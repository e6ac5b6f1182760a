//! Tests of each public call that may run a callback, with a callback that panics or fails.
//! Afterwards the connection has failed: later calls return errors, send nothing and use no keys.

use std::io::{IoSlice, Read, Write};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use harness::peers::configs::{KeyType, Provider, Versions, server_name};
use harness::peers::endpoints::{Endpoint, ThisUnbuffered, Transfer, handshake};
use harness::peers::pairs::this::Configs;
use harness::peers::pairs::this::buffered::Pair;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::split::{Receiver, Sender};
use rustls::unbuffered::{ConnectionState, EncryptError, TransmitTlsData, UnbufferedStatus};
use rustls::{
    AlertDescription, ClientConfig, ClientConnection, Connection, Error, InPlaceError, InPlaceRoom,
    ServerConnection, quic,
};

use crate::bomb::{self, Wrong, calls};
use crate::callbacks::OVER;
use crate::ends::Api;
use crate::other_calls::{TLS13, connected, panics, panics_at};
use crate::rigged::{Rig, Setup};
use crate::stores::{FORGETS, TLS12};
use crate::talk::good;

pub(crate) const SEAL: &str = "MessageEncrypter::encrypt";
pub(crate) const SEAL_IN_PLACE: &str = "MessageEncrypter::encrypt_in_place";
pub(crate) const OPEN: &str = "MessageDecrypter::decrypt";

const EARLY: Setup = Setup {
    early_data: true,
    ..TLS13
};

/// A call of a connection `C`: its name, the callback that it runs, and the setups in which the
/// call itself ends a connection whose cipher fails.
type Case<C> = (&'static str, &'static str, &'static [Setup], fn(&mut C));

const BOTH: &[Setup] = &[TLS12, TLS13];

/// Lists cases: the name of a call, its callback, perhaps the setups in which it ends a connection,
/// and the call of `$conn`.
macro_rules! cases {
    ($conn:ident: $of:ty; $($what:literal, $callback:expr $(, ends $ends:expr)? => $call:expr;)*) => {{
        let cases: &[Case<$of>] = &[$(($what, $callback, cases!(@ends $($ends)?), |$conn| {
            let _ = $call;
        })),*];
        cases
    }};
    (@ends) => { &[] };
    (@ends $ends:expr) => { $ends };
}

/// Runs each call on a new connection, with a callback that panics, and checks that connection.
///
/// Then the cipher fails. RFC 9846 §6, RFC 5246 §7.2.2: the call itself drops all secrets, and with
/// them the configuration, and forgets the session.
fn each<C>(cases: &[Case<C>], setup: Setup, new: impl Fn(&Rig) -> C, check: impl Fn(C)) {
    for &(what, callback, ends, call) in cases {
        println!("{what}: {callback} panics");
        let rig = Rig::new(setup);
        let mut conn = new(&rig);
        panics(callback, || call(&mut conn));
        check(conn);
        let mut calls_after = calls();
        // the observer is called when the connection is dropped
        calls_after.retain(|name, _| !name.starts_with("Observer::"));
        assert!(calls_after.is_empty(), "{what}: {calls_after:?}");
        let _ = rig.events.take();

        for setup in ends {
            println!("{what}: {callback} fails in {setup:?}");
            let rig = Rig::new(*setup);
            let mut conn = new(&rig);
            assert_ne!(Arc::strong_count(&rig.client), 1, "{what}");
            bomb::arm(callback, 0, Wrong::Fails);
            call(&mut conn);
            assert!(bomb::disarm(), "{what}");
            assert_eq!(Arc::strong_count(&rig.client), 1, "{what}");
            let is_forgotten = calls().contains_key(FORGETS);
            assert_eq!(is_forgotten, setup.versions == Versions::Tls12, "{what}");
        }
    }
}

fn is_over(error: Error) -> bool {
    error.to_string() == OVER
}

/// Creates a buffered client that has received a record.
fn buffered(rig: &Rig) -> ClientConnection {
    let (mut client, mut server) = connected(rig);
    server.writer().write_all(b"data").unwrap();
    client.read_tls(&mut &server.output()[..]).unwrap();
    client
}

fn buffered_is_over(mut conn: ClientConnection) {
    assert!(conn.early_data().is_none());
    assert!(conn.writer().write(b"late").is_err());
    assert!(is_over(conn.refresh_traffic_keys().unwrap_err()));
    assert!(is_over(conn.process_new_packets().unwrap_err()));
    let (mut buf, payload) = in_place(conn.in_place_room());
    let sealed = conn.encrypt_in_place(&mut buf, payload);
    assert_eq!(sealed, Err(InPlaceError::EncryptExhausted));
    conn.send_close_notify();
}

#[test]
fn buffered_connections_fail_if_a_callback_does() {
    let cases = cases! { conn: ClientConnection;
        "write", SEAL, ends BOTH => conn.writer().write(b"data");
        "write_vectored", SEAL, ends BOTH => {
            conn.writer().write_vectored(&[IoSlice::new(b"data")])
        };
        "encrypt_in_place", SEAL_IN_PLACE, ends BOTH => {
            let (mut buf, payload) = in_place(conn.in_place_room());
            conn.encrypt_in_place(&mut buf, payload)
        };
        "send_in_place", SEAL_IN_PLACE, ends BOTH => {
            let (mut buf, payload) = in_place(conn.in_place_room());
            conn.send_in_place(&mut buf, payload, &mut Vec::new())
        };
        "read_from", SEAL_IN_PLACE, ends BOTH => conn.writer().read_from(&mut &b"data"[..]);
        "write_received", SEAL_IN_PLACE, ends BOTH => {
            conn.writer().write_received(&mut source(&[10], 1).0.reader())
        };
        "refresh_traffic_keys", SEAL, ends &[TLS13] => conn.refresh_traffic_keys();
        "send_close_notify", SEAL, ends BOTH => conn.send_close_notify();
        "process_new_packets", OPEN => conn.process_new_packets();
    };
    each(cases, TLS13, buffered, buffered_is_over);
}

/// Returns a connection that has received records of these lengths and one of 3000 bytes, without
/// its last `missing` bytes, and those bytes.
fn source(lens: &[usize], missing: usize) -> (Box<ServerConnection>, Vec<u8>) {
    let configs = Configs::new(Versions::Tls13, Provider::Ring.this(), KeyType::EcdsaP256);
    let Pair {
        mut client,
        mut server,
    } = Pair::connect(&configs).unwrap();
    for len in lens {
        client.writer().write_all(&vec![7; *len]).unwrap();
    }
    client.writer().write_all(&[8; 3000]).unwrap();
    let wire = client.output();
    let (mut now, later) = wire.split_at(wire.len() - missing);
    while !now.is_empty() {
        server.read_tls(&mut now).unwrap();
        server.process_new_packets().unwrap();
    }
    (server, later.to_vec())
}

/// The records after those that were passed on are not lost, and the keys to open them are kept.
#[test]
fn a_source_continues_after_the_other_connections_cipher_has_failed() {
    for wrong in [Wrong::Panics, Wrong::Fails] {
        let (mut from, later) = source(&[5000, 5000], 2000);
        let mut conn = buffered(&Rig::new(TLS13));
        // the second record
        bomb::arm(SEAL_IN_PLACE, 1, wrong);
        let relayed = catch_unwind(AssertUnwindSafe(|| {
            conn.writer().write_received(&mut from.reader())
        }));
        assert!(bomb::disarm(), "{wrong:?}");
        assert!(relayed.is_err() || relayed.unwrap().is_err());
        assert!(conn.writer().write(b"late").is_err());
        while conn.wants_write() {
            // an alert at most
            assert!(conn.write_tls(&mut Vec::new()).unwrap() < 100);
        }
        from.input(&later);
        let mut received = [0; 3000];
        from.reader().read_exact(&mut received).unwrap();
        assert_eq!(received, [8; 3000]);
    }
}

/// `Connection` has its own method to close, and does not use that of the `CommonState` to which it
/// derefs.
#[test]
fn connections_of_either_side_fail_if_a_callback_does() {
    let closing = cases! { conn: Connection;
        "send_close_notify", SEAL, ends BOTH => conn.send_close_notify();
    };
    let new = |rig: &Rig| Connection::from(buffered(rig));
    each(closing, TLS13, new, |conn| match conn {
        Connection::Client(conn) => buffered_is_over(conn),
        Connection::Server(_) => unreachable!(),
    });
}

/// Creates a buffer with a payload of ten bytes and `room` around it.
fn in_place(room: InPlaceRoom) -> (Vec<u8>, Range<usize>) {
    let payload = room.headroom..room.headroom + 10;
    (vec![7; payload.end + room.tailroom], payload)
}

/// Stores a session that allows early data, and returns the client's configuration.
fn with_session(rig: &Rig) -> Arc<ClientConfig> {
    good(rig, EARLY, Api::Buffered);
    rig.client.clone()
}

#[test]
fn buffered_connections_with_early_data_fail_if_a_callback_does() {
    let new = |rig: &Rig| ClientConnection::new(with_session(rig), server_name()).unwrap();
    let cases = cases! { conn: ClientConnection;
        "write", SEAL, ends &[EARLY] => conn.early_data().unwrap().write(b"early");
    };
    each(cases, EARLY, new, buffered_is_over);
}

#[test]
fn unbuffered_connections_with_early_data_fail_if_a_callback_does() {
    let new = |rig: &Rig| OwnBuffers {
        conn: ThisUnbuffered::client(with_session(rig)).conn,
        incoming: Vec::new(),
        outgoing: vec![0; 2000],
    };
    let cases = cases! { own: OwnBuffers;
        "encrypt", SEAL, ends &[EARLY] => own.transmit(|mut state| {
            let mut early_data = state.may_encrypt_early_data().unwrap();
            let _ = early_data.encrypt(b"early", &mut [0; 100]);
        });
        "encrypt_to_vec", SEAL, ends &[EARLY] => own.transmit(|mut state| {
            let mut early_data = state.may_encrypt_early_data().unwrap();
            let _ = early_data.encrypt_to_vec(b"early", &mut vec![0; 100], 0);
        });
    };
    each(cases, EARLY, new, |mut own| {
        own.transmit(|mut state| {
            assert!(state.may_encrypt_early_data().is_none());
            state.done();
        });
        unbuffered_is_over(own);
    });
}

/// A client with its application's incoming and outgoing bytes.
struct OwnBuffers {
    conn: UnbufferedClientConnection,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

/// Creates an unbuffered client that has received a record.
fn unbuffered(rig: &Rig) -> OwnBuffers {
    let mut client = ThisUnbuffered::client(rig.client.clone());
    let mut server = ThisUnbuffered::server(rig.server.clone());
    handshake(&mut client, &mut server);
    server.send(b"data");
    OwnBuffers {
        conn: client.conn,
        incoming: server.take_output(),
        outgoing: vec![0; 1000],
    }
}

fn unbuffered_is_over(mut own: OwnBuffers) {
    assert!(own.conn.write_traffic().is_none());
    if let Ok(ConnectionState::TransmitTlsData(state)) = own.conn.process_tls_records(&mut []).state
    {
        state.done();
    }
    for _ in 0..2 {
        let UnbufferedStatus { state, .. } = own.conn.process_tls_records(&mut own.incoming);
        assert!(is_over(state.unwrap_err()));
    }
}

impl OwnBuffers {
    /// Encodes the output, and calls `act_on` with the state in which the output must be sent.
    fn transmit(&mut self, act_on: impl FnOnce(TransmitTlsData<'_, ClientConnectionData>)) {
        loop {
            let UnbufferedStatus { state, .. } = self.conn.process_tls_records(&mut []);
            match state.unwrap() {
                ConnectionState::EncodeTlsData(mut state) => {
                    state.encode(&mut self.outgoing).unwrap();
                }
                ConnectionState::TransmitTlsData(state) => return act_on(state),
                state => panic!("{state:?}"),
            }
        }
    }

    /// Processes the received bytes and drops the state.
    fn process(&mut self) {
        let _ = self.conn.process_tls_records(&mut self.incoming);
    }
}

#[test]
fn unbuffered_connections_fail_if_a_callback_does() {
    let cases = cases! { own: OwnBuffers;
        "process_tls_records", OPEN => own.process();
        "process_tls_records before the output is sent", OPEN => {
            own.conn.write_traffic().unwrap().refresh_traffic_keys().unwrap();
            let UnbufferedStatus { state, .. } = own.conn.process_tls_records(&mut []);
            let ConnectionState::EncodeTlsData(mut state) = state.unwrap() else {
                panic!("nothing to encode");
            };
            state.encode(&mut own.outgoing).unwrap();
            own.process()
        };
        "encrypt", SEAL, ends BOTH => {
            own.conn.write_traffic().unwrap().encrypt(b"data", &mut own.outgoing)
        };
        "encrypt_to_vec", SEAL, ends BOTH => {
            let mut traffic = own.conn.write_traffic().unwrap();
            traffic.encrypt_to_vec(b"data", &mut own.outgoing, 1000)
        };
        "encrypt_in_place", SEAL_IN_PLACE, ends BOTH => {
            let mut traffic = own.conn.write_traffic().unwrap();
            let (mut buf, payload) = in_place(traffic.in_place_room());
            traffic.encrypt_in_place(&mut buf, payload)
        };
        "queue_close_notify", SEAL, ends BOTH => {
            let mut traffic = own.conn.write_traffic().unwrap();
            traffic.queue_close_notify(&mut own.outgoing)
        };
        "refresh_traffic_keys", SEAL, ends &[TLS13] => {
            own.conn.write_traffic().unwrap().refresh_traffic_keys()
        };
    };
    each(cases, TLS13, unbuffered, unbuffered_is_over);
}

/// If the cipher cannot seal a close_notify, the result is an error and not an empty output.
#[test]
fn a_close_notify_that_cannot_be_sealed_is_an_error() {
    for setup in [TLS12, TLS13] {
        let mut own = unbuffered(&Rig::new(setup));
        let mut traffic = own.conn.write_traffic().unwrap();
        bomb::arm(SEAL, 0, Wrong::Fails);
        let queued = traffic.queue_close_notify(&mut own.outgoing);
        assert!(bomb::disarm());
        assert!(matches!(queued, Err(EncryptError::EncryptExhausted)));
        assert!(own.conn.write_traffic().is_none());
    }
}

/// An application that drops a state without reading its data ends the connection, which still
/// encrypts the alert.
#[test]
fn unbuffered_connections_fail_after_unread_data_is_lost() {
    let cases = cases! { own: OwnBuffers;
        "process_tls_records", SEAL => {
            own.process();
            own.process()
        };
    };
    each(cases, TLS13, unbuffered, |mut own| {
        assert!(own.conn.write_traffic().is_none());
        let UnbufferedStatus { state, .. } = own.conn.process_tls_records(&mut own.incoming);
        assert!(matches!(state, Err(Error::General(_))));
    });
}

/// A split client. It has received its server's request for a KeyUpdate, but not the record that
/// the server sent after it.
struct Halves {
    sender: Sender,
    receiver: Receiver<ClientConnectionData>,
    record: Vec<u8>,
    out: Vec<u8>,
}

fn halves(rig: &Rig) -> Halves {
    let (client, mut server) = connected(rig);
    let (sender, mut receiver) = client.into_split().unwrap();
    server.refresh_traffic_keys().unwrap();
    receiver.read_tls(&mut &server.output()[..]).unwrap();
    receiver.process_new_packets().unwrap();
    server.writer().write_all(b"data").unwrap();
    Halves {
        sender,
        receiver,
        record: server.output(),
        out: vec![0; 1000],
    }
}

fn halves_are_over(mut halves: Halves) {
    let Halves {
        sender,
        receiver,
        record,
        out,
    } = &mut halves;
    assert!(is_over(receiver.process_new_packets().unwrap_err()));
    assert!(receiver.open_in_place(record).is_err());
    // the alert, if the receiver has failed
    bomb::forget_calls();
    while sender.wants_write() {
        sender.write_tls(&mut Vec::new()).unwrap();
    }
    assert!(calls().get(SEAL).is_none_or(|seals| *seals == 1));
    bomb::forget_calls();
    assert!(is_over(sender.error().unwrap()));
    assert!(sender.encrypt(b"late", out).is_err());
    assert!(sender.writer().write(b"late").is_err());
    assert!(is_over(sender.refresh_traffic_keys().unwrap_err()));
    sender.send_close_notify();
    assert!(!sender.wants_write());
}

#[test]
fn senders_fail_if_a_callback_does() {
    let cases = cases! { halves: Halves;
        "encrypt", SEAL => halves.sender.encrypt(b"data", &mut halves.out);
        "encrypt_to_vec", SEAL => halves.sender.encrypt_to_vec(b"data", &mut halves.out, 1000);
        "encrypt_in_place", SEAL => {
            let (mut buf, payload) = in_place(halves.sender.in_place_room());
            halves.sender.encrypt_in_place(&mut buf, payload)
        };
        "send_in_place", SEAL_IN_PLACE => {
            let (mut buf, payload) = in_place(halves.sender.in_place_room());
            halves.sender.send_in_place(&mut buf, payload, &mut Vec::new())
        };
        "read_from", SEAL_IN_PLACE => halves.sender.writer().read_from(&mut &b"data"[..]);
        "write_received", SEAL_IN_PLACE => {
            halves.sender.writer().write_received(&mut source(&[10], 1).0.reader())
        };
        "take_tls", SEAL => halves.sender.take_tls(&mut halves.out);
        "take_tls_to_vec", SEAL => halves.sender.take_tls_to_vec(&mut halves.out, 0);
        "write_tls", SEAL => halves.sender.write_tls(&mut halves.out);
        "send_close_notify", SEAL => halves.sender.send_close_notify();
        "refresh_traffic_keys", SEAL => halves.sender.refresh_traffic_keys();
        "write", SEAL => halves.sender.writer().write(b"data");
        "write_vectored", SEAL => {
            halves.sender.writer().write_vectored(&[IoSlice::new(b"data")])
        };
    };
    each(cases, TLS13, halves, halves_are_over);
}

#[test]
fn receivers_fail_if_a_callback_does() {
    let cases = cases! { halves: Halves;
        "open_in_place", OPEN => halves.receiver.open_in_place(&mut halves.record);
        "process_new_packets", OPEN => {
            halves.receiver.read_tls(&mut &halves.record[..]).unwrap();
            halves.receiver.process_new_packets()
        };
    };
    each(cases, TLS13, halves, halves_are_over);
}

/// A sender that learns of the receiver's failure seals an alert.
#[test]
fn senders_fail_after_a_failure_of_the_receiver() {
    let new = |rig: &Rig| {
        let mut halves = halves(rig);
        halves.record[7] ^= 1;
        let failed = halves.receiver.open_in_place(&mut halves.record);
        assert_eq!(failed.unwrap_err(), Error::DecryptError);
        halves
    };
    let cases = cases! { halves: Halves;
        "writer", SEAL => halves.sender.writer();
        "encrypt", SEAL => halves.sender.encrypt(b"data", &mut halves.out);
        "take_tls", SEAL => halves.sender.take_tls(&mut halves.out);
        "send_close_notify", SEAL => halves.sender.send_close_notify();
    };
    each(cases, TLS13, new, |mut halves| {
        let sender = &mut halves.sender;
        assert_eq!(sender.error(), Some(Error::DecryptError));
        assert!(sender.encrypt(b"late", &mut halves.out).is_err());
        assert!(sender.writer().write(b"late").is_err());
        assert!(!sender.wants_write());
    });
}

/// A QUIC implementation reports the alert after the panic.
#[test]
fn quic_keeps_its_alert_even_if_the_logger_panics() {
    const EARLY_FINISHED: [u8; 4] = [20, 0, 0, 0];
    bomb::rig_logger();
    let rig = Rig::new(Setup {
        quic: true,
        ..TLS13
    });
    let new = || {
        let (config, version) = (rig.client.clone(), quic::Version::V1);
        quic::ClientConnection::new(config, version, server_name(), Vec::new()).unwrap()
    };
    let mut client = new();
    bomb::forget_calls();
    client.read_hs(&EARLY_FINISHED).unwrap_err();
    let lines = calls()["Log::log"];
    let mut is_kept = false;
    for line in 0..lines {
        let mut client = new();
        panics_at("Log::log", line, || client.read_hs(&EARLY_FINISHED));
        let expected = match client.read_hs(&[]).unwrap_err() {
            Error::InappropriateHandshakeMessage { .. } => AlertDescription::UnexpectedMessage,
            error => {
                assert!(is_over(error), "line {line}");
                AlertDescription::InternalError
            }
        };
        assert_eq!(client.alert(), Some(expected), "line {line}");
        is_kept |= expected == AlertDescription::UnexpectedMessage;
    }
    assert!(is_kept, "no line is logged after the failure is known");
}
