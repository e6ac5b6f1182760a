//! Tests of messages in the wrong place. `differential` compares all of them with upstream, which
//! parses a message before it checks the type.

use harness::peers::configs::{Provider, Versions};
use harness::scripted::bytes;
use harness::scripted::tls12::server::{Script, Step};
use harness::table;
use harness::wire::client_hello::STATUS_REQUEST;
use rustls::HandshakeType;

use super::{changing, forgetful};

/// A message that is not due causes unexpected_message, regardless of its content.
#[test]
fn messages_out_of_turn_are_unexpected() {
    let clients = forgetful(Provider::AwsLc, Versions::Tls12);
    let status = Step::Send(HandshakeType::CertificateStatus);
    let announced = Script::new().with_extension(bytes(STATUS_REQUEST, &[]));
    for (name, script) in table! {
        "plain": Script::new();
        "with a request": Script::with_request();
        "with a ticket": Script::with_ticket();
        "with a status": announced.with_step(2, status);
    } {
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
