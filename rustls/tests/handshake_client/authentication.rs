//! CertificateRequest, Certificate, CertificateVerify and Finished: RFC 9846 §4.4.2 and §4.5.

use std::sync::{Arc, Mutex};

use harness::peers::callbacks::this::ClientKey;
use harness::peers::configs::Versions;
use harness::peers::endpoints::Endpoint;
use harness::scripted::{Outcome, Script, bytes};
use harness::verifiers::this::Verifier;
use harness::{table, wire};
use rustls::CertificateError::{BadEncoding, BadSignature, UnknownIssuer};
use rustls::PeerMisbehaved::*;
use rustls::{AlertDescription as Alert, ContentType, Error, InvalidMessage, SignatureScheme};

use crate::handshake_client::clients::{config, our_client, provider};
use crate::handshake_client::{ACCEPTED, Peers, illegal, refused, script, undecodable, unexpected};

fn request(change: impl FnOnce(&mut Script)) -> Script {
    let mut script = Script::with_request();
    change(&mut script);
    script
}

#[test]
fn extensions_must_be_allowed_in_a_certificate_request() {
    let with = |typ, body: &[u8]| request(|it| it.request_extensions.push(bytes(typ, body)));
    Peers::new().only_we_refuse(table! {
        "ALPN": with(16, &[0, 3, 2, b'h', b'2']), illegal(DisallowedEncryptedExtension);
        "key_share": with(51, &[0, 29, 0, 1, 1]), illegal(DisallowedEncryptedExtension);
    });
}

#[test]
fn a_server_must_send_a_certificate_and_empty_contexts() {
    let peers = Peers::new();
    let of_certificate = script(|script| script.certificate_context = vec![1]);
    let of_request = request(|script| script.request_context = vec![1]);
    peers.both_refuse(table! {
        "of a certificate": of_certificate, undecodable(InvalidMessage::InvalidCertRequest);
        "of a request": of_request, undecodable(InvalidMessage::InvalidCertRequest);
    });
    let none = script(|script| script.certificates.clear());
    // upstream sends no alert
    let missing = undecodable(Error::NoCertificatesPresented);
    assert_eq!(peers.ours(&none), missing);
    assert_eq!(peers.theirs(&none).error, peers.ours(&none).error);
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
    let empty_value = || undecodable(InvalidMessage::IllegalEmptyValue);
    peers.only_we_refuse(table! { "at the end": empty(1), empty_value(); });
    peers.we_refuse(table! { "first": empty(0), empty_value(); });
}

#[test]
fn the_certificate_is_verified_before_the_signature() {
    let peers = Peers::new();
    let garbage = Some(vec![1, 2, 3]);
    // only the end entity's certificate is always parsed
    let last = script(|script| script.certificates.push((garbage.clone(), vec![])));
    peers.both_accept([last]);

    let mut params = rcgen::CertificateParams::new(vec!["localhost".into()]).unwrap();
    let name = &mut params.distinguished_name;
    name.push(rcgen::DnType::CommonName, "somebody else");
    let key = rcgen::KeyPair::generate().unwrap();
    let other = params.self_signed(&key).unwrap().der().to_vec();
    let with = |certificate, flip_signature| {
        script(|script| {
            script.certificates[0].0 = certificate;
            script.flip_signature = flip_signature;
        })
    };
    peers.both_refuse(table! {
        "garbage": with(garbage, false), refused(BadEncoding, Alert::BadCertificate);
        "another's": with(Some(other), true), refused(UnknownIssuer, Alert::UnknownCA);
        "a wrong signature": with(None, true), refused(BadSignature, Alert::DecryptError);
    });
}

#[test]
fn nothing_may_follow_finished_in_its_record() {
    let followed_by = |rest: &[u8]| script(|script| script.after_finished = rest.to_vec());
    let key_update = followed_by(&[24, 0, 0, 1, 0]);
    Peers::new().both_refuse(table! {
        "a KeyUpdate": key_update, unexpected(KeyEpochWithPendingFragment);
        "the start of one": followed_by(&[24]), unexpected(KeyEpochWithPendingFragment);
    });
}

#[test]
fn a_finished_with_trailing_bytes_is_not_answered() {
    let peers = Peers::new();
    let mut client = our_client(config(&peers.identity, provider()));
    let script = script(|script| script.after_finished = vec![24]);
    let conversation = peers.identity.converse(&mut client, &script);
    assert_eq!(conversation.outcome.alert, Some(Alert::UnexpectedMessage));
    assert!(client.is_handshaking());
    // a single record with the alert, encrypted with the handshake keys
    let protected = wire::records(&conversation.sent).into_iter();
    let protected = protected.filter(|record| record.typ == ContentType::ApplicationData.into());
    assert_eq!(protected.count(), 1);
}

/// Runs a client that accepts everything, and returns its verifier's arguments.
fn lax(script: &Script) -> (Outcome, Vec<String>) {
    let peers = Peers::new();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (of_certificate, of_signature) = (calls.clone(), calls.clone());
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
    let calls = calls.lock().unwrap().clone();
    (outcome, calls)
}

#[test]
fn the_verifier_gets_the_contents_of_the_servers_messages() {
    let script = script(|script| {
        script.certificates = vec![
            (Some(vec![7; 5]), vec![bytes(5, &[1, 0, 0, 2, 8, 9])]),
            (Some(vec![6]), vec![bytes(5, &[1, 0, 0, 1, 1])]),
        ];
    });
    let (outcome, calls) = lax(&script);
    assert_eq!(outcome, ACCEPTED);
    assert_eq!(
        calls,
        [
            "chain 5 [CertificateDer(0x06)] localhost [8, 9]",
            "signature 130 5 ECDSA_NISTP256_SHA256",
        ]
    );
}

#[test]
fn a_lax_verifier_never_sees_invalid_schemes() {
    let with = |scheme| script(|script| script.scheme = Some(scheme));
    let refused = illegal(SignedHandshakeWithUnadvertisedSigScheme);
    for (scheme, accepted) in [
        (SignatureScheme::ECDSA_NISTP256_SHA256, true),
        // a scheme for private use that was offered
        (SignatureScheme::Unknown(0xfe00), true),
        // a scheme that was only offered for certificates
        (SignatureScheme::RSA_PKCS1_SHA256, false),
        // a scheme that was not offered
        (SignatureScheme::ECDSA_NISTP384_SHA384, false),
    ] {
        let (outcome, calls) = lax(&with(scheme));
        let expected = if accepted { &ACCEPTED } else { &refused };
        assert_eq!(outcome, *expected, "{scheme:?}");
        assert_eq!(calls.len(), 1 + usize::from(accepted), "{scheme:?}");
    }
}

#[test]
fn the_resolver_gets_the_contents_of_the_certificate_request() {
    let peers = Peers::new();
    let resolver = ClientKey::new(None);
    let mut config = config(&peers.identity, provider());
    config.client_auth_cert_resolver = resolver.clone();
    let config = Arc::new(config);

    let run = |script: &Script| {
        let mut client = our_client(config.clone());
        assert_eq!(peers.identity.run(&mut client, script), ACCEPTED);
        resolver.calls()
    };
    assert!(run(&Script::new()).is_empty());
    let script = request(|script| {
        script.request_extensions = vec![
            bytes(47, &[0, 6, 0, 1, b'a', 0, 1, b'b']),
            bytes(13, &[0, 6, 4, 1, 8, 4, 4, 3]),
        ];
    });
    let names = vec![b"a".to_vec(), b"b".to_vec()];
    assert_eq!(run(&script), [(names, vec![0x0804, 0x0403])]);
}
