//! Accepted ECH: the handshake uses ClientHelloInner.

use harness::peers::configs::{PROVIDERS, product};
use harness::scripted::ech::{EchKey, SUITES};
use harness::scripted::{Script, bytes};
use harness::wire::client_hello::{ALPN, host_name, protocols};
use rustls::{
    AlertDescription as Alert, CertificateError, Error, HandshakeType, InvalidMessage,
    PeerMisbehaved,
};

use crate::clients::stacks;
use crate::kit::{
    ACCEPTED, DATA, ECH, PUBLIC, Peers, SECRET, accepting_retry, cannot_read, contains,
    not_valid_for, refused,
};

#[test]
fn every_suite_of_hpke() {
    for (provider, suite) in product(PROVIDERS, SUITES) {
        let peers = Peers::with_key(provider, EchKey::new(0, PUBLIC, suite));
        for stack in stacks() {
            for script in [Script::new(), accepting_retry()] {
                let run = peers.run(stack, &peers.setup(), &peers.to_accept(script));
                run.assert_accepted();
                for opened in &run.conversation.opened {
                    assert_eq!(
                        opened.inner.extension(0),
                        Some(&host_name(SECRET.as_bytes())[..])
                    );
                    assert_eq!(
                        opened.outer.extension(0),
                        Some(&host_name(PUBLIC.as_bytes())[..])
                    );
                }
            }
        }
    }
}

/// The confirmation uses the hash function of the suite that the server chooses.
#[test]
fn every_suite_of_tls13() {
    for peers in PROVIDERS.map(Peers::new) {
        for suite in [0x1301, 0x1302, 0x1303] {
            for mut script in [Script::new(), accepting_retry()] {
                script.server_hello.suite = suite;
                script
                    .retries
                    .iter_mut()
                    .for_each(|retry| retry.suite = suite);
                for stack in stacks() {
                    let run = peers.run(stack, &peers.setup(), &peers.to_accept(script.clone()));
                    run.assert_accepted();
                }
            }
        }
    }
}

#[test]
fn alpn_uses_the_inner_hello() {
    for peers in PROVIDERS.map(Peers::new) {
        let mut setup = peers.setup();
        setup.alpn = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut script = peers.accepting();
        script
            .encrypted_extensions
            .push(bytes(ALPN, &protocols(&[b"http/1.1"])));
        for stack in stacks() {
            let run = peers.run(stack, &setup, &script);
            run.assert_accepted();
            assert!(run.client.negotiated().contains("Some([104, 116, 116, 112"));
            let inner = &run.conversation.opened[0].inner;
            assert_eq!(
                inner.extension(ALPN),
                Some(&protocols(&[b"h2", b"http/1.1"])[..])
            );
        }
    }
}

#[test]
fn a_client_authenticates() {
    for peers in PROVIDERS.map(Peers::new) {
        let mut setup = peers.setup();
        setup.client_auth = Some(peers.client.clone());
        let script = peers.to_accept(Script::with_request());
        for stack in stacks() {
            let run = peers.run(stack, &setup, &script);
            run.assert_accepted();
            let flight = &run.conversation.messages[1..];
            let types: Vec<HandshakeType> =
                flight.iter().map(|message| message[0].into()).collect();
            assert_eq!(
                types,
                [
                    HandshakeType::Certificate,
                    HandshakeType::CertificateVerify,
                    HandshakeType::Finished
                ]
            );
            assert!(contains(&flight[0], &peers.client.0));
        }
    }
}

#[test]
fn the_server_is_known_by_the_inner_name() {
    for peers in PROVIDERS.map(Peers::new) {
        let mut script = peers.accepting();
        script.certificates[0].0 = Some(peers.public_certificate.to_vec());
        peers.refused_by_both(
            &script,
            not_valid_for(SECRET, PUBLIC),
            Alert::BadCertificate,
        );
    }
}

/// RFC 9849 §5: an accepting server must not send retry configurations.
#[test]
fn retry_configs_are_refused_after_acceptance() {
    for peers in PROVIDERS.map(Peers::new) {
        let lists = [peers.key.config.list(), vec![], vec![0, 1]];
        for script in [Script::new(), accepting_retry()] {
            for list in &lists {
                let mut script = peers.to_accept(script.clone());
                script.encrypted_extensions.push(bytes(ECH, list));
                if list.len() < 4 {
                    // malformed as well, so either reason is correct
                    for stack in stacks() {
                        let run = peers.run(stack, &peers.setup(), &script);
                        assert!(run.conversation.outcome.error.is_some());
                    }
                    continue;
                }
                peers.refused_by_both(
                    &script,
                    PeerMisbehaved::UnsolicitedEchExtension,
                    Alert::UnsupportedExtension,
                );
            }
        }
    }
}

/// A single wrong bit invalidates the confirmation. The client continues with ClientHelloOuter and
/// cannot decrypt the server's messages.
#[test]
fn every_bit_of_the_confirmation_counts() {
    let peers = Peers::new(PROVIDERS[0]);
    for bit in 0..64 {
        let mut script = peers.accepting();
        script.corrupt = std::sync::Arc::new(move |position, message| {
            if position == 0 {
                message[4 + 2 + 24 + bit / 8] ^= 1 << (bit % 8);
            }
        });
        peers.expect(&peers.setup(), &script, &cannot_read(), &cannot_read());
    }
}

/// The server chooses the bytes before the last eight, and the confirmation covers them.
#[test]
fn the_confirmation_covers_the_hello() {
    let peers = Peers::new(PROVIDERS[0]);
    for at in [4, 4 + 2, 4 + 2 + 23] {
        let mut script = peers.accepting();
        script.corrupt = std::sync::Arc::new(move |position, message| {
            if position == 0 && at != 4 {
                message[at] ^= 1;
            }
        });
        for stack in stacks() {
            let run = peers.run(stack, &peers.setup(), &script);
            let expected = if at == 4 { ACCEPTED } else { cannot_read() };
            assert_eq!(run.conversation.outcome, expected);
        }
    }
}

#[test]
fn each_client_hello_is_new() {
    let peers = Peers::new(PROVIDERS[0]);
    for stack in stacks() {
        let config = stack.config(&peers.setup()).unwrap();
        let runs = [(); 2].map(|()| peers.run_with(&config, &peers.accepting()));
        let [first, second] = runs.each_ref().map(|run| &run.conversation.opened[0]);
        assert_ne!(first.outer.random, second.outer.random);
        assert_ne!(first.inner.random, second.inner.random);
        assert_ne!(first.outer.session_id, second.outer.session_id);
        assert_ne!(first.extension.enc, second.extension.enc);
        assert_eq!(runs[0].conversation.plaintext, DATA);
    }
}

#[test]
fn a_flawed_server_is_still_refused() {
    let peers = Peers::new(PROVIDERS[0]);
    let mut script = peers.accepting();
    script.flip_signature = true;
    peers.refused_by_both(
        &script,
        Error::InvalidCertificate(CertificateError::BadSignature),
        Alert::DecryptError,
    );
    let mut script = peers.accepting();
    script.edit_verify_data = |data| data[0] ^= 1;
    peers.refused_by_both(&script, Error::DecryptError, Alert::DecryptError);
}

/// RFC 9849 §11.1: the extension is allowed in certain messages only.
#[test]
fn the_extension_is_in_no_other_message() {
    for peers in PROVIDERS.map(Peers::new) {
        let extension = bytes(ECH, &peers.key.config.list());

        let mut script = peers.accepting();
        script.server_hello.extensions.push(extension.clone());
        // RFC 9846 §4.3: a known extension in the wrong message is an illegal_parameter
        let unexpected = PeerMisbehaved::UnexpectedCleartextExtension;
        peers.expect(
            &peers.setup(),
            &script,
            &refused(unexpected.clone(), Alert::IllegalParameter),
            &refused(unexpected, Alert::UnsupportedExtension),
        );

        let mut script = peers.accepting();
        script.certificates[0].1.push(extension.clone());
        let unknown = InvalidMessage::UnknownCertificateExtension;
        peers.expect(
            &peers.setup(),
            &script,
            &refused(unknown, Alert::UnsupportedExtension),
            &refused(unknown, Alert::DecodeError),
        );

        let mut script = peers.to_accept(Script::with_request());
        script.request_extensions.push(extension);
        // upstream ignores it
        let unexpected = PeerMisbehaved::DisallowedEncryptedExtension;
        let ours = refused(unexpected, Alert::IllegalParameter);
        peers.expect(&peers.setup(), &script, &ours, &ACCEPTED);
    }
}
