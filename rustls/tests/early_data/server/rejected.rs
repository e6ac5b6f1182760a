//! Tests of rejected early data.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, product};
use harness::peers::endpoints::{ThisBuffered, handshake};
use harness::peers::servers::{Server, hello, servers};
use harness::providers::tickets::this::Tickets;
use harness::scripted::ScriptedClient;
use harness::wire::record;
use rustls::ContentType;

use super::accepted::shared;
use super::{early_data, end_or_start, finish, offer, rejected, send, settings, this_client};

/// Rejected early data is skipped and never returned to the application.
#[test]
fn rejected_early_data_is_skipped() {
    for (settings, server) in servers(settings) {
        let mut client = rejected(&settings, &server);
        for _ in 0..3 {
            send(&mut client, &[7; 10]);
        }
        client.start_handshake();
        finish(&mut client);
        assert_eq!(early_data(&mut *client.server), b"");
        // nothing is skipped after the first record that can be opened
        let refused = client.server.receive(&record(0x17, &[7; 40]));
        assert_eq!(refused, Err("DecryptError".into()));
    }
}

/// RFC 9846 §8.1: a replayed ClientHello is not accepted again.
#[test]
fn a_replay_gets_a_full_handshake() {
    for (settings, server) in servers(settings) {
        let offer = offer(&settings, &server);
        for accepts in [true, false, false] {
            let mut client = server.connect(&settings, hello(), Some(&offer)).unwrap();
            assert_eq!(client.is_resumed, accepts);
            assert_eq!(client.early_data_accepted(), accepts);
            send(&mut client, b"pay");
            end_or_start(&mut client, accepts);
            finish(&mut client);
            let expected: &[u8] = if accepts { b"pay" } else { b"" };
            assert_eq!(early_data(&mut *client.server), expected);
        }
    }
}

/// A server that allows no early data tolerates a client whose ticket, from another server, allows
/// it.
#[test]
fn a_server_that_allows_no_early_data_skips_it() {
    for (provider, sealed) in product(PROVIDERS, [false, true]) {
        let allows = settings(provider).edit(|it| it.sealed = sealed);
        let wants_none = allows.clone().edit(|it| it.max_early_data_size = 0);
        for server in wants_none.servers() {
            let mut offer = server.tickets(&wants_none).remove(0).offer(0);
            offer.early_data = true;
            let mut client = server.connect(&allows, hello(), Some(&offer)).unwrap();
            assert!(client.is_resumed && !client.early_data_accepted());
            send(&mut client, &[7; 5_000]);
            client.start_handshake();
            finish(&mut client);
        }
    }
}

/// RFC 9846 §8: a ticket may be used twice, so early data is rejected even if its session allows
/// it. Here, tickets are the keys of stored sessions, and opening one leaves its session there.
#[test]
fn early_data_with_a_stateless_ticket_is_rejected() {
    for settings in PROVIDERS.map(settings) {
        let mut config = settings.ours();
        let offer = offer(&settings, &Server::Buffered(Arc::new(config.clone())));
        let storage = config.session_storage.clone();
        let tickets = Tickets::new(3600, |_| None, move |ticket| storage.get(ticket));
        config.ticketer = Arc::new(tickets);
        let server = Server::Buffered(Arc::new(config));
        let mut client = server.connect(&settings, hello(), Some(&offer)).unwrap();
        assert!(client.is_resumed && !client.early_data_accepted());
        send(&mut client, b"early");
        client.start_handshake();
        finish(&mut client);
        assert_eq!(early_data(&mut *client.server), b"");
    }
}

#[test]
fn the_application_may_reject_early_data() {
    for settings in PROVIDERS.map(settings) {
        let config = Arc::new(settings.ours());
        let offer = offer(&settings, &Server::Buffered(config.clone()));
        let mut server = ThisBuffered::server(config.clone());
        let conn = server.as_server();
        assert!(conn.early_data().is_none());
        conn.reject_early_data();
        let (server, provider) = (Box::new(server), settings.provider.this());
        let client = ScriptedClient::offering(server, &provider, hello(), Some(&offer));
        let mut client = client.unwrap();
        assert!(client.is_resumed && !client.early_data_accepted());
        send(&mut client, b"early");
        client.start_handshake();
        finish(&mut client);

        // after the handshake, a rejection is too late, as in upstream
        let mut server = ThisBuffered::server(config);
        handshake(
            &mut ThisBuffered::client(this_client(&settings)),
            &mut server,
        );
        let rejects = AssertUnwindSafe(|| server.as_server().reject_early_data());
        catch_unwind(rejects).unwrap_err();
    }
}

/// After the server has accepted early data, a rejection drops the buffered data and makes any more
/// an error.
#[test]
fn early_data_after_a_late_rejection_ends_the_connection() {
    for settings in PROVIDERS.map(settings) {
        let (mut client, server) = shared(&settings);
        send(&mut client, b"early");
        {
            let mut end = server.lock().unwrap();
            let conn = end.as_server();
            conn.reject_early_data();
            assert!(conn.early_data().is_none());
        }
        let refused = client.send_raw(ContentType::ApplicationData, b"more");
        let error = refused.unwrap_err().error;
        assert_eq!(error, "PeerMisbehaved(TooMuchEarlyDataReceived)");
    }
}
