//! Tests of the session stores of connections that fail: one that panics at each call, like one
//! with a poisoned lock, and one that must forget the session.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::peers::callbacks::this::Sessions;
use harness::peers::configs::{KeyType, PROVIDERS, Versions, product, server_name};
use harness::peers::endpoints::{Endpoint, ThisBuffered, Transfer, exchange};
use harness::peers::memory::Memory;
use harness::peers::roles::Role;
use harness::peers::roles::this::Config;
use rustls::client::{ClientConnectionData, Resumption};
use rustls::split::{Receiver, Sender};
use rustls::{AlertDescription, ClientConnection, Error};

use crate::bomb::{self, Wrong, survives};
use crate::ends::Api;
use crate::guards::{OPEN, SEAL, SEAL_IN_PLACE};
use crate::other_calls::{TLS13, connected};
use crate::rigged::{Rig, Setup};
use crate::talk::good;

pub(crate) const TLS12: Setup = Setup {
    versions: Versions::Tls12,
    ..TLS13
};

/// The call by which a client forgets a session of TLS 1.2.
pub(crate) const FORGETS: &str = "ClientSessionStore::remove_tls12_session";

/// Records for a client that waits for the ServerHello, the error that they cause, and the output.
type Refused = (&'static [u8], fn(&Error) -> bool, &'static [u8]);

const REFUSED: [Refused; 2] = [
    (
        &[21, 3, 3, 0, 2, 2, 40],
        |error| *error == Error::AlertReceived(AlertDescription::HandshakeFailure),
        &[],
    ),
    // a Finished, which a handler rejects
    (
        &[22, 3, 3, 0, 4, 20, 0, 0, 0],
        |error| matches!(error, Error::InappropriateHandshakeMessage { .. }),
        &[21, 3, 3, 0, 2, 2, 10],
    ),
];

/// The first call panics; later ones return the error that ended the connection. The peer gets the
/// alert for it.
#[test]
fn a_handshake_fails_even_if_its_store_panics_each_time() {
    for (provider, (records, is_expected, alert)) in product(PROVIDERS, REFUSED) {
        let is_poisoned = Arc::new(AtomicBool::new(false));
        let poison = is_poisoned.clone();
        let store = Sessions::when(move |call| {
            let panics = call == "remove_tls12_session" && poison.load(Ordering::Relaxed);
            assert!(!panics, "poisoned");
            true
        });
        let config =
            |role, versions| Config::new(role, versions, provider.this(), KeyType::EcdsaP256);
        let mut server = config(Role::Server, Versions::Tls12).buffered();
        let client = config(Role::Client, Versions::Both);
        let client = client.edit(
            |client| client.resumption = Resumption::store(store),
            |_| {},
        );
        exchange(&mut client.buffered(), &mut server).unwrap();
        let mut client = ClientConnection::new(client.client(), server_name()).unwrap();
        client.output();
        client.read_tls(&mut &records[..]).unwrap();
        is_poisoned.store(true, Ordering::Relaxed);
        let first = catch_unwind(AssertUnwindSafe(|| client.process_new_packets()));
        assert!(first.is_err());
        for _ in 0..2 {
            let error = client.process_new_packets().unwrap_err();
            assert!(is_expected(&error), "{error}");
        }
        assert_eq!(client.output(), alert);
    }
}

/// If the handler panics, it cannot forget the session. The next call does.
#[test]
fn a_session_is_removed_after_a_panic() {
    bomb::rig_logger();
    let rig = Rig::new(TLS12);
    for line in 0.. {
        // creates a session, because the previous one was forgotten
        good(&rig, TLS12, Api::Buffered);
        let mut client = ClientConnection::new(rig.client.clone(), server_name()).unwrap();
        let mut server = ThisBuffered::server(rig.server.clone());
        server.receive(&client.output()).unwrap();
        client.read_tls(&mut &server.take_output()[..]).unwrap();
        bomb::arm("Log::log", line, Wrong::Panics);
        let processed = survives(|| client.process_new_packets());
        if !bomb::disarm() {
            processed.unwrap().unwrap();
            assert!(line > 2, "{line} lines");
            return;
        }
        assert!(processed.is_none());
        bomb::forget_calls();
        client.process_new_packets().unwrap_err();
        assert!(bomb::calls().contains_key(FORGETS), "line {line}");
    }
}

/// RFC 5246 §7.2.2: a session ended by a fatal alert must not be resumed. A write that fails
/// forgets it, because it may be the last call. After a panic, `complete_io` forgets it even if
/// there is output to write, because streams do not process records then.
#[test]
fn a_failed_write_removes_the_session() {
    for (wrong, is_first) in product([Wrong::Fails, Wrong::Panics], [true, false]) {
        let (_client, mut server) = connected(&Rig::new(TLS12));
        if !is_first {
            server.writer().write_all(b"before").unwrap();
        }
        bomb::arm(SEAL, 0, wrong);
        let written = survives(|| server.writer().write_all(b"data"));
        assert!(bomb::disarm());
        match wrong {
            Wrong::Panics => assert!(written.is_none()),
            _ => assert!(written.unwrap().is_err()),
        }
        if wrong == Wrong::Panics {
            bomb::forget_calls();
        }
        let is_forgotten = || bomb::calls().contains_key("StoresServerSessions::take");
        assert_eq!(is_forgotten(), wrong == Wrong::Fails);
        let mut transport = Memory::new(&[]);
        assert_eq!(server.complete_io(&mut transport).is_err(), is_first);
        assert_eq!(transport.reads, 0, "a failed connection reads");
        assert!(is_forgotten());
    }
}

/// Only the half that fails first forgets the session: the store may then have another.
#[test]
fn only_one_half_of_a_connection_removes_the_session() {
    type Fails = fn(&mut Sender, &mut Receiver<ClientConnectionData>, &mut [u8]) -> bool;
    const FAILING: [(&str, Fails); 5] = [
        (SEAL, |sender, _, _| sender.writer().write(b"data").is_err()),
        (SEAL, |sender, _, out| sender.encrypt(b"data", out).is_err()),
        (SEAL_IN_PLACE, |sender, _, out| {
            sender.encrypt_in_place(out, 20..40).is_err()
        }),
        (SEAL, |sender, _, _| {
            sender.send_close_notify();
            sender.error().is_some()
        }),
        (OPEN, |_, receiver, record| {
            receiver.open_in_place(record).is_err()
        }),
    ];
    for (callback, fails) in FAILING {
        let (client, mut server) = connected(&Rig::new(TLS12));
        let (mut sender, mut receiver) = client.into_split().unwrap();
        server.writer().write_all(&[7; 100]).unwrap();
        let mut record = server.output();
        bomb::arm(callback, 0, Wrong::Fails);
        assert!(fails(&mut sender, &mut receiver, &mut record), "{callback}");
        assert!(bomb::disarm());
        assert_eq!(bomb::calls()[FORGETS], 1, "{callback}");
        sender.writer().write(b"late").unwrap_err();
        receiver.process_new_packets().unwrap_err();
        assert_eq!(bomb::calls()[FORGETS], 1, "{callback}");
    }
}
