//! A logger that panics at the warning about a handshake that nobody polls.

use std::future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use harness::peers::configs::server_name;
use rustls::operation::BoxFuture;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ClientConnection, ServerConnection};

use crate::bomb::{self, Wrong};
use crate::other_calls::{TLS13, panics};
use crate::rigged::Rig;

const LOG: &str = "Log::log";

/// A resolver that never completes.
#[derive(Debug)]
struct Never;

impl ResolvesServerCert for Never {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        None
    }

    fn resolve_async(&self, _: ClientHello<'_>) -> Option<BoxFuture<Option<Arc<CertifiedKey>>>> {
        Some(Box::pin(future::pending()))
    }
}

/// Creates a server that waits for its resolver, and processes input once while it waits.
fn waiting() -> ServerConnection {
    bomb::rig_logger();
    let rig = Rig::new(TLS13);
    let mut config = (*rig.server).clone();
    config.cert_resolver = Arc::new(Never);
    let mut client = ClientConnection::new(rig.client.clone(), server_name()).unwrap();
    let mut server = ServerConnection::new(config.into()).unwrap();
    server.set_async(true);
    let mut hello = Vec::new();
    client.write_tls(&mut hello).unwrap();
    server.read_tls(&mut &hello[..]).unwrap();
    for _ in 0..3 {
        server.process_new_packets().unwrap();
    }
    assert!(server.is_waiting());
    bomb::forget_calls();
    server
}

/// A second panic would abort the process.
#[test]
fn a_connection_dropped_by_a_panic_does_not_call_the_logger() {
    let server = waiting();
    bomb::arm(LOG, 0, Wrong::Panics);
    let panicking = catch_unwind(AssertUnwindSafe(|| {
        let _server = server;
        resume_unwind(Box::new("of the application"));
    }));
    panicking.unwrap_err();
    assert!(!bomb::disarm());
}

#[test]
fn a_warning_at_which_the_logger_panics_is_not_repeated() {
    let mut server = waiting();
    panics(LOG, || {
        for _ in 0..100 {
            server.process_new_packets().unwrap();
        }
    });
    drop(server);
    assert_eq!(bomb::calls().get(LOG), None);
}
