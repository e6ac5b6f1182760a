//! Tests of tickets: our server sends the configured number, our client stores those it receives,
//! and a peer whose ticket is not accepted gets a full handshake.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::peers::callbacks::upstream::Sessions;
use harness::peers::configs::{PROVIDERS, Provider, product, product3, server_name};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, UpstreamBuffered, exchange, talk_and_close,
};
use rustls::client::ClientSessionStore as _;
use rustls_upstream::client::ClientSessionStore as _;

use crate::behaviour::connected;

macro_rules! counting {
    ($module:ident) => {
        mod $module {
            use harness::peers::callbacks::$module::Sessions;

            use super::*;

            /// Returns a store and the number of tickets that were inserted into it.
            pub fn counting() -> (Arc<Sessions>, Arc<AtomicUsize>) {
                let put = Arc::new(AtomicUsize::new(0));
                let count = put.clone();
                let store = Sessions::when(move |call| {
                    count.fetch_add(
                        usize::from(call == "insert_tls13_ticket"),
                        Ordering::Relaxed,
                    );
                    call.ends_with("tls13_ticket")
                });
                (store, put)
            }
        }
    };
}

counting!(this);
counting!(upstream);

/// Creates a server whose tickets contain encrypted sessions, or only the names of stored ones.
fn our_server(provider: Provider, sealed: bool, count: usize) -> ThisBuffered {
    let mut config = connected::this::server_config(provider);
    config.send_tls13_tickets = count;
    if sealed {
        config.ticketer = provider.this_ticketer();
    }
    ThisBuffered::server(config)
}

fn their_client(provider: Provider, store: &Arc<Sessions>) -> UpstreamBuffered {
    let mut config = connected::upstream::client_config(provider);
    config.resumption = rustls_upstream::client::Resumption::store(store.clone());
    UpstreamBuffered::client(config)
}

#[test]
fn our_server_sends_the_configured_number_of_tickets() {
    for (provider, sealed, count) in product3(PROVIDERS, [false, true], [0, 1, 2, 5, 20]) {
        let (store, put) = upstream::counting();
        let mut client = their_client(provider, &store);
        let mut server = our_server(provider, sealed, count);
        exchange(&mut client, &mut server).unwrap();
        assert_eq!(put.load(Ordering::Relaxed), count, "{provider:?} {sealed}");
        talk_and_close(&mut client, &mut server);
    }
}

#[test]
fn a_ticket_that_is_not_accepted_gets_a_full_handshake() {
    for (provider, sealed) in product(PROVIDERS, [false, true]) {
        let (store, put) = upstream::counting();
        let mut client = their_client(provider, &store);
        exchange(&mut client, &mut our_server(provider, sealed, 2)).unwrap();
        assert_eq!(put.load(Ordering::Relaxed), 2);
        let mut client = their_client(provider, &store);
        // the client has taken one ticket to offer it
        assert!(store.take_tls13_ticket(&server_name()).is_some());
        assert!(store.take_tls13_ticket(&server_name()).is_none());
        let mut server = our_server(provider, sealed, 0);
        exchange(&mut client, &mut server).unwrap();
        let negotiated = client.negotiated();
        assert_eq!(negotiated, server.negotiated());
        assert!(negotiated.contains("Full"), "{negotiated}");
        talk_and_close(&mut client, &mut server);
    }
}

#[test]
fn our_client_stores_the_tickets_that_it_receives() {
    for (provider, count) in product(PROVIDERS, [0, 1, 2, 5, 20]) {
        let (store, put) = this::counting();
        let mut config = connected::this::client_config(provider);
        config.resumption = rustls::client::Resumption::store(store.clone());
        let mut client = ThisBuffered::client(config);
        let mut config = connected::upstream::server_config(provider);
        config.send_tls13_tickets = count;
        let mut server = UpstreamBuffered::server(config);
        exchange(&mut client, &mut server).unwrap();
        assert_eq!(client.as_client().tls13_tickets_received() as usize, count);
        assert_eq!(put.load(Ordering::Relaxed), count);
        let stored = std::iter::from_fn(|| store.take_tls13_ticket(&server_name()));
        assert_eq!(stored.count(), count.min(8));
        talk_and_close(&mut client, &mut server);
    }
}
