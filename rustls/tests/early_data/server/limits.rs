//! Tests of the exact limits of early data, accepted or skipped.

use std::sync::Arc;

use harness::peers::configs::{self, PROVIDERS, product};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered, exchange, talk_and_close};
use harness::peers::servers::{KEY_TYPE, Server, hello, request_another_share, servers};
use rustls::ContentType;

use super::{MAX, accepted, early_data, finish, rejected, send, settings, upstream_client};

/// RFC 9846 §4.7.1: more data than the ticket allows causes unexpected_message.
#[test]
fn early_data_beyond_the_limit_is_refused() {
    const TOO_MUCH: &str = "PeerMisbehaved(TooMuchEarlyDataReceived)";

    for (settings, server) in servers(settings) {
        for piece in [1000, 999, 500, 1] {
            let mut client = accepted(&settings, &server);
            let sent: Vec<u8> = (0..MAX).map(|at| at as u8).collect();
            for piece in sent.chunks(piece) {
                send(&mut client, piece);
            }
            // an empty record does not exceed the limit
            send(&mut client, b"");
            assert_eq!(early_data(&mut *client.server), sent);
            let refused = client.send_raw(ContentType::ApplicationData, b"x");
            let refused = refused.unwrap_err();
            assert_eq!(refused.error, TOO_MUCH);
            assert_eq!(refused.alert.as_deref(), Some(&[2, 10][..]));
        }

        // one record beyond the limit: none of it is returned
        let mut client = accepted(&settings, &server);
        let refused = client.send_raw(ContentType::ApplicationData, &[7; MAX as usize + 1]);
        assert_eq!(refused.unwrap_err().error, TOO_MUCH);
        assert_eq!(early_data(&mut *client.server), b"");
    }
}

/// Early data up to the limit is accepted, and the handshake completes, even if the application
/// only reads the data after that.
#[test]
fn early_data_up_to_the_limit_is_accepted() {
    for (provider, max) in product(PROVIDERS, [1, 16_384, 16_385, 1 << 20]) {
        let settings = settings(provider).edit(|it| it.max_early_data_size = max);
        for server in settings.servers() {
            let mut client = accepted(&settings, &server);
            let sent = vec![3; max as usize];
            send(&mut client, &sent[1..]);
            send(&mut client, &sent[..1]);
            client.end_early_data().unwrap();
            finish(&mut client);
            assert!(early_data(&mut *client.server) == sent);
        }
    }
}

/// RFC 9846 §4.3.10: rejected early data is skipped up to the same limit, which applies only to the
/// content. Upstream also counts the overhead of encryption.
#[test]
fn skipped_early_data_beyond_the_limit_is_refused() {
    for settings in PROVIDERS.map(settings) {
        for (server, piece) in product(settings.our_servers(), [1000, 999, 500, 1]) {
            let mut client = rejected(&settings, &server);
            for piece in vec![7; MAX as usize].chunks(piece) {
                send(&mut client, piece);
            }
            client.start_handshake();
            finish(&mut client);

            let mut client = rejected(&settings, &server);
            let mut refused = None;
            for piece in vec![7; MAX as usize + 1].chunks(piece) {
                assert_eq!(refused, None, "too soon");
                let sent = client.send_raw(ContentType::ApplicationData, piece);
                refused = sent.err().map(|refused| refused.error);
            }
            assert_eq!(refused.as_deref(), Some("DecryptError"));
        }
    }
}

/// A client obeys its ticket's limit. RFC 9846 §4.3.10: the server skips as much as the ticket
/// allows, even if it sends a HelloRetryRequest before it looks up the session.
#[test]
fn early_data_is_skipped_up_to_the_limit_of_an_older_ticket() {
    /// The limit of older tickets, which is less than the client buffers.
    const BEFORE: u32 = 60_000;

    for provider in PROVIDERS {
        for (lowered, retries) in [(100, false), (0, false), (100, true), (0, true)] {
            let allows = settings(provider).edit(|it| it.max_early_data_size = BEFORE);
            let before = allows.ours();
            let mut after = if retries {
                let mut crypto = provider.this();
                request_another_share(&mut crypto);
                configs::this::server(crypto, KEY_TYPE, allows.auth)
            } else {
                before.clone()
            };
            after.session_storage = before.session_storage.clone();
            after.max_early_data_size = lowered;
            let (before, after) = (Arc::new(before), Arc::new(after));
            for second in [Server::Buffered(after.clone()), Server::Unbuffered(after)] {
                let config = upstream_client(&allows);
                let client = || UpstreamBuffered::client(config.clone());
                let mut first = Server::Buffered(before.clone()).accept();
                exchange(&mut client(), &mut *first).unwrap();

                let (mut client, mut server) = (client(), second.accept());
                let sent = client.send_early(&[7; BEFORE as usize]);
                assert_eq!(sent, BEFORE as usize);
                exchange(&mut client, &mut *server).unwrap();
                assert_eq!(early_data(&mut *server), b"");
                talk_and_close(&mut client, &mut *server);
            }
        }
    }
}

/// RFC 9846 §4.3.10: early data belongs to the first session that a client offers. The limit of
/// another session does not apply, even if the server resumes that session.
#[test]
fn the_limit_of_another_session_does_not_apply() {
    const OF_TICKET: usize = 60_000;
    const TOLERATED: usize = 1 << 14;
    const PIECE: usize = 1000;

    for provider in PROVIDERS {
        let allows = settings(provider).edit(|it| it.max_early_data_size = OF_TICKET as u32);
        let before = allows.ours();
        let mut after = before.clone();
        after.max_early_data_size = 0;
        let before = Server::Buffered(Arc::new(before));
        let after = Arc::new(after);
        for after in [Server::Buffered(after.clone()), Server::Unbuffered(after)] {
            for (is_first, limit) in [(true, OF_TICKET), (false, TOLERATED)] {
                let mut offer = before.tickets(&allows).remove(0).offer_early(0);
                if !is_first {
                    offer.identities.insert(0, (b"another".to_vec(), 0));
                }
                let mut client = after.connect(&allows, hello(), Some(&offer)).unwrap();
                assert!(client.is_resumed && !client.early_data_accepted());
                let mut send = || client.send_raw(ContentType::ApplicationData, &[7; PIECE]);
                let skipped = (0..100).take_while(|_| send().is_ok()).count();
                assert_eq!(skipped, limit / PIECE, "{is_first}");
            }
        }
    }
}
