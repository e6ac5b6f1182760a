//! The client's records after the server's flight and after the handshake: Finished, early data
//! that is skipped, and KeyUpdates. `differential` sends every message in the wrong place or with a
//! wrong length.

use harness::scripted::{Refused, ScriptedClient};
use harness::wire::client_hello::*;
use harness::wire::*;
use rustls::{AlertDescription, ContentType};

use crate::handshake_server::servers::{PROVIDERS, Setup};

/// Creates one client for each crate's server.
pub(crate) fn clients(setup: &Setup) -> [ScriptedClient; 2] {
    setup
        .both()
        .map(|server| ScriptedClient::new(server, &setup.provider.this(), ClientHello::new()))
}

pub(crate) fn refusal(error: &str, alert: AlertDescription) -> Result<(), Refused> {
    Err(Refused {
        error: error.into(),
        alert: Some(vec![2, alert.into()]),
    })
}

#[test]
fn bytes_after_finished_are_refused() {
    // RFC 9846 §5.1: handshake messages must not span key changes
    for more in [&[0][..], &message(24, &[0])] {
        for mut client in clients(&Setup::new(PROVIDERS[0])) {
            let messages = [&client.finished(), more].concat();
            let error = "PeerMisbehaved(KeyEpochWithPendingFragment)";
            let expected = refusal(error, AlertDescription::UnexpectedMessage);
            assert_eq!(client.send(&messages), expected, "{more:?}");
        }
    }
}

#[test]
fn early_data_is_skipped_until_the_client_finishes() {
    let client = |setup: &Setup, server| {
        let hello = ClientHello::new().with_early_data();
        ScriptedClient::new(server, &setup.provider.this(), hello)
    };
    let record_of = |len| record(0x17, &vec![0; len]);
    let refused = Err("DecryptError".to_owned());
    for setup in PROVIDERS.map(Setup::new) {
        for mut client in setup.all().map(|server| client(&setup, server)) {
            for bytes in [record_of(100), record(0x14, &[1]), record_of(100)] {
                client.server.receive(&bytes).unwrap();
            }
            client.finish().unwrap();
            assert!(!client.server.is_handshaking());
            assert_eq!(client.server.receive(&record_of(100)), refused);
        }
    }
    // RFC 9846 §4.3.10: records are skipped up to a limit in bytes of content. Upstream also counts
    // the overhead of encryption, and so disconnects a client that uses its full limit
    let setup = Setup::new(PROVIDERS[0]);
    for mut client in setup.both_apis().map(|server| client(&setup, server)) {
        let most = record_of((1 << 14) + 17);
        client.server.receive(&most).unwrap();
        assert_eq!(client.server.receive(&record_of(1)), refused);
    }
    // records are skipped only if the client announced early data
    for mut client in clients(&setup) {
        assert_eq!(client.server.receive(&record_of(100)), refused);
    }
}

#[test]
fn key_updates_change_both_directions() {
    const UPDATE_NOT_REQUESTED: u8 = 0;
    const UPDATE_REQUESTED: u8 = 1;

    for mut client in clients(&Setup::new(PROVIDERS[0])) {
        client.finish().unwrap();
        client.flight.clear();
        for request in [UPDATE_NOT_REQUESTED, UPDATE_REQUESTED] {
            client.send(&message(24, &[request])).unwrap();
            client.update_sending_key();
            client.send_raw(ContentType::ApplicationData, b"x").unwrap();
        }
        client.server.send(b"y");
        client.receive_output();
        // RFC 9846 §4.7.3: a single answer to the request, before the data
        assert_eq!(client.flight, [message(24, &[UPDATE_NOT_REQUESTED])]);
        assert_eq!(client.received_by_server(), b"xx");
        assert_eq!(client.plaintext, b"y");
    }
}
