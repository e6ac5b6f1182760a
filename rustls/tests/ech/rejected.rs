//! Tests of rejected ECH (RFC 9849 §6.1.6, §6.1.7): the handshake uses the public name, only to
//! authenticate the rejection.

use harness::peers::configs::{PROVIDERS, product};
use harness::scripted::ech::{Config, EchKey, config_list};
use harness::scripted::{Script, bytes};
use harness::wire::client_hello::{ALPN, PRE_SHARED_KEY, SERVER_NAME, protocols};
use harness::wire::message;
use rustls::{
    AlertDescription as Alert, CertificateError, Error, HandshakeType, PeerIncompatible,
    PeerMisbehaved,
};

use crate::ech::clients::{Mode, OURS, Stack, stacks};
use crate::ech::kit::{
    DATA, ECH, PUBLIC, Peers, SECRET, SUITE, accepting_retry, answering, changing, lasting,
    new_session_ticket, not_valid_for, rejected,
};

/// Returns scripts that reject ECH: in the ServerHello, or after a HelloRetryRequest with a wrong
/// confirmation or none.
fn scripts(peers: &Peers) -> [Script; 3] {
    let wrong = changing(accepting_retry(), 0, |message| {
        *message.last_mut().unwrap() ^= 1
    });
    [Script::new(), Script::with_retry(), wrong].map(|script| peers.to_reject(script))
}

/// Calls `test` with the peers of each provider and each script.
fn for_each_script(test: impl Fn(&Peers, Script)) {
    for peers in PROVIDERS.map(Peers::new) {
        for script in scripts(&peers) {
            test(&peers, script);
        }
    }
}

/// The connection has failed: nothing can be read, written or retried, and the error repeats.
#[test]
fn a_rejection_without_retry_configs_ends_the_connection() {
    for_each_script(|peers, script| {
        for stack in stacks() {
            let mut run = peers.run(stack, &peers.setup(), &script);
            assert_eq!(run.conversation.outcome, rejected(), "{stack:?}");
            run.assert_status("Rejected");
            let finished = &run.conversation.messages.last().unwrap();
            assert_eq!(finished[0], HandshakeType::Finished.into());
            for second in &run.outer()[1..] {
                assert_eq!(lasting(second), lasting(&run.outer()[0]), "{stack:?}");
            }
            assert_eq!(run.client.process().err(), rejected().error);
            assert!(run.client.take_output().is_empty());
            run.assert_status("Rejected");
        }
    });
}

/// The error contains the server's list, and a connection with that list succeeds.
#[test]
fn a_retry_with_the_retry_configs_succeeds() {
    for peers in PROVIDERS.map(Peers::new) {
        let stale = EchKey::new(7, PUBLIC, SUITE);
        let fresh = peers.key.clone().with(|config| {
            config.suites.insert(0, (9, 9));
            config.extensions.push((0x1a1a, vec![1, 2, 3]));
            config.extensions.push((0, vec![]));
            config.extensions.push((0x33, vec![0xab]));
        });
        let unknown = Config {
            version: 0xfe0c,
            ..stale.config.clone()
        };
        let list = config_list(&[&unknown, &fresh.config]);

        let fresh = Peers {
            key: fresh,
            ..peers
        };
        let setup = fresh.setup_with(Mode::Real(stale.config.list()));
        for script in scripts(&fresh) {
            let script = answering(script, ECH, &list);
            let mut errors = Vec::new();
            for stack in stacks() {
                let mut run = fresh.run(stack, &setup, &script);
                let error = run.conversation.outcome.error.clone().unwrap();
                let start = "PeerIncompatible(ServerRejectedEncryptedClientHello(Some([";
                assert!(error.starts_with(start), "{error}");
                assert!(error.contains("config_id: 7"), "{error}");
                errors.push(error);
                assert_eq!(run.conversation.outcome.alert, rejected().alert);

                let mode = match run.client.retry_configs() {
                    Some(configs) => Mode::Retry(configs),
                    None => Mode::Real(list.clone()),
                };
                assert!(stack != Stack::This || matches!(mode, Mode::Retry(_)));
                let retried = fresh.run(stack, &fresh.setup_with(mode), &fresh.accepting());
                retried.assert_accepted();
            }
            // the error includes the list, so it must print the same for all clients
            errors.dedup();
            assert_eq!(errors.len(), 1, "{errors:#?}");
        }
    }
}

/// RFC 9849 §6.1.6: an unauthenticated server cannot make a client use other keys.
#[test]
fn retry_configs_of_an_unauthenticated_server_are_not_used() {
    for_each_script(|peers, script| {
        let script = answering(script, ECH, &peers.key.config.list());
        let setup = peers.setup();

        // a certificate for the inner name, which the client does not accept here
        let mut inner = script.clone();
        inner.certificates[0].0 = None;
        let error = not_valid_for(PUBLIC, SECRET);
        peers.both_refuse(&setup, &inner, error, Alert::BadCertificate);

        let mut unsigned = script.clone();
        unsigned.flip_signature = true;
        let error = Error::InvalidCertificate(CertificateError::BadSignature);
        peers.both_refuse(&setup, &unsigned, error, Alert::DecryptError);

        let mut unfinished = script;
        unfinished.edit_verify_data = |data| data[0] ^= 1;
        peers.both_refuse(
            &setup,
            &unfinished,
            Error::DecryptError,
            Alert::DecryptError,
        );
    });
}

#[test]
fn malformed_retry_configs_are_refused() {
    let peers = Peers::new(PROVIDERS[0]);
    let config = &peers.key.config;
    let list = config.list();
    let contents = |change: fn(&mut Config)| {
        let mut config = config.clone();
        change(&mut config);
        config.list()
    };
    let mut short_list = list.clone();
    short_list[1] -= 1;
    let trailing = contents(|config| config.trailing.push(0));
    for (name, list) in [
        ("an empty body", vec![]),
        ("an empty list", vec![0, 0]),
        ("a list of one byte", vec![0, 1, 0]),
        ("bytes behind the list", [&list[..], &[0]].concat()),
        ("a list that is cut short", list[..list.len() - 1].to_vec()),
        ("a config that is cut short", short_list),
        ("an empty key", contents(|config| config.public_key.clear())),
        ("no suites", contents(|config| config.suites.clear())),
        ("bytes behind a config", trailing),
    ] {
        let script = answering(peers.rejecting(), ECH, &list);
        for stack in stacks() {
            let outcome = peers
                .run(stack, &peers.setup(), &script)
                .conversation
                .outcome;
            let error = outcome.error.unwrap();
            // RFC 9849 §4: a list must not be empty, and nothing may follow the fields
            let taken_by_upstream = ["an empty list", "bytes behind a config"];
            if taken_by_upstream.contains(&name) && !stack.is_ours() {
                let rejected = "PeerIncompatible(ServerRejectedEncryptedClientHello(Some(";
                assert!(error.starts_with(rejected), "{name}: {error}");
                continue;
            }
            assert!(error.starts_with("InvalidMessage("), "{name}: {error}");
            assert_eq!(outcome.alert, Some(Alert::DecodeError), "{name}");
        }
    }
}

/// RFC 9849 §6.1.7: the client does not authenticate to the public server.
#[test]
fn no_certificate_is_sent_to_the_public_server() {
    for_each_script(|peers, mut script| {
        let mut setup = peers.setup();
        setup.client_auth = Some(peers.client.clone());
        script.flight.insert(1, HandshakeType::CertificateRequest);
        for stack in stacks() {
            let run = peers.run(stack, &setup, &script);
            assert_eq!(run.conversation.outcome, rejected());
            let messages = &run.conversation.messages;
            let [.., certificate, finished] = &messages[..] else {
                panic!("{} messages", messages.len());
            };
            let empty = message(HandshakeType::Certificate.into(), &[0, 0, 0, 0]);
            assert_eq!(*certificate, empty);
            assert_eq!(finished[0], HandshakeType::Finished.into());
            assert_eq!(messages.len(), script.retries.len() + 3);
        }
    });
}

/// RFC 9849 §6.1.2: the PSK in ClientHelloOuter is not real.
#[test]
fn a_rejecting_server_cannot_select_a_psk() {
    for_each_script(|peers, mut script| {
        let selected = bytes(PRE_SHARED_KEY, &[0, 0]);
        script.server_hello.extensions.push(selected);
        // neither ClientHello has a PSK
        for stack in stacks() {
            let run = peers.run(stack, &peers.setup(), &script);
            assert!(run.conversation.outcome.error.is_some());
            assert_ne!(run.client.ech_status(), "Accepted");
        }
    });
}

#[test]
fn an_older_version_is_refused() {
    for peers in PROVIDERS.map(Peers::new) {
        let mut script = peers.rejecting();
        script.server_hello.extensions.remove(0);
        let error = PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig;
        peers.refused_by_both(&script, error, Alert::ProtocolVersion);
    }
}

/// The server's answers on server_name and ALPN refer to ClientHelloOuter.
#[test]
fn encrypted_extensions_answer_the_outer_hello() {
    for peers in PROVIDERS.map(Peers::new) {
        let script = answering(peers.rejecting(), SERVER_NAME, &[]);
        peers.expect(&peers.setup(), &script, &rejected(), &rejected());
        let script = answering(script, ALPN, &protocols(&[b"h2"]));
        let error = PeerMisbehaved::UnsolicitedEncryptedExtension;
        peers.refused_by_both(&script, error, Alert::UnsupportedExtension);
    }
}

/// RFC 9849 §6.1.7: the public server's answers are not those of the server that the application
/// connects to. They are not reported at the end of the handshake, nor while it waits for the
/// Finished.
#[test]
fn no_value_negotiated_with_the_public_server_is_reported() {
    for_each_script(|peers, script| {
        let mut setup = peers.setup();
        setup.alpn = vec![b"h2".to_vec()];
        let with_alpn = |script| answering(script, ALPN, &protocols(&[b"h2"]));
        let complete = with_alpn(script);
        let mut waiting = complete.clone();
        waiting.flight.retain(|typ| *typ != HandshakeType::Finished);
        for &stack in OURS {
            for (script, error) in [(&complete, rejected().error), (&waiting, None)] {
                let run = peers.run(stack, &setup, script);
                assert_eq!(run.conversation.outcome.error, error, "{stack:?}");
                run.assert_status("Rejected");
                assert!(run.client.is_handshaking(), "{stack:?}");
                assert_eq!(run.client.reporting(), [""; 0], "{stack:?}");
            }
            let accepted = peers.run(stack, &setup, &with_alpn(peers.accepting()));
            accepted.assert_accepted();
            assert_eq!(
                accepted.client.reporting(),
                ["alpn_protocol", "peer_certificates", "peer_identity"]
            );
        }
    });
}

/// RFC 9849 §6.1.7: tickets are not for the inner name, and the client has failed anyway.
#[test]
fn no_session_of_the_public_server_is_stored() {
    for_each_script(|peers, mut script| {
        script.post_handshake = vec![new_session_ticket(b"ticket", &[]); 2];
        for stack in stacks() {
            let config = stack.config(&peers.setup()).unwrap();
            let run = peers.run_with(&config, &script);
            assert!(run.conversation.outcome.error.is_some());
            assert_eq!(run.client.tickets_received(), 0);

            let run = peers.run_with(&config, &peers.accepting());
            run.assert_accepted();
            let opened = &run.conversation.opened[0];
            assert_eq!(opened.inner.extension(PRE_SHARED_KEY), None);
        }
    });
}

/// A client remembers the group that a server requests, but only if the server was authenticated.
#[test]
fn the_group_of_a_rejecting_retry_is_not_remembered() {
    for peers in PROVIDERS.map(Peers::new) {
        for &stack in OURS {
            let config = stack.config(&peers.setup()).unwrap();
            // an authenticated server's group is remembered
            let groups = || -> Vec<u16> {
                let run = peers.run_with(&config, &peers.accepting());
                run.assert_accepted();
                let shares = run.conversation.opened[0].inner.key_shares();
                shares.iter().map(|(group, _)| *group).collect()
            };
            groups();
            let first = groups();
            peers.run_with(&config, &peers.to_reject(Script::with_retry()));
            assert_eq!(groups(), first, "{stack:?}");
        }
    }
}

/// RFC 9849 §6.1.6: the client fails before it sends application data. Data written earlier is
/// dropped, even if a close_notify follows it.
#[test]
fn buffered_data_is_not_sent_after_a_rejection() {
    for_each_script(|peers, script| {
        for &stack in OURS {
            let mut client = stack.config(&peers.setup()).unwrap().connect().unwrap();
            assert!(client.send(DATA) == DATA.len() || stack == Stack::ThisUnbuffered);
            if stack == Stack::This {
                client.close();
            }
            let conversation = peers.identity.converse(&mut *client, &script);
            assert_eq!(conversation.outcome, rejected(), "{stack:?}");
            assert_eq!(conversation.plaintext, b"");
            assert!(client.take_output().is_empty(), "{stack:?}");
        }
    });
}

/// RFC 9849 §5 and §6.1.4: the extension in a HelloRetryRequest is a confirmation of exactly eight
/// bytes.
#[test]
fn the_extension_of_a_retry_has_eight_bytes() {
    for peers in PROVIDERS.map(Peers::new) {
        for (len, accepts) in product([0, 1, 7, 9, 100], [true, false]) {
            let mut script = Script::with_retry();
            script.retries[0].extensions.push(bytes(ECH, &vec![0; len]));
            let script = match accepts {
                true => peers.to_accept(script),
                false => peers.to_reject(script),
            };
            let error = PeerMisbehaved::IllegalHelloRetryRequestWithInvalidEch;
            peers.refused_by_both(&script, error, Alert::DecodeError);
        }
    }
}

/// RFC 9849 §6.1.5: a server that accepted in its HelloRetryRequest must accept again.
#[test]
fn the_server_hello_must_accept_after_an_accepting_retry() {
    for peers in PROVIDERS.map(Peers::new) {
        let script = peers.to_accept(accepting_retry());
        let script = changing(script, 1, |message| message[4 + 2 + 31] ^= 1);
        let error = PeerMisbehaved::EchAcceptanceVariedAfterRetry;
        peers.refused_by_both(&script, error, Alert::IllegalParameter);
    }
}
