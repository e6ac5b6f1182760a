//! CertificateRequest, Certificate, CertificateVerify and Finished: RFC 9846 §4.4.2 and §4.5.

use std::vec;
use std::vec::Vec;

use super::scripted_server::{Extension, Script, bytes};
use super::{Peers, refused, script};
use crate::enums::{AlertDescription as Alert, SignatureScheme};
use crate::error::{CertificateError, Error, InvalidMessage, PeerIncompatible, PeerMisbehaved};

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
        InvalidMessage::InvalidCertRequest,
        Alert::DecodeError,
    );
}

#[test]
fn a_request_names_schemes_for_certificate_verify() {
    let peers = Peers::new();
    let none_in_common = PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon;
    // none; RSASSA-PKCS1-v1_5 with SHA-256 and SHA-1
    for extensions in [vec![], vec![bytes(13, &[0, 4, 4, 1, 2, 1])]] {
        peers.both_refuse(
            &request(|script| script.request_extensions = extensions),
            none_in_common.clone(),
            Alert::HandshakeFailure,
        );
    }
    peers.both_refuse(
        &request(|script| script.request_extensions = vec![bytes(13, &[0, 0])]),
        InvalidMessage::NoSignatureSchemes,
        Alert::DecodeError,
    );
    // one that is not known
    peers.both_accept(&request(|script| {
        script.request_extensions = vec![bytes(13, &[0, 2, 0x12, 0x34])];
    }));
}

#[test]
fn extensions_of_a_request() {
    let peers = Peers::new();
    let with = |extension: Extension| request(|script| script.request_extensions.push(extension));
    // unknown, status_request, oid_filters, signature_algorithms_cert, empty certificate_authorities
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
        InvalidMessage::DuplicateExtension(13),
        Alert::IllegalParameter,
    );
    // ALPN, key_share
    for extension in [
        bytes(16, &[0, 3, 2, b'h', b'2']),
        bytes(51, &[0, 29, 0, 1, 1]),
    ] {
        peers.only_we_refuse(
            &with(extension),
            PeerMisbehaved::DisallowedEncryptedExtension,
            Alert::IllegalParameter,
        );
    }
}

#[test]
fn a_certificate_message_has_no_context() {
    Peers::new().both_refuse(
        &script(|script| script.certificate_context = vec![1]),
        InvalidMessage::InvalidCertRequest,
        Alert::DecodeError,
    );
}

#[test]
fn a_server_has_a_certificate() {
    let peers = Peers::new();
    let empty = script(|script| script.certificates.clear());
    // rustls 0.23 sends no alert
    assert_eq!(
        peers.ours(&empty),
        refused(Error::NoCertificatesPresented, Alert::DecodeError)
    );
    assert_eq!(peers.theirs(&empty).error, peers.ours(&empty).error);
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
        peers.both_refuse(
            &with(extension),
            InvalidMessage::UnknownCertificateExtension,
            Alert::DecodeError,
        );
    }
    peers.both_refuse(
        &with(bytes(5, &[2, 0, 0, 1, 1])),
        InvalidMessage::InvalidCertificateStatusType,
        Alert::DecodeError,
    );
}

#[test]
fn the_end_entity_certificate_is_parsed_and_others_if_they_are_needed() {
    let peers = Peers::new();
    for garbage in [vec![], vec![1, 2, 3]] {
        peers.both_refuse(
            &script(|script| script.certificates[0].0 = Some(garbage.clone())),
            CertificateError::BadEncoding,
            Alert::BadCertificate,
        );
    }
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
    peers.both_refuse(&script, CertificateError::UnknownIssuer, Alert::UnknownCA);
}

#[test]
fn the_signature_must_verify() {
    Peers::new().both_refuse(
        &script(|script| script.flip_signature = true),
        CertificateError::BadSignature,
        Alert::DecryptError,
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
            PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme,
            Alert::IllegalParameter,
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
fn finished_must_be_right() {
    let peers = Peers::new();
    let edits: [fn(&mut Vec<u8>); 4] = [
        |verify_data| verify_data[0] ^= 1,
        |verify_data| verify_data.truncate(31),
        |verify_data| verify_data.push(0),
        |verify_data| verify_data.clear(),
    ];
    for edit in edits {
        peers.both_refuse(
            &script(|script| script.edit_verify_data = edit),
            Error::DecryptError,
            Alert::DecryptError,
        );
    }
}

#[test]
fn nothing_may_follow_finished_in_its_record() {
    let peers = Peers::new();
    // a KeyUpdate, and the first byte of one
    for rest in [vec![24, 0, 0, 1, 0], vec![24]] {
        peers.both_refuse(
            &script(|script| script.after_finished = rest),
            PeerMisbehaved::KeyEpochWithPendingFragment,
            Alert::UnexpectedMessage,
        );
    }
}
