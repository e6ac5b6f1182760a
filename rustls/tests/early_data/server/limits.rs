//! How much early data is taken, to the byte: accepted or skipped.

use harness::configs::PROVIDERS;
use harness::servers::{Server, Settings};
use rustls::ContentType;

use super::{MAX, accepted, early_data, finish, rejected, settings};

/// RFC 9846 §4.7.1: more than the ticket allows is an unexpected_message.
#[test]
fn accepted_data_has_a_limit() {
    const TOO_MUCH: &str = "PeerMisbehaved(TooMuchEarlyDataReceived)";

    for provider in PROVIDERS {
        let settings = settings(provider);
        for server in settings.servers() {
            for piece in [1000, 999, 500, 1] {
                let mut client = accepted(&settings, &server);
                let sent: Vec<u8> = (0..MAX).map(|at| at as u8).collect();
                for piece in sent.chunks(piece) {
                    client
                        .send_raw(ContentType::ApplicationData, piece)
                        .unwrap();
                }
                // nothing more is not too much
                client.send_raw(ContentType::ApplicationData, b"").unwrap();
                assert_eq!(early_data(&mut *client.server), sent);
                let refused = client.send_raw(ContentType::ApplicationData, b"x");
                let refused = refused.unwrap_err();
                assert_eq!(refused.error, TOO_MUCH);
                assert_eq!(refused.alert.as_deref(), Some(&[2, 10][..]));
            }

            // at once: nothing of it is handed out
            let mut client = accepted(&settings, &server);
            let refused = client.send_raw(ContentType::ApplicationData, &[7; MAX as usize + 1]);
            assert_eq!(refused.unwrap_err().error, TOO_MUCH);
            assert_eq!(early_data(&mut *client.server), b"");
        }
    }
}

/// As much as there may be, and the handshake goes on behind it.
#[test]
fn all_that_is_allowed_is_taken() {
    for provider in PROVIDERS {
        for max in [1, 16_384, 16_385, 100_000] {
            let settings = Settings {
                max_early_data_size: max,
                ..settings(provider)
            };
            for server in settings.servers() {
                let mut client = accepted(&settings, &server);
                let sent = vec![3; max as usize];
                client
                    .send_raw(ContentType::ApplicationData, &sent[1..])
                    .unwrap();
                client
                    .send_raw(ContentType::ApplicationData, &sent[..1])
                    .unwrap();
                client.end_early_data().unwrap();
                finish(&mut client);
                assert!(early_data(&mut *client.server) == sent);
            }
        }
    }
}

/// RFC 9846 §4.3.10: what is not accepted is skipped up to the same limit, which is one of content. Upstream
/// counts what protects it, too.
#[test]
fn skipped_data_has_a_limit() {
    for provider in PROVIDERS {
        let settings = settings(provider);
        let [buffered, unbuffered, _] = settings.servers();
        for server in [buffered, unbuffered] {
            for piece in [1000, 999, 500, 1] {
                let mut client = rejected(&settings, &server);
                for piece in vec![7; MAX as usize].chunks(piece) {
                    client
                        .send_raw(ContentType::ApplicationData, piece)
                        .unwrap();
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
}

/// Early data does not make a server hold more than it allows, however it comes.
#[test]
fn empty_records_are_counted() {
    for provider in PROVIDERS {
        let settings = settings(provider);
        for server in settings.servers() {
            let mut client = accepted(&settings, &server);
            let refused = (0..100)
                .find_map(|_| client.send_raw(ContentType::ApplicationData, b"").err())
                .expect("a bound");
            if !matches!(server, Server::Upstream(_)) {
                assert_eq!(refused.error, "PeerMisbehaved(TooManyEmptyFragments)");
            }
        }
    }
}
