//! Tests of early data from upstream's client and from ours.

use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, PROVIDERS, product};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, UpstreamBuffered, exchange, talk_and_close,
};
use harness::peers::servers::{KEY_TYPE, Server, Settings, request_another_share};

use super::{early_data, settings, this_client, upstream_client};

/// Sends early data on a second connection. Returns whether it was accepted, and the bytes that the
/// server read.
macro_rules! client_sends {
    ($name:ident, $config:ident, $endpoint:ident) => {
        fn $name(settings: &Settings, first: &Server, second: &Server) -> (bool, Vec<u8>) {
            let config = $config(settings);
            let mut client = $endpoint::client(config.clone());
            exchange(&mut client, &mut *first.accept()).unwrap();

            let (mut client, mut server) = ($endpoint::client(config), second.accept());
            assert_eq!(client.send_early(b"early"), 5);
            exchange(&mut client, &mut *server).unwrap();
            let is_accepted = client.as_client().is_early_data_accepted();
            talk_and_close(&mut client, &mut *server);
            (is_accepted, early_data(&mut *server))
        }
    };
}

client_sends!(upstream_sends, upstream_client, UpstreamBuffered);
client_sends!(this_sends, this_client, ThisBuffered);

#[test]
fn early_data_from_clients_of_both_crates_is_read() {
    for (provider, auth) in product(PROVIDERS, [ClientAuth::None, ClientAuth::Required]) {
        let settings = settings(provider).edit(|it| it.auth = auth);
        for send in [upstream_sends, this_sends] {
            for server in settings.servers() {
                let outcome = send(&settings, &server, &server);
                assert_eq!(outcome, (true, b"early".to_vec()));
            }
        }
    }
}

/// RFC 9846 §4.3.10: after a HelloRetryRequest, early data is skipped by its record type.
#[test]
fn a_hello_retry_request_rejects_early_data() {
    for provider in PROVIDERS {
        let settings = settings(provider);
        for (send, unbuffered) in product([upstream_sends, this_sends], [false, true]) {
            let first = settings.ours();
            let mut crypto = provider.this();
            request_another_share(&mut crypto);
            let mut second = configs::this::server(crypto, KEY_TYPE, ClientAuth::None);
            second.session_storage = first.session_storage.clone();
            second.max_early_data_size = settings.max_early_data_size;
            let second = Arc::new(second);
            let second = match unbuffered {
                true => Server::Unbuffered(second),
                false => Server::Buffered(second),
            };
            let outcome = send(&settings, &Server::Buffered(first.into()), &second);
            assert_eq!(outcome, (false, vec![]));
        }
    }
}
