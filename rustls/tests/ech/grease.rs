//! Tests of GREASE clients (RFC 9849 §6.2.1). The server ignores the extension or answers it, and
//! the client checks the answer and discards it.

use std::collections::BTreeSet;

use harness::peers::configs::{PROVIDERS, product};
use harness::scripted::ech::{EchKey, SUITES, read_extension};
use harness::scripted::{Script, bytes};
use harness::wire::client_hello::{SERVER_NAME, host_name};
use rustls::{AlertDescription as Alert, PeerMisbehaved};

use crate::ech::clients::{Mode, stacks};
use crate::ech::kit::{
    ACCEPTED, DATA, ECH, PUBLIC, Peers, SECRET, accepting_retry, answering, lasting, refused,
};

/// The hello of a GREASE client differs from one without ECH only in the extension.
#[test]
fn every_suite_can_be_used_for_grease() {
    for (provider, suite) in product(PROVIDERS, SUITES) {
        let peers = Peers::with_key(provider, EchKey::new(7, PUBLIC, suite));
        for stack in stacks() {
            for script in [Script::new(), Script::with_retry()] {
                let run = peers.run(stack, &peers.greasing(), &script);
                assert_eq!(run.conversation.outcome, ACCEPTED);
                assert_eq!(run.conversation.plaintext, DATA);
                run.assert_status("Grease");
                let hellos = run.outer();
                for hello in &hellos {
                    let name = host_name(SECRET.as_bytes());
                    assert_eq!(hello.extension(SERVER_NAME), Some(&name[..]));
                    let extension = read_extension(hello).unwrap();
                    assert_eq!(extension.suite, (suite.1, suite.2));
                    // RFC 9849 §6.2.1: the length of the KEM's output, which equals that of a
                    // public key
                    assert_eq!(extension.enc.len(), peers.key.config.public_key.len());
                    assert!(peers.key.decapsulates(&extension), "{suite:?}");
                    // the second hello repeats the first
                    assert_eq!(lasting(hello), lasting(&hellos[0]));
                }
            }
        }
    }
}

#[test]
fn the_grease_extension_is_random() {
    let peers = Peers::new(PROVIDERS[0]);
    for stack in stacks() {
        let config = stack.config(&peers.greasing()).unwrap();
        let mut ids = BTreeSet::new();
        let mut encs = BTreeSet::new();
        let mut payloads = BTreeSet::new();
        for _ in 0..40 {
            let run = peers.run_with(&config, &Script::new());
            let extension = read_extension(&run.outer()[0]).unwrap();
            ids.insert(extension.config_id);
            encs.insert(extension.enc);
            payloads.insert(extension.payload);
        }
        assert_eq!((encs.len(), payloads.len()), (40, 40));
        // fewer have a probability below 1 in 2^60
        assert!(ids.len() > 20, "{ids:?}");
    }
}

/// RFC 9849 §6.2.1: the client checks that retry configurations are well-formed, then ignores them.
#[test]
fn retry_configs_are_checked_and_ignored() {
    let peers = Peers::new(PROVIDERS[0]);
    let list = peers.key.config.list();
    let setup = peers.greasing();
    for stack in stacks() {
        for script in [Script::new(), Script::with_retry()] {
            let run = |body: &[u8]| peers.run(stack, &setup, &answering(script.clone(), ECH, body));
            let answered = run(&list);
            assert_eq!(answered.conversation.outcome, ACCEPTED);
            answered.assert_status("Grease");

            for malformed in [&[][..], &[0, 1, 0], &list[..list.len() - 1]] {
                let outcome = run(malformed).conversation.outcome;
                assert!(outcome.error.is_some(), "{malformed:?}");
                assert_eq!(outcome.alert, Some(Alert::DecodeError));
            }
        }
    }
}

/// RFC 9849 §6.2.1: the client also ignores eight bytes in a HelloRetryRequest.
#[test]
fn the_extension_of_a_retry_is_checked_and_ignored() {
    let peers = Peers::new(PROVIDERS[0]);
    let setup = peers.greasing();
    let with_retry = |len| {
        let mut script = Script::with_retry();
        script.retries[0].extensions.push(bytes(ECH, &vec![3; len]));
        script
    };
    for stack in stacks() {
        let run = peers.run(stack, &setup, &with_retry(8));
        assert_eq!(run.conversation.outcome, ACCEPTED);
        run.assert_status("Grease");
    }
    for len in [0, 7, 9] {
        let invalid = PeerMisbehaved::IllegalHelloRetryRequestWithInvalidEch;
        // upstream does not check the length
        let ours = refused(invalid, Alert::DecodeError);
        peers.expect(&setup, &with_retry(len), &ours, &ACCEPTED);
    }
}

/// A client that has not sent the extension rejects an answer to it.
#[test]
fn ech_answers_without_an_offer_are_refused() {
    let peers = Peers::new(PROVIDERS[0]);
    let setup = peers.setup_with(Mode::Off);
    for stack in stacks() {
        let run = peers.run(stack, &setup, &Script::new());
        assert_eq!(run.conversation.outcome, ACCEPTED);
        run.assert_status("NotOffered");
        assert_eq!(run.outer()[0].extension(ECH), None);
    }
    let script = answering(Script::new(), ECH, &peers.key.config.list());
    let error = PeerMisbehaved::UnsolicitedEncryptedExtension;
    peers.both_refuse(&setup, &script, error, Alert::UnsupportedExtension);
    let error = PeerMisbehaved::IllegalHelloRetryRequestWithInvalidEch;
    peers.both_refuse(
        &setup,
        &accepting_retry(),
        error,
        Alert::UnsupportedExtension,
    );
}
