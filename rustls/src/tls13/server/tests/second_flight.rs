//! What the client sends after the server's flight, and after the handshake: Finished, KeyUpdate, and
//! everything that is out of place.

use std::boxed::Box;
use std::vec;
use std::vec::Vec;

use super::hello_bytes::*;
use super::peers::{PROVIDERS, Setup};
use super::scripted_client::{Refused, ScriptedClient};
use crate::enums::{AlertDescription, ContentType, HandshakeType};

/// One client for each of the two servers.
fn clients(setup: &Setup) -> [ScriptedClient; 2] {
    setup
        .both()
        .map(|server| ScriptedClient::new(server, setup.provider, Hello::new()))
}

pub(super) fn refusal(error: &str, alert: AlertDescription) -> Result<(), Refused> {
    Err(Refused {
        error: error.into(),
        alert: Some(vec![2, alert.into()]),
    })
}

fn inappropriate(expected: &str, got: &str) -> Result<(), Refused> {
    let error = std::format!(
        "InappropriateHandshakeMessage {{ expect_types: [{expected}], got_type: {got} }}"
    );
    refusal(&error, AlertDescription::UnexpectedMessage)
}

#[test]
fn every_suite_leads_to_traffic() {
    for provider in PROVIDERS {
        for suite in [0x1301, 0x1302, 0x1303] {
            let setup = Setup::new(*provider);
            let hello = Hello::new().edit(|hello| hello.cipher_suites = vec![suite]);
            let mut client = ScriptedClient::new(Box::new(setup.ours()), *provider, hello);
            assert!(!client.server.is_done());
            client.finish().unwrap();
            assert!(client.server.is_done());

            client
                .send_raw(ContentType::ApplicationData, b"ping")
                .unwrap();
            assert_eq!(client.server.plaintext(), b"ping");
            client.server.write(b"pong");
            client.receive_output();
            assert_eq!(client.plaintext, b"pong");
        }
    }
}

#[test]
fn wrong_finished_is_a_decrypt_error() {
    for mut client in clients(&Setup::new(PROVIDERS[0])) {
        let mut finished = client.finished();
        *finished.last_mut().unwrap() ^= 1;
        assert_eq!(
            client.send(&finished),
            refusal("DecryptError", AlertDescription::DecryptError)
        );
    }
    // too short, too long, empty
    for len in [0, 31, 47, 49, 64] {
        for mut client in clients(&Setup::new(PROVIDERS[0])) {
            let finished = message(HandshakeType::Finished.into(), &vec![0; len]);
            assert_eq!(
                client.send(&finished),
                refusal("DecryptError", AlertDescription::DecryptError)
            );
        }
    }
}

#[test]
fn bytes_behind_finished_are_refused() {
    // RFC 9846 §5.1: handshake messages must not span key changes
    for more in [&[0][..], &message(24, &[0])] {
        for mut client in clients(&Setup::new(PROVIDERS[0])) {
            let messages = [&client.finished(), more].concat();
            assert_eq!(
                client.send(&messages),
                refusal(
                    "PeerMisbehaved(KeyEpochWithPendingFragment)",
                    AlertDescription::UnexpectedMessage
                )
            );
        }
    }
}

#[test]
fn other_messages_than_finished_are_unexpected() {
    let cases: [(Vec<u8>, &str); 5] = [
        (message(24, &[0]), "KeyUpdate"),
        (message(5, &[]), "EndOfEarlyData"),
        (ScriptedClient::certificate(&[], &[], &[]), "Certificate"),
        (
            ScriptedClient::certificate_verify_of(0x0403, &[1]),
            "CertificateVerify",
        ),
        (Hello::new().message(), "ClientHello"),
    ];
    for (message, got) in cases {
        for mut client in clients(&Setup::new(PROVIDERS[0])) {
            assert_eq!(client.send(&message), inappropriate("Finished", got));
        }
    }
}

#[test]
fn application_data_before_finished_is_unexpected() {
    for mut client in clients(&Setup::new(PROVIDERS[0])) {
        let result = client.send_raw(ContentType::ApplicationData, b"early");
        let error = "InappropriateMessage { expect_types: [Handshake], got_type: ApplicationData }";
        assert_eq!(result, refusal(error, AlertDescription::UnexpectedMessage));
    }
}

#[test]
fn early_data_is_skipped_until_the_client_finishes() {
    for provider in PROVIDERS {
        let setup = Setup::new(*provider);
        for server in setup.both() {
            let hello = Hello::new().with_early_data();
            let mut client = ScriptedClient::new(server, *provider, hello);
            client.server.feed(&record(0x17, &[0; 100])).unwrap();
            client.server.feed(&record(0x14, &[1])).unwrap();
            client.server.feed(&record(0x17, &[0; 100])).unwrap();
            client.finish().unwrap();
            assert!(client.server.is_done());
            assert_eq!(
                client.server.feed(&record(0x17, &[0; 100])),
                Err("DecryptError".into())
            );
        }
    }

    // RFC 9846 §4.3.10: up to a limit
    let setup = Setup::new(PROVIDERS[0]);
    let hello = Hello::new().with_early_data();
    let mut client = ScriptedClient::new(Box::new(setup.ours()), setup.provider, hello);
    client
        .server
        .feed(&record(0x17, &vec![0; 1 << 14]))
        .unwrap();
    let error = client.server.feed(&record(0x17, &[0])).unwrap_err();
    assert_eq!(error, "DecryptError");

    // and only when it was announced
    for mut client in clients(&Setup::new(PROVIDERS[0])) {
        let error = client.server.feed(&record(0x17, &[0; 100])).unwrap_err();
        assert_eq!(error, "DecryptError");
    }
}

#[test]
fn change_cipher_spec_is_dropped_until_finished() {
    for mut client in clients(&Setup::new(PROVIDERS[0])) {
        client.server.feed(&record(0x14, &[1])).unwrap();
        client.finish().unwrap();
        // RFC 9846 §5: after Finished it is an unexpected record type
        assert!(client.server.feed(&record(0x14, &[1])).is_err());
    }
    for mut client in clients(&Setup::new(PROVIDERS[0])) {
        assert_eq!(
            client.server.feed(&record(0x14, &[2])),
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
        client.server.write(b"y");
        client.receive_output();
        // RFC 9846 §4.7.3: one answer to the one request, before the data
        assert_eq!(client.flight, [message(24, &[UPDATE_NOT_REQUESTED])]);
        assert_eq!(
            (client.server.plaintext(), &client.plaintext[..]),
            (b"xx".to_vec(), &b"y"[..])
        );
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
fn key_updates_without_data_in_between_are_bounded() {
    let [ours, theirs] = clients(&Setup::new(PROVIDERS[0])).map(|mut client| {
        client.finish().unwrap();
        let mut taken = 0;
        loop {
            match client.send(&message(24, &[1])) {
                Ok(()) => client.update_sending_key(),
                Err(refused) => return (taken, refused.error),
            }
            taken += 1;
        }
    });
    assert_eq!(ours, theirs);
}

#[test]
fn handshake_messages_after_the_handshake_are_unexpected() {
    for (message, got) in [
        (message(20, &[0; 48]), "Finished"),
        (Hello::new().message(), "ClientHello"),
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
