//! Tests of accepted ECH: the handshake uses ClientHelloInner.

use harness::peers::configs::{PROVIDERS, product};
use harness::scripted::ech::{EchKey, SUITES};
use harness::scripted::{Script, bytes};
use harness::wire::client_hello::{ALPN, host_name, protocols};
use rustls::{
    AlertDescription as Alert, CertificateError, Error, HandshakeType, InvalidMessage,
    PeerMisbehaved,
};

use crate::ech::clients::stacks;
use crate::ech::kit::{
    ACCEPTED, DATA, ECH, PUBLIC, Peers, SECRET, accepting_retry, answering, contains,
    not_valid_for, refused,
};

#[test]
fn every_hpke_suite_works() {
    for (provider, suite) in product(PROVIDERS, SUITES) {
        let peers = Peers::with_key(provider, EchKey::new(0, PUBLIC, suite));
        let [secret, public] = [SECRET, PUBLIC].map(|name| host_name(name.as_bytes()));
        for script in [Script::new(), accepting_retry()] {
            for run in peers.accepted(&peers.setup(), &peers.to_accept(script)) {
                for opened in &run.conversation.opened {
                    assert_eq!(opened.inner.extension(0), Some(&secret[..]));
                    assert_eq!(opened.outer.extension(0), Some(&public[..]));
                }
            }
        }
    }
}

/// The confirmation uses the hash function of the suite that the server chooses.
#[test]
fn every_tls13_suite_works() {
    for peers in PROVIDERS.map(Peers::new) {
        for suite in [0x1301, 0x1302, 0x1303] {
            for mut script in [Script::new(), accepting_retry()] {
                script.server_hello.suite = suite;
                let retries = script.retries.iter_mut();
                retries.for_each(|retry| retry.suite = suite);
                peers.accepted(&peers.setup(), &peers.to_accept(script));
            }
        }
    }
}

#[test]
fn the_protocol_is_negotiated_from_the_inner_hello() {
    for peers in PROVIDERS.map(Peers::new) {
        let mut setup = peers.setup();
        setup.alpn = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let script = answering(peers.accepting(), ALPN, &protocols(&[b"http/1.1"]));
        let offered = protocols(&[b"h2", b"http/1.1"]);
        for run in peers.accepted(&setup, &script) {
            assert!(run.client.negotiated().contains("Some([104, 116, 116, 112"));
            let inner = &run.conversation.opened[0].inner;
            assert_eq!(inner.extension(ALPN), Some(&offered[..]));
        }
    }
}

#[test]
fn a_client_can_authenticate_to_the_inner_server() {
    use HandshakeType::{Certificate, CertificateVerify, Finished};

    for peers in PROVIDERS.map(Peers::new) {
        let mut setup = peers.setup();
        setup.client_auth = Some(peers.client.clone());
        let script = peers.to_accept(Script::with_request());
        for run in peers.accepted(&setup, &script) {
            let flight = &run.conversation.messages[1..];
            let types = flight.iter().map(|message| message[0].into());
            assert_eq!(
                types.collect::<Vec<HandshakeType>>(),
                [Certificate, CertificateVerify, Finished]
            );
            assert!(contains(&flight[0], &peers.client.0));
        }
    }
}

#[test]
fn the_certificate_is_verified_for_the_inner_name() {
    for peers in PROVIDERS.map(Peers::new) {
        let mut script = peers.accepting();
        script.certificates[0].0 = Some(peers.public_certificate.to_vec());
        let error = not_valid_for(SECRET, PUBLIC);
        peers.refused_by_both(&script, error, Alert::BadCertificate);
    }
}

/// RFC 9849 §5: an accepting server must not send retry configurations.
#[test]
fn retry_configs_are_refused_after_acceptance() {
    for peers in PROVIDERS.map(Peers::new) {
        let lists = [peers.key.config.list(), vec![], vec![0, 1]];
        for script in [Script::new(), accepting_retry()] {
            for list in &lists {
                let script = answering(peers.to_accept(script.clone()), ECH, list);
                if list.len() < 4 {
                    // the extension is also malformed, so either reason is correct
                    for stack in stacks() {
                        let run = peers.run(stack, &peers.setup(), &script);
                        assert!(run.conversation.outcome.error.is_some());
                    }
                    continue;
                }
                let error = PeerMisbehaved::UnsolicitedEchExtension;
                peers.refused_by_both(&script, error, Alert::UnsupportedExtension);
            }
        }
    }
}

#[test]
fn each_client_hello_differs_from_all_others() {
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
fn a_wrong_signature_or_finished_is_still_refused() {
    let peers = Peers::new(PROVIDERS[0]);
    let mut script = peers.accepting();
    script.flip_signature = true;
    let error = Error::InvalidCertificate(CertificateError::BadSignature);
    peers.refused_by_both(&script, error, Alert::DecryptError);
    let mut script = peers.accepting();
    script.edit_verify_data = |data| data[0] ^= 1;
    peers.refused_by_both(&script, Error::DecryptError, Alert::DecryptError);
}

/// RFC 9849 §11.1: the extension is allowed in certain messages only.
#[test]
fn the_ech_extension_is_refused_in_other_messages() {
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
        // upstream ignores the extension
        let unexpected = PeerMisbehaved::DisallowedEncryptedExtension;
        let ours = refused(unexpected, Alert::IllegalParameter);
        peers.expect(&peers.setup(), &script, &ours, &ACCEPTED);
    }
}
