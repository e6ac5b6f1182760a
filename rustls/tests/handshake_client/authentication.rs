//! CertificateRequest, Certificate, CertificateVerify and Finished: RFC 9846 §4.4.2 and §4.5.

use std::sync::{Arc, Mutex};

use harness::peers::callbacks::this::ClientKey;
use harness::peers::configs::Versions;
use harness::peers::endpoints::Endpoint;
use harness::scripted::{Extension, Outcome, Script, bytes};
use harness::verifiers::this::Verifier;
use harness::wire;
use rustls::{
    AlertDescription as Alert, CertificateError, ContentType, Error, InvalidMessage,
    PeerIncompatible, PeerMisbehaved, SignatureScheme,
};

use crate::handshake_client::clients::{Recorded, config, our_client, provider};
use crate::handshake_client::{
    ACCEPTED, Peers, illegal, refused, script, undecodable, unexpected, unsupported,
};

fn request(change: impl FnOnce(&mut Script)) -> Script {
    let mut script = Script::with_request();
    change(&mut script);
    script
}

#[test]
fn a_request_has_no_context_during_the_handshake() {
    let peers = Peers::new();
    peers.both_accept(&Script::with_request());
    peers.both_refuse(
        &request(|script| script.request_context = vec![1]),
        undecodable(InvalidMessage::InvalidCertRequest),
    );
}

#[test]
fn a_request_names_schemes_for_certificate_verify() {
    let peers = Peers::new();
    let none_in_common = PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon;
    // the extension is mandatory
    peers.both_refuse_alerting(
        &request(|script| script.request_extensions = vec![]),
        refused(none_in_common.clone(), Alert::MissingExtension),
        Alert::HandshakeFailure,
    );
    // RSASSA-PKCS1-v1_5 with SHA-256 and SHA-1
    peers.both_refuse(
        &request(|script| script.request_extensions = vec![bytes(13, &[0, 4, 4, 1, 2, 1])]),
        refused(none_in_common, Alert::HandshakeFailure),
    );
    peers.both_refuse(
        &request(|script| script.request_extensions = vec![bytes(13, &[0, 0])]),
        undecodable(InvalidMessage::NoSignatureSchemes),
    );
    // an unknown scheme
    peers.both_accept(&request(|script| {
        script.request_extensions = vec![bytes(13, &[0, 2, 0x12, 0x34])];
    }));
}

#[test]
fn extensions_of_a_request() {
    let peers = Peers::new();
    let with = |extension: Extension| request(|script| script.request_extensions.push(extension));
    // unknown, status_request, oid_filters, signature_algorithms_cert, empty
    // certificate_authorities
    for extension in [
        bytes(0xfafa, &[]),
        bytes(5, &[]),
        bytes(48, &[0, 0]),
        bytes(50, &[0, 2, 4, 3]),
        bytes(47, &[0, 0]),
    ] {
        peers.both_accept(&with(extension));
    }
    peers.both_refuse(
        &with(bytes(13, &[0, 2, 4, 3])),
        illegal(InvalidMessage::DuplicateExtension(13)),
    );
    // ALPN, key_share
    for extension in [
        bytes(16, &[0, 3, 2, b'h', b'2']),
        bytes(51, &[0, 29, 0, 1, 1]),
    ] {
        peers.only_we_refuse(
            &with(extension),
            illegal(PeerMisbehaved::DisallowedEncryptedExtension),
        );
    }
}

#[test]
fn a_certificate_message_has_no_context() {
    Peers::new().both_refuse(
        &script(|script| script.certificate_context = vec![1]),
        undecodable(InvalidMessage::InvalidCertRequest),
    );
}

#[test]
fn a_server_has_a_certificate() {
    let peers = Peers::new();
    let empty = script(|script| script.certificates.clear());
    // upstream sends no alert
    assert_eq!(
        peers.ours(&empty),
        undecodable(Error::NoCertificatesPresented)
    );
    assert_eq!(peers.theirs(&empty).error, peers.ours(&empty).error);
}

#[test]
fn empty_certificates_are_refused() {
    let peers = Peers::new();
    let empty = |at: usize| {
        let entry = (Some(Vec::new()), Vec::new());
        script(|script| script.certificates.insert(at, entry))
    };
    // RFC 9846 §6.2: a length out of range is a decode_error. Upstream looks for a path with an
    // empty issuer
    peers.only_we_refuse(&empty(1), undecodable(InvalidMessage::IllegalEmptyValue));
    assert_eq!(
        peers.ours(&empty(0)),
        undecodable(InvalidMessage::IllegalEmptyValue)
    );
}

#[test]
fn extensions_of_a_certificate() {
    let peers = Peers::new();
    let with = |extension| script(|script| script.certificates[0].1 = vec![extension]);
    peers.both_accept(&with(bytes(5, &[1, 0, 0, 1, 1])));
    // unknown, signed_certificate_timestamp, server_name
    for extension in [
        bytes(0xfafa, &[]),
        bytes(18, &[0, 3, 0, 1, 1]),
        bytes(0, &[]),
    ] {
        peers.both_refuse_alerting(
            &with(extension),
            unsupported(InvalidMessage::UnknownCertificateExtension),
            Alert::DecodeError,
        );
    }
    peers.both_refuse(
        &with(bytes(5, &[2, 0, 0, 1, 1])),
        undecodable(InvalidMessage::InvalidCertificateStatusType),
    );
}

#[test]
fn the_end_entity_certificate_is_always_parsed() {
    let peers = Peers::new();
    peers.both_refuse(
        &script(|script| script.certificates[0].0 = Some(vec![1, 2, 3])),
        refused(CertificateError::BadEncoding, Alert::BadCertificate),
    );
    peers.both_accept(&script(|script| {
        script.certificates.push((Some(vec![1, 2, 3]), vec![]));
    }));
}

#[test]
fn the_certificate_is_judged_before_the_signature() {
    let peers = Peers::new();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".into()]).unwrap();
    let name = &mut params.distinguished_name;
    name.push(rcgen::DnType::CommonName, "somebody else");
    let key = rcgen::KeyPair::generate().unwrap();
    let other = params.self_signed(&key).unwrap().der().clone();
    let script = script(|script| {
        script.certificates[0].0 = Some(other.to_vec());
        script.flip_signature = true;
    });
    peers.both_refuse(
        &script,
        refused(CertificateError::UnknownIssuer, Alert::UnknownCA),
    );
}

#[test]
fn the_signature_must_verify() {
    Peers::new().both_refuse(
        &script(|script| script.flip_signature = true),
        refused(CertificateError::BadSignature, Alert::DecryptError),
    );
}

#[test]
fn the_scheme_must_be_one_offered_for_certificate_verify() {
    let peers = Peers::new();
    for scheme in [
        SignatureScheme::RSA_PKCS1_SHA256,
        SignatureScheme::ECDSA_SHA1_Legacy,
        SignatureScheme::ED448,
        SignatureScheme::Unknown(0x1234),
    ] {
        peers.both_refuse(
            &script(|script| script.scheme = Some(scheme)),
            illegal(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme),
        );
    }
}

#[test]
fn the_scheme_must_fit_the_key() {
    let peers = Peers::new();
    for scheme in [
        SignatureScheme::RSA_PSS_SHA256,
        SignatureScheme::ECDSA_NISTP384_SHA384,
    ] {
        let script = script(|script| script.scheme = Some(scheme));
        let ours = peers.ours(&script);
        assert_eq!(ours.alert, Some(Alert::DecryptError));
        assert_eq!(ours, peers.theirs(&script));
    }
}

#[test]
fn finished_must_verify() {
    let peers = Peers::new();
    peers.both_refuse(
        &script(|script| script.edit_verify_data = |verify_data| verify_data[0] ^= 1),
        refused(Error::DecryptError, Alert::DecryptError),
    );
}

/// RFC 9846 §6.2: a message of incorrect length is a decode_error.
#[test]
fn finished_must_be_as_long_as_the_hash() {
    let peers = Peers::new();
    let refuses = |edit: fn(&mut Vec<u8>), error| {
        let script = script(|script| script.edit_verify_data = edit);
        assert_eq!(peers.ours(&script), undecodable(error));
        assert_eq!(
            peers.theirs(&script),
            refused(Error::DecryptError, Alert::DecryptError)
        );
    };
    refuses(Vec::clear, InvalidMessage::MissingData("Finished"));
    refuses(
        |verify_data| verify_data.truncate(31),
        InvalidMessage::MissingData("Finished"),
    );
    refuses(
        |verify_data| verify_data.push(0),
        InvalidMessage::TrailingData("Finished"),
    );
}

#[test]
fn nothing_may_follow_finished_in_its_record() {
    let peers = Peers::new();
    // a KeyUpdate, and the first byte of one
    for rest in [vec![24, 0, 0, 1, 0], vec![24]] {
        peers.both_refuse(
            &script(|script| script.after_finished = rest),
            unexpected(PeerMisbehaved::KeyEpochWithPendingFragment),
        );
    }
}

#[test]
fn a_finished_with_trailing_bytes_is_not_answered() {
    let peers = Peers::new();
    let mut client = Recorded::new(our_client(config(&peers.identity, provider())));
    let script = script(|script| script.after_finished = vec![24]);
    let outcome = peers.identity.run(&mut client, &script);
    assert_eq!(outcome.alert, Some(Alert::UnexpectedMessage));
    assert!(client.is_handshaking());
    // under the handshake keys: a single record with the alert
    let protected = client.sent.concat();
    let protected = wire::records(&protected).into_iter();
    let protected = protected.filter(|record| record.typ == ContentType::ApplicationData.into());
    assert_eq!(protected.count(), 1);
}

/// Runs a client that accepts everything, and returns its verifier's arguments.
fn lax(script: &Script) -> (Outcome, Vec<String>) {
    let peers = Peers::new();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (of_certificate, of_signature) = (asked.clone(), asked.clone());
    let schemes = [
        SignatureScheme::ECDSA_NISTP256_SHA256,
        SignatureScheme::RSA_PKCS1_SHA256,
        SignatureScheme::Unknown(0xfe00),
    ];
    let verifier = Verifier::accepting(Versions::Tls13, &schemes)
        .with_certificates(move |it| {
            of_certificate.lock().unwrap().push(format!(
                "chain {} {:?} {} {:?}",
                it.end_entity.len(),
                it.intermediates,
                it.server_name.unwrap().to_str(),
                it.ocsp_response
            ));
            Ok(())
        })
        .with_signatures(move |it| {
            of_signature.lock().unwrap().push(format!(
                "signature {} {} {:?}",
                it.message.len(),
                it.signer.len(),
                it.signature.scheme
            ));
            Ok(())
        });
    let mut config = config(&peers.identity, provider());
    config
        .dangerous()
        .set_certificate_verifier(Arc::new(verifier));
    let outcome = peers.identity.run(&mut our_client(config), script);
    let asked = asked.lock().unwrap().clone();
    (outcome, asked)
}

#[test]
fn the_verifier_gets_the_server_s_messages() {
    let script = script(|script| {
        script.certificates = vec![
            (Some(vec![7; 5]), vec![bytes(5, &[1, 0, 0, 2, 8, 9])]),
            (Some(vec![6]), vec![bytes(5, &[1, 0, 0, 1, 1])]),
        ];
    });
    let (outcome, asked) = lax(&script);
    assert_eq!(outcome, ACCEPTED);
    assert_eq!(
        asked,
        [
            "chain 5 [CertificateDer(0x06)] localhost [8, 9]",
            "signature 130 5 ECDSA_NISTP256_SHA256",
        ]
    );
}

#[test]
fn a_lax_verifier_never_sees_invalid_schemes() {
    let with = |scheme| script(|script| script.scheme = Some(scheme));
    let refused = illegal(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme);
    for (scheme, accepted) in [
        (SignatureScheme::ECDSA_NISTP256_SHA256, true),
        // for private use, but offered
        (SignatureScheme::Unknown(0xfe00), true),
        // offered for certificates only
        (SignatureScheme::RSA_PKCS1_SHA256, false),
        // not offered
        (SignatureScheme::ECDSA_NISTP384_SHA384, false),
    ] {
        let (outcome, asked) = lax(&with(scheme));
        let expected = if accepted { &ACCEPTED } else { &refused };
        assert_eq!(outcome, *expected, "{scheme:?}");
        assert_eq!(asked.len(), 1 + usize::from(accepted), "{scheme:?}");
    }
}

#[test]
fn the_resolver_gets_the_server_s_request() {
    let peers = Peers::new();
    let resolver = ClientKey::new(None);
    let mut config = config(&peers.identity, provider());
    config.client_auth_cert_resolver = resolver.clone();
    let config = Arc::new(config);

    let outcome = peers
        .identity
        .run(&mut our_client(config.clone()), &Script::new());
    assert_eq!(outcome, ACCEPTED);
    assert!(resolver.asked().is_empty());

    let script = request(|script| {
        script.request_extensions = vec![
            bytes(47, &[0, 6, 0, 1, b'a', 0, 1, b'b']),
            bytes(13, &[0, 6, 4, 1, 8, 4, 4, 3]),
        ];
    });
    assert_eq!(
        peers.identity.run(&mut our_client(config), &script),
        ACCEPTED
    );
    assert_eq!(
        resolver.asked(),
        [(vec![b"a".to_vec(), b"b".to_vec()], vec![0x0804, 0x0403])]
    );
}
