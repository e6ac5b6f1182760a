//! Tests of flights with missing, repeated, early or changed messages.

use std::sync::{Arc, Mutex};

use harness::peers::configs::{PROVIDERS, Provider, Versions};
use harness::scripted::bytes;
use harness::scripted::tls12::server::{Script, Step};
use harness::table;
use harness::wire::client_hello::STATUS_REQUEST;
use rustls::{ContentType, HandshakeType};

use super::{Client, End, changing, forgetful};

/// Returns scripts of full handshakes with every optional message.
fn scripts() -> Vec<(&'static str, Script)> {
    let status = Step::Send(HandshakeType::CertificateStatus);
    let announced = Script::new().with_extension(bytes(STATUS_REQUEST, &[]));
    Vec::from(table! {
        "plain": Script::new();
        "with a request": Script::with_request();
        "with a ticket": Script::with_ticket();
        "with a session id": Script::new().with_session_id(&[7; 32]);
        "with a status": announced.with_step(2, status);
    })
}

#[test]
fn valid_flights_are_accepted() {
    for provider in PROVIDERS {
        for client in forgetful(provider, Versions::Tls12) {
            for (name, script) in scripts() {
                let outcome = client.run(&script);
                let what = format!("{} {name}", client.name);
                assert_eq!(outcome.error, None, "{what}");
                assert!(outcome.client_finished, "{what}");
                let certificate =
                    matches!(name, "with a request").then_some(HandshakeType::Certificate);
                let due = certificate
                    .into_iter()
                    .chain([HandshakeType::ClientKeyExchange, HandshakeType::Finished]);
                assert!(outcome.received.iter().copied().eq(due), "{what}");
            }
        }
    }
}

/// Asserts that all clients fail in the same way with `script`, and returns the outcome.
#[track_caller]
fn refused(what: &str, clients: &[Client; 3], script: &Script) -> End {
    let [ours, unbuffered, theirs] = clients.each_ref().map(|client| client.end(script));
    assert_eq!(ours.alert, unbuffered.alert, "{what}");
    assert!(
        ours.is_like(&theirs),
        "{what}:\n  ours {ours:?}\ntheirs {theirs:?}"
    );
    ours
}

#[test]
fn missing_repeated_and_swapped_messages_are_refused() {
    let clients = forgetful(Provider::AwsLc, Versions::Tls12);
    for (name, script) in scripts() {
        for (at, step) in script.steps.iter().enumerate() {
            if matches!(step, Step::Await) {
                continue;
            }
            let without = script.clone().edit(|script| {
                script.steps.remove(at);
            });
            let end = refused(&format!("{name} without {step:?}"), &clients, &without);
            // these two are optional
            let is_optional = matches!(
                step,
                Step::Send(HandshakeType::CertificateStatus | HandshakeType::CertificateRequest)
            );
            let is_last = matches!(step, Step::Send(HandshakeType::Finished));
            assert_eq!(end.error.is_none(), is_optional || is_last, "{step:?}");

            let twice = script.clone().with_step(at, step.clone());
            let end = refused(&format!("{name} with {step:?} twice"), &clients, &twice);
            assert!(end.is_unexpected(), "{step:?} twice: {end:?}");

            for other in 0..at {
                let exchanged = script.clone().edit(|script| script.steps.swap(at, other));
                let what = format!("{name} with {step:?} and {:?}", script.steps[other]);
                let end = refused(&what, &clients, &exchanged);
                assert!(end.error.is_some(), "{what} was accepted");
            }
        }
    }
}

/// A message that is not due causes unexpected_message, regardless of its content.
#[test]
fn messages_out_of_turn_are_unexpected() {
    let clients = forgetful(Provider::AwsLc, Versions::Tls12);
    for (name, script) in scripts() {
        let is_finished = |step: &Step| matches!(step, Step::Send(HandshakeType::Finished));
        let finished = script.steps.iter().position(is_finished).unwrap();
        for at in 0..=script.steps.len() {
            for typ in (0..=26).map(HandshakeType::from) {
                let mut due = script.steps[at..].iter();
                let due = due.find(|step| !matches!(step, Step::Await));
                let mut legal = match due {
                    Some(Step::Send(due)) => vec![*due],
                    _ => vec![],
                };
                // the request may be inserted, and the status may be omitted
                if matches!(legal[..], [HandshakeType::ServerHelloDone]) {
                    legal.push(HandshakeType::CertificateRequest);
                }
                if matches!(legal[..], [HandshakeType::CertificateStatus]) {
                    legal.push(HandshakeType::ServerKeyExchange);
                }
                if at > finished {
                    legal.push(HandshakeType::HelloRequest);
                }
                if legal.contains(&typ) {
                    continue;
                }
                let message = Step::Message(vec![typ.into(), 0, 0, 0]);
                let script = script.clone().with_step(at, message);
                for client in &clients[..2] {
                    let end = client.end(&script);
                    assert!(end.is_unexpected(), "{name}: {typ:?} at {at}: {end:?}");
                }
            }
        }
    }
}

/// The client continues after ServerHelloDone. Nothing may follow that message, not even a part of
/// another one, in the same record or the next one.
#[test]
fn nothing_may_follow_the_server_hello_done() {
    let clients = forgetful(Provider::AwsLc, Versions::Tls12);
    for more in [
        &[0][..],
        &[20, 0, 0],
        &[0, 0, 0, 0],
        &[4, 0, 0, 6, 0, 0, 0, 0, 0, 0],
    ] {
        let script = changing(Script::new(), 3, |bytes| bytes.extend_from_slice(more));
        for client in &clients[..2] {
            let end = client.end(&script);
            end.assert_refused(client.name, "KeyEpochWithPendingFragment", 10);
        }
    }
}

/// RFC 5246 §7.1: a change_cipher_spec has one valid position and is a single byte.
#[test]
fn misplaced_change_cipher_specs_are_refused() {
    let clients = forgetful(Provider::AwsLc, Versions::Tls12);
    for (name, script) in scripts() {
        for at in 0..=script.steps.len() {
            for content in [&[1][..], &[2], &[1, 1]] {
                let ccs = Step::Raw(ContentType::ChangeCipherSpec, content.to_vec());
                let script = script.clone().with_step(at, ccs);
                for client in &clients[..2] {
                    let end = client.end(&script);
                    assert!(
                        // in the right position, the following records are not encrypted:
                        // bad_record_mac
                        end.error.is_some() && matches!(end.alert, Some(10 | 20 | 50)),
                        "{name}: {content:?} at {at}: {end:?}"
                    );
                }
            }
        }
    }
}

/// Changes the lowest bit of every byte of every message. The scripted server hashes the changed
/// message, so changes that the client ignores are accepted.
#[test]
fn a_changed_bit_in_any_byte_has_the_same_outcome_as_upstream() {
    let clients = forgetful(Provider::AwsLc, Versions::Tls12);
    for (name, script) in scripts() {
        let lengths = lengths(&clients[0], &script);
        for (number, len) in lengths.into_iter().enumerate() {
            // ECDSA signatures vary in length
            for at in 0..len.saturating_sub(4) {
                let corrupt = changing(script.clone(), number, move |bytes| bytes[at] ^= 1);
                let what = format!("{name}: message {number} at {at}");
                refused(&what, &clients, &corrupt);
            }
        }
    }
}

/// Returns the lengths of the messages of `script`.
fn lengths(client: &Client, script: &Script) -> Vec<usize> {
    let lengths = Arc::new(Mutex::new(Vec::new()));
    let seen = lengths.clone();
    let script = script.clone().edit(|script| {
        script.corrupt = Arc::new(move |_, bytes| seen.lock().unwrap().push(bytes.len()))
    });
    client.run(&script);
    let lengths = lengths.lock().unwrap();
    lengths.clone()
}
