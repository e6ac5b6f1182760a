//! Tests of sessions and early data with the inner server (RFC 9849 §6.1, §6.1.2).

use harness::peers::configs::{self, PROVIDERS};
use harness::peers::endpoints::{Endpoint, ThisBuffered};
use harness::scripted::Script;
use harness::wire::client_hello::{EARLY_DATA, PRE_SHARED_KEY};
use harness::wire::plain_messages;
use rustls::pki_types::PrivateKeyDer;
use rustls::{AlertDescription as Alert, CipherSuite, NamedGroup, PeerMisbehaved, ServerConfig};

use crate::ech::clients::{Config, OURS, Setup, Stack};
use crate::ech::kit::{
    ACCEPTED, ALLOWS_EARLY_DATA, DATA, ECH, Peers, Run, accepting_retry, answering, contains,
    new_session_ticket, peers_and_stacks, refused, rejected, split_messages,
};

const TICKET: &[u8] = b"a ticket that only the inner server knows";
const EARLY: &[u8] = b"early data that only the inner server may have";

/// Creates a client with a session, and that session's key.
fn with_session(peers: &Peers, stack: Stack, early_data: bool) -> (Config, Vec<u8>) {
    let setup = Setup {
        early_data,
        ..peers.setup()
    };
    let config = stack.config(&setup).unwrap();
    let mut script = peers.accepting();
    script.post_handshake = vec![new_session_ticket(TICKET, &ALLOWS_EARLY_DATA)];
    let run = peers.run_with(&config, &script);
    run.assert_accepted();
    assert_eq!(run.client.tickets_received(), 1);
    (config, run.conversation.ticket_psk(b"nonce"))
}

/// Creates a script that resumes, after a HelloRetryRequest if requested.
fn resuming(psk: &[u8], retry: bool) -> Script {
    let script = Script::resuming(psk.to_vec());
    match retry {
        true => with_retry_of(script, accepting_retry()),
        false => script,
    }
}

fn with_retry_of(script: Script, retrying: Script) -> Script {
    Script {
        retries: retrying.retries,
        group: retrying.group,
        ..script
    }
}

/// Connects with early data.
fn run_early(peers: &Peers, config: &Config, script: &Script) -> Run {
    let mut client = config.connect().unwrap();
    client.send_early(EARLY);
    peers.run_client(client, script)
}

#[test]
fn a_session_is_resumed() {
    for (peers, stack) in peers_and_stacks() {
        for retry in [false, true] {
            let (config, psk) = with_session(&peers, stack, false);
            let script = peers.to_accept(resuming(&psk, retry));
            let run = peers.run_with(&config, &script);
            run.assert_accepted();
            assert!(run.client.negotiated().contains("Resumed"));
            assert!(!contains(&run.conversation.sent, TICKET));
            let opened = &run.conversation.opened[0];
            assert!(opened.outer.extension(PRE_SHARED_KEY).is_some());
        }
    }
}

/// RFC 9849 §6.1.2: the PSK of the outer hello is random. The second hello repeats only its
/// identity.
#[test]
fn the_psk_of_the_outer_hello_is_random() {
    let age_at = 2 + 2 + TICKET.len();
    let binder_at = age_at + 4 + 2 + 1;
    // upstream generates another identity for the second hello
    for (peers, stack) in peers_and_stacks().filter(|(_, stack)| stack.is_ours()) {
        let psks = || {
            let (config, psk) = with_session(&peers, stack, false);
            let run = peers.run_with(&config, &peers.to_accept(resuming(&psk, true)));
            run.assert_accepted();
            let [first, second] = &run.outer()[..] else {
                panic!("two hellos");
            };
            [first, second].map(|hello| hello.extension(PRE_SHARED_KEY).unwrap().to_vec())
        };
        let ([first, second], [other, _]) = (psks(), psks());
        assert_eq!(second[..age_at], first[..age_at]);
        assert_ne!(other[4..age_at], first[4..age_at]);
        for another in [second, other] {
            assert_ne!(another[age_at..][..4], first[age_at..][..4]);
            assert_ne!(another[binder_at..], first[binder_at..]);
        }
    }
}

#[test]
fn a_full_handshake_follows_if_the_session_is_declined() {
    for (peers, stack) in peers_and_stacks() {
        for script in [Script::new(), accepting_retry()] {
            let (config, _) = with_session(&peers, stack, false);
            let run = peers.run_with(&config, &peers.to_accept(script));
            run.assert_accepted();
            assert!(run.client.negotiated().contains("Full"));
        }
    }
}

#[test]
fn early_data_is_accepted() {
    for (peers, stack) in peers_and_stacks() {
        let (config, psk) = with_session(&peers, stack, true);
        let script = peers.to_accept(resuming(&psk, false).accepting_early_data());
        let run = run_early(&peers, &config, &script);
        run.assert_accepted();
        assert_eq!(run.conversation.early_data, EARLY);
        assert!(!contains(&run.conversation.sent, EARLY));
        assert!(!contains(&run.conversation.sent, TICKET));
    }
}

/// A server that accepts ECH rejects early data, with or without resuming the session, and after a
/// HelloRetryRequest.
#[test]
fn the_handshake_completes_if_early_data_is_rejected() {
    for (peers, stack) in peers_and_stacks() {
        for retry in [false, true] {
            let (config, psk) = with_session(&peers, stack, true);
            let script = peers.to_accept(resuming(&psk, retry));
            let run = run_early(&peers, &config, &script);
            assert_eq!(run.conversation.outcome, ACCEPTED);
            run.assert_status("Accepted");
            let hellos = &run.conversation.opened;
            assert!(hellos[0].inner.extension(EARLY_DATA).is_some());
            assert!(hellos[1..].iter().all(|hello| {
                let both = [&hello.inner, &hello.outer];
                both.map(|hello| hello.extension(EARLY_DATA)) == [None; 2]
            }));
            assert!(run.conversation.plaintext.ends_with(DATA));
        }
    }
}

/// RFC 9849 §6.1.2: the PSK of ClientHelloOuter is random, so a server that selects it misbehaves.
#[test]
fn the_psk_of_the_outer_hello_cannot_be_selected() {
    for (peers, stack) in peers_and_stacks() {
        for retry in [false, true] {
            let (config, psk) = with_session(&peers, stack, false);
            let mut script = peers.to_reject(resuming(&psk, retry));
            script.psk = None;
            script.early_psk = None;
            let run = peers.run_with(&config, &script);
            let outcome = run.conversation.outcome;
            // upstream does not notice this and fails later
            assert!(outcome.error.is_some(), "{stack:?}");
            if stack.is_ours() {
                // the second ClientHello also offers it
                let error = PeerMisbehaved::SelectedInvalidPsk;
                assert_eq!(outcome, refused(error, Alert::IllegalParameter));
            }
        }
    }
}

/// RFC 9846 §4.2.2: the second ClientHello repeats the PSK with a new age and binder, unless the
/// suite has another hash. Servers check that, including this crate's.
#[test]
fn the_psk_of_the_outer_hello_is_offered_again_after_a_rejection() {
    for peers in PROVIDERS.map(Peers::new) {
        for suite in [
            CipherSuite::TLS13_AES_128_GCM_SHA256,
            CipherSuite::TLS13_AES_256_GCM_SHA384,
        ] {
            for &stack in OURS {
                let (config, _) = with_session(&peers, stack, true);
                let mut client = config.connect().unwrap();
                client.send_early(EARLY);
                let mut server = public_server(&peers, suite);

                let first = client.take_output();
                server.receive(&first).unwrap();
                client.receive(&server.take_output()).unwrap();
                let second = client.take_output();
                let psks = [&first, &second].map(|sent| {
                    let hellos = split_messages(&plain_messages(sent));
                    hellos[0].extension(PRE_SHARED_KEY).map(<[u8]>::to_vec)
                });
                let [Some(first_psk), second_psk] = psks else {
                    panic!("none in the first");
                };
                let has_hash_of_session = suite == CipherSuite::TLS13_AES_128_GCM_SHA256;
                assert_eq!(second_psk.is_some(), has_hash_of_session);
                if let Some(second_psk) = second_psk {
                    let age_at = 2 + 2 + TICKET.len();
                    let binder_at = age_at + 4 + 2 + 1;
                    assert_eq!(second_psk.len(), first_psk.len());
                    assert_eq!(second_psk[..age_at], first_psk[..age_at]);
                    assert_ne!(second_psk[age_at..][..4], first_psk[age_at..][..4]);
                    assert_ne!(second_psk[binder_at..], first_psk[binder_at..]);
                }

                server.receive(&second).unwrap();
                let error = client.receive(&server.take_output()).unwrap_err();
                assert_eq!(Some(error), rejected().error);
            }
        }
    }
}

/// Creates a server of the public name without ECH keys, which requests a group for which clients
/// send no share.
fn public_server(peers: &Peers, suite: CipherSuite) -> ThisBuffered {
    let mut provider = configs::this::provider_of(peers.provider, suite);
    let group = NamedGroup::secp384r1;
    provider.kx_groups.retain(|it| it.name() == group);
    let key = PrivateKeyDer::Pkcs8(peers.client.1.clone().into());
    let chain = vec![peers.public_certificate.clone()];
    let config = ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    ThisBuffered::server(config)
}

/// Early data requires a PSK, and the server cannot accept the one in the outer hello.
#[test]
fn the_early_data_of_the_outer_hello_cannot_be_accepted() {
    for (peers, stack) in peers_and_stacks() {
        let (config, _) = with_session(&peers, stack, true);
        let script = peers.rejecting().accepting_early_data();
        let outcome = run_early(&peers, &config, &script).conversation.outcome;
        let error = PeerMisbehaved::EarlyDataExtensionWithoutResumption;
        let expected = refused(error, Alert::UnsupportedExtension);
        assert_eq!(outcome.error, expected.error, "{stack:?}");
        if stack.is_ours() {
            assert_eq!(outcome.alert, expected.alert);
        }
    }
}

/// No early data reaches the public server, and the client stores no session from it.
#[test]
fn a_rejecting_server_gets_no_early_data() {
    for (peers, stack) in peers_and_stacks() {
        for early in [false, true] {
            let (config, _) = with_session(&peers, stack, early);
            let mut script = peers.rejecting();
            script.post_handshake = vec![new_session_ticket(TICKET, &ALLOWS_EARLY_DATA)];
            let script = answering(script, ECH, &peers.key.config.list());
            let run = run_early(&peers, &config, &script);
            let error = run.conversation.outcome.error.as_deref().unwrap();
            let start = "PeerIncompatible(ServerRejectedEncryptedClientHello(Some([";
            assert!(error.starts_with(start), "{error}");
            assert_eq!(run.conversation.early_data, b"");
            assert!(!contains(&run.conversation.sent, EARLY));
            assert_eq!(run.client.tickets_received(), 0);

            let run = peers.run_with(&config, &peers.accepting());
            run.assert_accepted();
            let inner = &run.conversation.opened[0].inner;
            assert_eq!(inner.extension(PRE_SHARED_KEY), None);
        }
    }
}

/// RFC 9849 §6.2.1: a GREASE client may resume a session that was created without GREASE.
#[test]
fn a_grease_client_resumes_a_session() {
    for (peers, stack) in peers_and_stacks() {
        for retry in [false, true] {
            let config = stack.config(&peers.greasing()).unwrap();
            let mut script = Script::new();
            script.post_handshake = vec![new_session_ticket(TICKET, &ALLOWS_EARLY_DATA)];
            let run = peers.run_with(&config, &script);
            let psk = run.conversation.ticket_psk(b"nonce");
            let mut script = Script::resuming(psk);
            if retry {
                script = with_retry_of(script, Script::with_retry());
            }
            let run = peers.run_with(&config, &script);
            assert_eq!(run.conversation.outcome, ACCEPTED);
            run.assert_status("Grease");
            let types = run.outer()[0].extension_types();
            assert_eq!(types.last(), Some(&PRE_SHARED_KEY));
            assert!(types.contains(&ECH));
        }
    }
}
