//! Tickets: our server sends the configured number, our client stores those it receives, and a peer
//! whose ticket is not accepted gets a full handshake.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use harness::peers::configs::{PROVIDERS, Provider};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, UpstreamBuffered, exchange, talk_and_close,
};

use crate::connected;

/// A store that counts inserted tickets and returns them.
#[derive(Default)]
struct Counting {
    put: AtomicUsize,
    theirs: Mutex<Vec<rustls_upstream::client::Tls13ClientSessionValue>>,
}

impl fmt::Debug for Counting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counting")
    }
}

macro_rules! store {
    ($tls:ident, $taken:expr) => {
        impl $tls::client::ClientSessionStore for Counting {
            fn set_kx_hint(&self, _: $tls::pki_types::ServerName<'static>, _: $tls::NamedGroup) {}

            fn kx_hint(&self, _: &$tls::pki_types::ServerName<'_>) -> Option<$tls::NamedGroup> {
                None
            }

            fn set_tls12_session(
                &self,
                _: $tls::pki_types::ServerName<'static>,
                _: $tls::client::Tls12ClientSessionValue,
            ) {
            }

            fn tls12_session(
                &self,
                _: &$tls::pki_types::ServerName<'_>,
            ) -> Option<$tls::client::Tls12ClientSessionValue> {
                None
            }

            fn remove_tls12_session(&self, _: &$tls::pki_types::ServerName<'static>) {}

            fn insert_tls13_ticket(
                &self,
                _: $tls::pki_types::ServerName<'static>,
                ticket: $tls::client::Tls13ClientSessionValue,
            ) {
                self.put.fetch_add(1, Ordering::Relaxed);
                $taken(self, ticket);
            }

            fn take_tls13_ticket(
                &self,
                _: &$tls::pki_types::ServerName<'static>,
            ) -> Option<$tls::client::Tls13ClientSessionValue> {
                store!(take $tls, self)
            }
        }
    };
    (take rustls_upstream, $self:ident) => {
        $self.theirs.lock().unwrap().pop()
    };
    (take rustls, $self:ident) => {
        None
    };
}

store!(rustls_upstream, |store: &Counting, ticket| store
    .theirs
    .lock()
    .unwrap()
    .push(ticket));

store!(rustls, |_: &Counting, _| {});

/// The kind of tickets that the server issues.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Stored,
    Stateless,
}

fn our_server(provider: Provider, kind: Kind, count: usize) -> ThisBuffered {
    let mut config = connected::this::server_config(provider);
    config.send_tls13_tickets = count;
    if let Kind::Stateless = kind {
        config.ticketer = match provider {
            Provider::AwsLc => rustls::crypto::aws_lc_rs::Ticketer::new().unwrap(),
            Provider::Ring => rustls::crypto::ring::Ticketer::new().unwrap(),
        };
    }
    ThisBuffered::new(connected::this::server(config))
}

fn their_client(provider: Provider, store: &Arc<Counting>) -> UpstreamBuffered {
    let mut config = connected::upstream::client_config(provider);
    config.resumption = rustls_upstream::client::Resumption::store(store.clone());
    UpstreamBuffered::new(connected::upstream::client(config))
}

#[test]
fn our_server_sends_the_configured_number() {
    for provider in PROVIDERS {
        for kind in [Kind::Stored, Kind::Stateless] {
            for count in [0, 1, 2, 5, 20] {
                let store = Arc::new(Counting::default());
                let mut client = their_client(provider, &store);
                let mut server = our_server(provider, kind, count);
                exchange(&mut client, &mut server).unwrap();
                let put = store.put.load(Ordering::Relaxed);
                assert_eq!(put, count, "{provider:?} {kind:?}");
                talk_and_close(&mut client, &mut server);
            }
        }
    }
}

#[test]
fn offered_ticket_gets_a_full_handshake() {
    for provider in PROVIDERS {
        for kind in [Kind::Stored, Kind::Stateless] {
            let store = Arc::new(Counting::default());
            exchange(
                &mut their_client(provider, &store),
                &mut our_server(provider, kind, 2),
            )
            .unwrap();
            let held = store.theirs.lock().unwrap().len();
            assert_eq!(held, 2);
            let mut client = their_client(provider, &store);
            // the client has taken one to offer it
            assert_eq!(store.theirs.lock().unwrap().len(), held - 1);
            let mut server = our_server(provider, kind, 0);
            exchange(&mut client, &mut server).unwrap();
            assert_eq!(client.negotiated(), server.negotiated());
            assert!(
                client.negotiated().contains("Full"),
                "{}",
                client.negotiated()
            );
            talk_and_close(&mut client, &mut server);
        }
    }
}

#[test]
fn our_client_stores_what_it_receives() {
    for provider in PROVIDERS {
        for count in [0, 1, 2, 5, 20] {
            let store = Arc::new(Counting::default());
            let mut config = connected::this::client_config(provider);
            config.resumption = rustls::client::Resumption::store(store.clone());
            let mut client = ThisBuffered::new(connected::this::client(config));
            let mut config = connected::upstream::server_config(provider);
            config.send_tls13_tickets = count;
            let mut server = UpstreamBuffered::new(connected::upstream::server(config));
            exchange(&mut client, &mut server).unwrap();
            let rustls::Connection::Client(conn) = &client.conn else {
                unreachable!()
            };
            assert_eq!(conn.tls13_tickets_received() as usize, count);
            assert_eq!(store.put.load(Ordering::Relaxed), count);
            talk_and_close(&mut client, &mut server);
        }
    }
}
