//! Session stores of connections that fail: one that panics at each call, as one with a poisoned
//! lock does, and one that must forget the session.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::peers::callbacks::this::Sessions;
use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Versions, server_name};
use harness::peers::endpoints::{ThisBuffered, exchange};
use harness::peers::memory::Memory;
use rustls::client::Resumption;
use rustls::{AlertDescription, ClientConnection, Error};

use crate::bomb::{self, Wrong};
use crate::other_calls::{TLS13, connected};
use crate::rigged::{Rig, Setup};

/// The first call panics; later ones return the error that ended the connection.
#[test]
fn a_handshake_is_over_although_its_store_panics_each_time() {
    const HANDSHAKE_FAILURE: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];
    for provider in PROVIDERS {
        let is_poisoned = Arc::new(AtomicBool::new(false));
        let poison = is_poisoned.clone();
        let store = Sessions::when(move |call| {
            let panics = call == "remove_tls12_session" && poison.load(Ordering::Relaxed);
            assert!(!panics, "poisoned");
            true
        });
        let key_type = KeyType::EcdsaP256;
        let server =
            configs::this::server_of(Versions::Tls12, provider.this(), key_type, ClientAuth::None);
        let mut client =
            configs::this::client_of(Versions::Both, provider.this(), key_type, ClientAuth::None);
        client.resumption = Resumption::store(store);
        let client = Arc::new(client);
        exchange(
            &mut ThisBuffered::client(client.clone()),
            &mut ThisBuffered::server(server),
        )
        .unwrap();

        let mut client = ClientConnection::new(client, server_name()).unwrap();
        client.read_tls(&mut &HANDSHAKE_FAILURE[..]).unwrap();
        is_poisoned.store(true, Ordering::Relaxed);
        let first = catch_unwind(AssertUnwindSafe(|| client.process_new_packets()));
        assert!(first.is_err());
        for _ in 0..2 {
            let error = client.process_new_packets().unwrap_err();
            let expected = Error::AlertReceived(AlertDescription::HandshakeFailure);
            assert_eq!(error, expected);
        }
    }
}

/// RFC 5246 §7.2.2: a session ended by a fatal alert must not be resumed. Streams do not process
/// records after a failed write, but `complete_io` sends the alert.
#[test]
fn complete_io_forgets_the_session_after_a_failed_write() {
    let tls12 = Setup {
        versions: Versions::Tls12,
        ..TLS13
    };
    let (_client, mut server) = connected(&Rig::new(tls12));
    bomb::arm("MessageEncrypter::encrypt", 0, Wrong::Fails);
    server.writer().write_all(b"data").unwrap_err();
    assert!(bomb::disarm());
    bomb::forget_calls();
    let mut transport = Memory::new(&[]);
    server.complete_io(&mut transport).unwrap_err();
    assert_eq!(transport.reads, 0, "a failed connection reads");
    assert!(bomb::calls().contains_key("StoresServerSessions::take"));
}
