//! Tests of the number of tickets, and of the data that applications store in them.

use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, PROVIDERS, product};
use harness::peers::endpoints::{ThisBuffered, UpstreamBuffered, exchange};
use harness::peers::servers::{KEY_TYPE, Server, Settings, hello};
use harness::wire::Reader;
use harness::wire::client_hello::TICKET_REQUEST;
use rustls::server::ServerSessionMemoryCache;

const ENCRYPTED_EXTENSIONS: u8 = 8;

/// Returns the number of tickets sent and the number announced, for a client with `request` and, if
/// `resumed`, a session.
fn counts(
    settings: &Settings,
    server: &Server,
    request: Option<[u8; 2]>,
    resumed: bool,
) -> (usize, Option<Vec<u8>>) {
    let mut hello = hello();
    if let Some(request) = request {
        hello = hello.and(TICKET_REQUEST, request.to_vec());
    }
    let plenty = settings.clone().edit(|it| it.send_tls13_tickets = 1);
    let offer = resumed.then(|| {
        // the first server sends tickets even if none are requested
        let sends = share_with(server, &plenty);
        sends.tickets(settings).remove(0).offer(0)
    });
    let mut client = server.connect(settings, hello, offer.as_ref()).unwrap();
    assert_eq!(client.is_resumed, resumed);
    let mut extensions = Reader::of_message(&client.flight[0], ENCRYPTED_EXTENSIONS);
    let hints = extensions.extensions();
    let hint = hints.into_iter().find(|(typ, _)| *typ == TICKET_REQUEST);
    client.start_handshake();
    client.finish().unwrap();
    (client.tickets().len(), hint.map(|(_, body)| body))
}

/// Creates a server that shares the sessions of `server`.
fn share_with(server: &Server, settings: &Settings) -> Server {
    match server {
        Server::Buffered(config) | Server::Unbuffered(config) => {
            let mut sharing = settings.ours();
            sharing.session_storage = config.session_storage.clone();
            Server::Buffered(sharing.into())
        }
        Server::Upstream(config) => {
            let mut sharing = settings.theirs();
            sharing.session_storage = config.session_storage.clone();
            Server::Upstream(sharing.into())
        }
    }
}

/// RFC 9149: the number of tickets follows the request, as in upstream.
#[test]
fn clients_get_the_requested_number_of_tickets() {
    let numbers = [(2, 0), (0, 0), (2, 4), (0, 4), (5, 2), (3, 300)];
    let requests = [[0, 0], [1, 0], [3, 1], [9, 255]].map(Some);
    for (provider, (send, max)) in product(PROVIDERS, numbers) {
        let settings = Settings {
            send_tls13_tickets: send,
            max_tls13_tickets: max,
            ..Settings::new(provider)
        };
        let [buffered, unbuffered, upstream] = settings.servers();
        for (request, resumed) in product([&requests[..], &[None]].concat(), [false, true]) {
            let expected = counts(&settings, &upstream, request, resumed);
            for server in [&buffered, &unbuffered] {
                let counted = counts(&settings, server, request, resumed);
                assert_eq!(counted, expected, "{send} {max} {request:?} {resumed}");
            }
        }
    }
}

/// Runs connections of each crate's server, on which applications set data for the sessions.
macro_rules! resumption_data {
    ($name:ident, $endpoint:ident, $settings:ident) => {
        fn $name(settings: &Settings) -> Vec<Option<Vec<u8>>> {
            let crypto = settings.provider.upstream();
            let client = configs::upstream::client(crypto, KEY_TYPE, ClientAuth::None);
            let (client, server) = (Arc::new(client), Arc::new(settings.$settings()));
            // the client stores only a few tickets of this length
            let most = vec![7; if settings.sealed { 8_000 } else { 32_767 }];
            let mut seen = Vec::new();
            for data in [Some(&b"first"[..]), None, Some(b""), Some(&most), None] {
                let mut client = UpstreamBuffered::client(client.clone());
                let mut end = $endpoint::server(server.clone());
                let conn = end.as_server();
                assert_eq!(conn.received_resumption_data(), None);
                if let Some(data) = data {
                    conn.set_resumption_data(b"replaced");
                    conn.set_resumption_data(data);
                }
                exchange(&mut client, &mut end).unwrap();
                let conn = end.as_server();
                seen.push(conn.received_resumption_data().map(<[u8]>::to_vec));
                // after the tickets, the data has no effect
                conn.set_resumption_data(b"late");
            }
            seen
        }
    };
}

resumption_data!(data_with_ours, ThisBuffered, ours);
resumption_data!(data_with_theirs, UpstreamBuffered, theirs);

#[test]
fn the_applications_own_data_is_kept_in_sessions() {
    for settings in Settings::all() {
        let ours = data_with_ours(&settings);
        assert_eq!(ours[0], None);
        assert_eq!(ours[1].as_deref(), Some(&b"first"[..]));
        assert_eq!(ours[2].as_deref(), Some(&b""[..]));
        assert_eq!(ours, data_with_theirs(&settings));
    }
}

#[test]
#[should_panic = "resumption data has too many bytes"]
fn resumption_data_that_is_too_long_panics() {
    let config = Settings::new(PROVIDERS[0]).ours();
    let mut conn = rustls::ServerConnection::new(config.into()).unwrap();
    conn.set_resumption_data(&[0; 1 << 15]);
}

/// No ticket is sent if it could not be resumed.
#[test]
fn no_tickets_are_issued_with_a_store_of_size_zero() {
    for settings in PROVIDERS.map(Settings::new) {
        let mut config = settings.ours();
        config.session_storage = ServerSessionMemoryCache::new(0);
        let config = Arc::new(config);
        for server in [Server::Buffered(config.clone()), Server::Unbuffered(config)] {
            assert!(server.tickets(&settings).is_empty());
        }
    }
}
