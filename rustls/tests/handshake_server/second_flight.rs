//! The client's messages after the server's flight and after the handshake: Finished, KeyUpdate and
//! unexpected ones.

use harness::peers::configs::product;
use harness::scripted::{Refused, ScriptedClient};
use harness::wire::client_hello::*;
use harness::wire::*;
use rustls::{AlertDescription, ContentType, HandshakeType};

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

fn inappropriate(expected: &str, got: &str) -> Result<(), Refused> {
    let error =
        format!("InappropriateHandshakeMessage {{ expect_types: [{expected}], got_type: {got} }}");
    refusal(&error, AlertDescription::UnexpectedMessage)
}

#[test]
fn every_suite_transfers_data() {
    for (provider, suite) in product(PROVIDERS, [0x1301, 0x1302, 0x1303]) {
        let setup = Setup::new(provider);
        let hello = ClientHello::new().edit(|hello| hello.cipher_suites = vec![suite]);
        let mut client = ScriptedClient::new(Box::new(setup.ours()), &provider.this(), hello);
        assert!(client.server.is_handshaking());
        client.finish().unwrap();
        assert!(!client.server.is_handshaking());

        client
            .send_raw(ContentType::ApplicationData, b"ping")
            .unwrap();
        assert_eq!(client.received_by_server(), b"ping");
        client.server.send(b"pong");
        client.receive_output();
        assert_eq!(client.plaintext, b"pong");
    }
}

#[test]
fn a_wrong_finished_and_data_before_it_are_refused() {
    for mut client in clients(&Setup::new(PROVIDERS[0])) {
        let mut finished = client.finished();
        *finished.last_mut().unwrap() ^= 1;
        let expected = refusal("DecryptError", AlertDescription::DecryptError);
        assert_eq!(client.send(&finished), expected);
    }
    for mut client in clients(&Setup::new(PROVIDERS[0])) {
        let result = client.send_raw(ContentType::ApplicationData, b"early");
        let error = "InappropriateMessage { expect_types: [Handshake], got_type: ApplicationData }";
        assert_eq!(result, refusal(error, AlertDescription::UnexpectedMessage));
    }
}

/// RFC 9846 §6.2: a message of incorrect length causes decode_error.
#[test]
fn a_finished_of_the_wrong_length_causes_decode_error() {
    for len in [0, 31, 47, 49, 64] {
        let finished = message(HandshakeType::Finished.into(), &vec![0; len]);
        let [ours, theirs] =
            clients(&Setup::new(PROVIDERS[0])).map(|mut client| client.send(&finished));
        let error = if len < 32 {
            "MissingData"
        } else {
            "TrailingData"
        };
        let error = format!("InvalidMessage({error}(\"Finished\"))");
        let expected = refusal(&error, AlertDescription::DecodeError);
        assert_eq!(ours, expected, "{len}");
        let decrypt_error = refusal("DecryptError", AlertDescription::DecryptError);
        assert_eq!(theirs, decrypt_error, "{len}");
    }
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
fn messages_other_than_finished_are_unexpected() {
    let verify = ScriptedClient::certificate_verify_of(0x0403, &[1]);
    for (message, got) in [
        (message(24, &[0]), "KeyUpdate"),
        (message(5, &[]), "EndOfEarlyData"),
        (ScriptedClient::certificate(&[], &[], &[]), "Certificate"),
        (verify, "CertificateVerify"),
        (ClientHello::new().message(), "ClientHello"),
    ] {
        for mut client in clients(&Setup::new(PROVIDERS[0])) {
            assert_eq!(client.send(&message), inappropriate("Finished", got));
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
fn a_change_cipher_spec_is_dropped_until_finished() {
    for mut client in clients(&Setup::new(PROVIDERS[0])) {
        client.server.receive(&record(0x14, &[1])).unwrap();
        client.finish().unwrap();
        // RFC 9846 §5: after Finished, this record type is unexpected
        assert!(client.server.receive(&record(0x14, &[1])).is_err());
    }
    for mut client in clients(&Setup::new(PROVIDERS[0])) {
        assert_eq!(
            client.server.receive(&record(0x14, &[2])),
            Err("PeerMisbehaved(IllegalMiddleboxChangeCipherSpec)".into())
        );
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

#[test]
fn malformed_key_updates_are_refused() {
    for body in [&[2][..], &[], &[0, 0]] {
        let [ours, theirs] = clients(&Setup::new(PROVIDERS[0])).map(|mut client| {
            client.finish().unwrap();
            client.send(&message(24, body))
        });
        assert_eq!(ours, theirs);
    }
}

#[test]
fn handshake_messages_after_the_handshake_are_unexpected() {
    for (message, got) in [
        (message(20, &[0; 48]), "Finished"),
        (ClientHello::new().message(), "ClientHello"),
        (ScriptedClient::certificate(&[], &[], &[]), "Certificate"),
    ] {
        let [mut ours, mut theirs] = clients(&Setup::new(PROVIDERS[0]));
        ours.finish().unwrap();
        theirs.finish().unwrap();
        let answers = (ours.send(&message), theirs.send(&message));
        assert_eq!(answers.0, inappropriate("KeyUpdate", got));
        assert_eq!(answers.0, answers.1);
    }
}
