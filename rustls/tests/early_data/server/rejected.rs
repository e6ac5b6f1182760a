//! Rejected early data.

use harness::peers::configs::{PROVIDERS, product};
use harness::peers::endpoints::Transfer;
use harness::peers::servers::{Server, Settings, hello, servers};
use harness::scripted::ScriptedClient;
use rustls::ContentType;

use super::accepted::Shared;
use super::{accepted, early_data, finish, rejected, settings};

/// It is skipped and never handed out.
#[test]
fn rejected_data_is_skipped() {
    for (settings, server) in servers(settings) {
        let mut client = rejected(&settings, &server);
        for _ in 0..3 {
            client
                .send_raw(ContentType::ApplicationData, &[7; 10])
                .unwrap();
        }
        client.start_handshake();
        finish(&mut client);
        assert_eq!(early_data(&mut *client.server), b"");
        // nothing is skipped after the first record that opens
        let refused = client
            .server
            .receive(&harness::wire::record(0x17, &[7; 40]));
        assert_eq!(refused, Err("DecryptError".into()));
    }
}

/// RFC 9846 §8.1: a replayed ClientHello is not accepted again.
#[test]
fn a_replay_gets_a_full_handshake() {
    for (settings, server) in servers(settings) {
        let offer = server.tickets(&settings).remove(0).offer_early(0);
        for accepts in [true, false, false] {
            let mut client = server.connect(&settings, hello(), Some(&offer)).unwrap();
            assert_eq!(client.is_resumed, accepts);
            assert_eq!(client.early_data_accepted(), accepts);
            client
                .send_raw(ContentType::ApplicationData, b"pay")
                .unwrap_or_else(|refused| panic!("{refused:?}"));
            if accepts {
                client.end_early_data().unwrap()
            } else {
                client.start_handshake()
            }
            finish(&mut client);
            let expected: &[u8] = if accepts { b"pay" } else { b"" };
            assert_eq!(early_data(&mut *client.server), expected);
        }
    }
}

/// Replays recorded bytes, because a scripted client would adapt to the server's answer.
#[test]
fn replayed_bytes_are_not_read() {
    for provider in PROVIDERS {
        let settings = settings(provider);
        for server in settings.servers() {
            let mut config = harness::peers::configs::this::client(
                provider.this(),
                harness::peers::servers::KEY_TYPE,
                settings.auth,
            );
            config.enable_early_data = true;
            let config = std::sync::Arc::new(config);
            let client = || {
                let name = harness::peers::configs::server_name();
                rustls::ClientConnection::new(config.clone(), name).unwrap()
            };
            let mut first = harness::peers::endpoints::ThisBuffered::new(client());
            harness::peers::endpoints::handshake(&mut first, &mut *server.accept());

            let mut conn = client();
            std::io::Write::write_all(&mut conn.early_data().unwrap(), b"pay").unwrap();
            let flight = conn.output();
            for expected in [&b"pay"[..], b"", b""] {
                let mut server = server.accept();
                server.receive(&flight).unwrap();
                assert_eq!(early_data(&mut *server), expected);
            }
        }
    }
}

/// A server that allows none tolerates a client whose ticket, from another server, allows some.
#[test]
fn servers_without_early_data_skip_it() {
    for (provider, sealed) in product(PROVIDERS, [false, true]) {
        let allows = Settings {
            sealed,
            ..settings(provider)
        };
        let wants_none = Settings {
            max_early_data_size: 0,
            ..allows.clone()
        };
        for server in wants_none.servers() {
            let mut offer = server.tickets(&wants_none).remove(0).offer(0);
            offer.early_data = true;
            let mut client = server.connect(&allows, hello(), Some(&offer)).unwrap();
            assert!(client.is_resumed && !client.early_data_accepted());
            client
                .send_raw(ContentType::ApplicationData, &[7; 5_000])
                .unwrap();
            client.start_handshake();
            finish(&mut client);
        }
    }
}

/// The application may reject early data, as with upstream.
macro_rules! application_rejects {
    ($name:ident, $tls:ident, $endpoint:ident, $settings:ident, $server:ident) => {
        #[test]
        fn $name() {
            use harness::peers::endpoints::$endpoint;

            for provider in PROVIDERS {
                let settings = settings(provider);
                let config = std::sync::Arc::new(settings.$settings());
                let server = Server::$server(config.clone());
                let offer = server.tickets(&settings).remove(0).offer_early(0);
                let mut conn = $tls::ServerConnection::new(config.clone()).unwrap();
                assert!(conn.early_data().is_none());
                conn.reject_early_data();
                let mut client = ScriptedClient::offering(
                    Box::new($endpoint::new(conn)),
                    &provider.this(),
                    hello(),
                    Some(&offer),
                )
                .unwrap();
                assert!(client.is_resumed && !client.early_data_accepted());
                client
                    .send_raw(ContentType::ApplicationData, b"early")
                    .unwrap();
                client.start_handshake();
                finish(&mut client);

                // after the handshake it is too late
                let mut conn = $tls::ServerConnection::new(config).unwrap();
                let mut end = $endpoint::new(
                    $tls::ClientConnection::new(
                        std::sync::Arc::new(client_config!($tls, provider)),
                        harness::peers::configs::server_name(),
                    )
                    .unwrap(),
                );
                while conn.is_handshaking() {
                    let output = harness::peers::endpoints::Endpoint::take_output(&mut end);
                    conn.input(&output);
                    let output = conn.output();
                    harness::peers::endpoints::Endpoint::receive(&mut end, &output).unwrap();
                }
                let rejects = std::panic::AssertUnwindSafe(|| conn.reject_early_data());
                std::panic::catch_unwind(rejects).unwrap_err();
            }
        }
    };
}

macro_rules! client_config {
    (rustls, $provider:expr) => {
        harness::peers::configs::this::client(
            $provider.this(),
            harness::peers::servers::KEY_TYPE,
            harness::peers::configs::ClientAuth::None,
        )
    };
    (rustls_upstream, $provider:expr) => {
        harness::peers::configs::upstream::client(
            $provider.upstream(),
            harness::peers::servers::KEY_TYPE,
            harness::peers::configs::ClientAuth::None,
        )
    };
}

application_rejects!(
    our_application_rejects,
    rustls,
    ThisBuffered,
    ours,
    Buffered
);
application_rejects!(
    their_application_rejects,
    rustls_upstream,
    UpstreamBuffered,
    theirs,
    Upstream
);

/// After the server has accepted early data, a rejection drops the buffered data and makes any more
/// an error.
#[test]
fn early_data_after_a_late_rejection_ends_the_connection() {
    use std::sync::{Arc, Mutex};

    for provider in PROVIDERS {
        let settings = settings(provider);
        let config = Arc::new(settings.ours());
        let server = Server::Buffered(config.clone());
        let offer = server.tickets(&settings).remove(0).offer_early(0);
        let conn = rustls::ServerConnection::new(config).unwrap();
        let shared = Arc::new(Mutex::new(harness::peers::endpoints::ThisBuffered::new(
            conn,
        )));
        let mut client = ScriptedClient::offering(
            Box::new(Shared(shared.clone())),
            &provider.this(),
            hello(),
            Some(&offer),
        )
        .unwrap();
        client
            .send_raw(ContentType::ApplicationData, b"early")
            .unwrap();
        {
            let mut end = shared.lock().unwrap();
            let conn = end.as_server();
            conn.reject_early_data();
            assert!(conn.early_data().is_none());
        }
        let refused = client.send_raw(ContentType::ApplicationData, b"more");
        assert_eq!(
            refused.unwrap_err().error,
            "PeerMisbehaved(TooMuchEarlyDataReceived)"
        );
    }
    // without a rejection, nothing changes
    let settings = settings(PROVIDERS[0]);
    for server in settings.servers() {
        accepted(&settings, &server).end_early_data().unwrap();
    }
}
