//! Tests of the tickets that our client receives. `resumption` tests those that our server sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::peers::callbacks::this::Sessions;
use harness::peers::configs::{PROVIDERS, product, server_name};
use harness::peers::endpoints::{ThisBuffered, UpstreamBuffered, exchange, talk_and_close};
use rustls::client::ClientSessionStore as _;

use crate::behaviour::connected;

#[test]
fn our_client_stores_the_tickets_that_it_receives() {
    for (provider, count) in product(PROVIDERS, [0, 1, 2, 5, 20]) {
        let put = Arc::new(AtomicUsize::new(0));
        let counter = put.clone();
        let store = Sessions::when(move |call| {
            let is_put = usize::from(call == "insert_tls13_ticket");
            counter.fetch_add(is_put, Ordering::Relaxed);
            call.ends_with("tls13_ticket")
        });
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
