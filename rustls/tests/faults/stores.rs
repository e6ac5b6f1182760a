//! Session stores of connections that fail: one that panics at each call, as one with a poisoned
//! lock does, and one that must forget the session.

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Versions, server_name};
use harness::peers::endpoints::{ThisBuffered, exchange};
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls12ClientSessionValue,
    Tls13ClientSessionValue,
};
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, ClientConnection, Error, NamedGroup};

use crate::bomb::{self, Wrong};
use crate::other_calls::{TLS13, connected};
use crate::rigged::{Rig, Setup};

/// A store whose removals panic once it is poisoned.
#[derive(Debug)]
struct Poisoned {
    sessions: ClientSessionMemoryCache,
    is_poisoned: AtomicBool,
}

impl ClientSessionStore for Poisoned {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.sessions.set_kx_hint(server, group);
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.sessions.kx_hint(server)
    }

    fn set_tls12_session(&self, server: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.sessions.set_tls12_session(server, value);
    }

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.sessions.tls12_session(server)
    }

    fn remove_tls12_session(&self, server: &ServerName<'static>) {
        assert!(!self.is_poisoned.load(Ordering::Relaxed), "poisoned");
        self.sessions.remove_tls12_session(server);
    }

    fn insert_tls13_ticket(&self, server: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.sessions.insert_tls13_ticket(server, value);
    }

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.sessions.take_tls13_ticket(server)
    }
}

/// The first call panics; later ones return the error that ended the connection.
#[test]
fn a_handshake_is_over_although_its_store_panics_each_time() {
    const HANDSHAKE_FAILURE: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];
    for provider in PROVIDERS {
        let store = Arc::new(Poisoned {
            sessions: ClientSessionMemoryCache::new(32),
            is_poisoned: AtomicBool::new(false),
        });
        let key_type = KeyType::EcdsaP256;
        let server =
            configs::this::server_of(Versions::Tls12, provider.this(), key_type, ClientAuth::None);
        let mut client =
            configs::this::client_of(Versions::Both, provider.this(), key_type, ClientAuth::None);
        client.resumption = Resumption::store(store.clone());
        let client = Arc::new(client);
        exchange(
            &mut ThisBuffered::client(client.clone()),
            &mut ThisBuffered::server(server),
        )
        .unwrap();

        let mut client = ClientConnection::new(client, server_name()).unwrap();
        client.read_tls(&mut &HANDSHAKE_FAILURE[..]).unwrap();
        store.is_poisoned.store(true, Ordering::Relaxed);
        let first = catch_unwind(AssertUnwindSafe(|| client.process_new_packets()));
        assert!(first.is_err());
        for _ in 0..2 {
            let error = client.process_new_packets().unwrap_err();
            let expected = Error::AlertReceived(AlertDescription::HandshakeFailure);
            assert_eq!(error, expected);
        }
    }
}

/// A transport that takes everything and must not be read.
struct Unread;

impl Read for Unread {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        panic!("a failed connection reads");
    }
}

impl Write for Unread {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
    server.complete_io(&mut Unread).unwrap_err();
    assert!(bomb::calls().contains_key("StoresServerSessions::take"));
}
