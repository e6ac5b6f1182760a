//! Tests of negotiation that succeeds or fails.

use std::sync::{Arc, Mutex};

use harness::peers::configs::{self, ClientAuth, KeyType, Versions};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered, handshake};
use harness::providers::constant::this::Group;
use harness::scripted::ScriptedClient;
use harness::table;
use harness::verifiers::upstream::Verifier;
use harness::wire::client_hello::*;
use harness::wire::*;
use rustls::AlertDescription::{
    self, DecodeError, HandshakeFailure, IllegalParameter, NoApplicationProtocol,
};
use rustls::NamedGroup;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls_upstream::SignatureScheme;

use crate::handshake_server::client_hello::{
    Answer, answer, flight, incompatible, invalid, misbehaved, refused, retry_request,
};
use crate::handshake_server::servers::{Identity, PROVIDERS, Sent, Setup, ours_with};

#[test]
fn key_shares_are_used_or_refused() {
    let shares = |shares: &[(u16, &[u8])]| ClientHello::new().with(KEY_SHARE, key_shares(shares));
    let x25519 = &x25519_share()[..];
    let p256 = &p256_share()[..];
    let duplicate = misbehaved("OfferedDuplicateKeyShares", IllegalParameter);
    let wrong = misbehaved("InvalidKeyShare", IllegalParameter);
    let empty = invalid("IllegalEmptyValue", DecodeError);
    let (flight, retry) = (flight(), retry_request());
    // so many shares that the server looks them up differently
    let many = |more: &[(u16, &'static [u8])]| {
        let unknown = (0x9000..0x9010).map(|group| (group, &[1][..]));
        let all = unknown
            .chain(more.iter().copied())
            .chain([(X25519, x25519)]);
        shares(&all.collect::<Vec<_>>())
    };
    // (group, share) pairs
    let (good, p256) = ((X25519, x25519), (P256, p256));
    let unknown = (0x9999, &[1][..]);
    let off_curve = ClientHello::new()
        .with(SUPPORTED_GROUPS, u16_vec(&u16s(&[P256])))
        .with(KEY_SHARE, key_shares(&[(P256, &[4; 65])]));
    let cases = table! {
        "two": shares(&[good, p256]), &flight;
        "two, not in order": shares(&[p256, good]), &flight;
        "unsupported besides": shares(&[unknown, good]), &flight;
        "none": shares(&[]), &retry;
        "of a less preferred group": shares(&[p256]), &retry;
        "twice": shares(&[good, p256, good]), &duplicate;
        "unknown twice": shares(&[unknown, unknown, good]), &duplicate;
        "many": many(&[]), &flight;
        "twice among many": many(&[(0x9001, &[1])]), &duplicate;
        "all zero": shares(&[(X25519, &[0; 32])]), &wrong;
        "short": shares(&[(X25519, &[9; 31])]), &wrong;
        "not on the curve": off_curve, &wrong;
        "empty": shares(&[(X25519, &[])]), &empty;
    };
    for provider in PROVIDERS {
        Setup::new(provider).expect_same(cases.clone());
    }
}

#[test]
fn a_common_protocol_and_signature_scheme_are_required() {
    let mut setup = Setup::new(PROVIDERS[0]);
    setup.alpn = vec![b"aa".to_vec(), b"bbb".to_vec()];
    let offered = |names: &[&[u8]]| ClientHello::new().with(ALPN, protocols(names));
    let schemes =
        |schemes: &[u16]| ClientHello::new().with(SIGNATURE_ALGORITHMS, u16_vec(&u16s(schemes)));
    let flight = flight();
    setup.expect_same(table! {
        "no protocols": ClientHello::new(), &flight;
        "one": offered(&[b"aa"]), &flight;
        "one of two": offered(&[b"cc", b"bbb"]), &flight;
    });
    // equal errors and alerts, but upstream has already sent its ServerHello
    let no_protocol = refused("NoApplicationProtocol", NoApplicationProtocol);
    let no_scheme = incompatible("NoSignatureSchemesInCommon", HandshakeFailure);
    for (hello, expected) in [
        (offered(&[b"cc"]), no_protocol),
        (schemes(&[0x0804]), no_scheme),
    ] {
        let records = [hello.record()];
        let theirs = answer(&mut setup.theirs(), &records);
        assert_eq!(answer(&mut setup.ours(), &records), expected);
        assert_eq!((theirs.error, theirs.sent.len()), (expected.error, 3));
    }
    // RFC 9846 §4.3.3: RSASSA-PKCS1-v1_5, SHA-1 and another curve's scheme cannot be used here
    for scheme in [0x0401, 0x0203, 0x0503, 0x0999] {
        let answer = answer(&mut setup.ours(), &[schemes(&[scheme]).record()]);
        assert_eq!(answer.sent, [Sent::Alert(HandshakeFailure)], "{scheme:#x}");
    }
}

#[test]
fn suites_follow_the_configured_order_and_alpn_that_of_the_server() {
    let theirs_first = ClientHello::new()
        .edit(|hello| hello.cipher_suites = vec![0x1303, 0x1301])
        .with(ALPN, protocols(&[b"bbb", b"aa"]));
    for ignore_client_order in [false, true] {
        let mut setup = Setup::new(PROVIDERS[0]);
        setup.ignore_client_order = ignore_client_order;
        setup.alpn = vec![b"aa".to_vec(), b"bbb".to_vec()];

        let (mut ours, mut theirs) = (setup.ours(), setup.theirs());
        ours.receive(&theirs_first.record()).unwrap();
        theirs.receive(&theirs_first.record()).unwrap();
        let suite = ours.conn.negotiated_cipher_suite().unwrap().suite();
        let of_upstream = theirs.conn.negotiated_cipher_suite().unwrap().suite();
        let expected = if ignore_client_order { 0x1301 } else { 0x1303 };
        assert_eq!([u16::from(suite), of_upstream.into()], [expected; 2]);
        assert_eq!(ours.conn.alpn_protocol(), Some(&b"aa"[..]));
        assert_eq!(theirs.conn.alpn_protocol(), Some(&b"aa"[..]));
    }
}

#[test]
fn the_preference_of_the_client_determines_the_group() {
    let groups = |groups: &[u16], share: u16, payload: &[u8]| {
        ClientHello::new()
            .with(SUPPORTED_GROUPS, u16_vec(&u16s(groups)))
            .with(KEY_SHARE, key_shares(&[(share, payload)]))
    };
    let (x25519, p256) = (&x25519_share()[..], &p256_share()[..]);
    let (both, unknown) = ([P256, X25519], [0x9999, X25519]);
    let (flight, retry) = (flight(), retry_request());
    let cases = [
        ("P-256 first", groups(&both, P256, p256), &flight),
        ("without its share", groups(&both, X25519, x25519), &retry),
        ("unknown first", groups(&unknown, X25519, x25519), &flight),
        ("only a share", groups(&[P256], X25519, x25519), &retry),
    ];
    for provider in PROVIDERS {
        Setup::new(provider).expect_same(cases.clone());
    }
}

fn no_certificate() -> Answer {
    let error = "General(\"no server certificate chain resolved\")";
    refused(error, AlertDescription::AccessDenied)
}

#[test]
fn a_client_without_a_suitable_certificate_is_refused() {
    let mut setup = Setup::new(PROVIDERS[0]);
    setup.resolves_nothing = true;
    let denied = no_certificate();
    setup.expect_same(table! {
        "with a share": ClientHello::new(), &denied;
        "without": ClientHello::without_share(), &denied;
    });
}

#[test]
fn groups_for_tls12_are_skipped() {
    let mut setup = Setup::new(PROVIDERS[0]);
    let groups = &mut setup.crypto.kx_groups;
    groups.retain(|group| group.name() == NamedGroup::secp256r1);
    groups.insert(0, Group::only_tls12(NamedGroup::X25519).leak());
    let answer = answer(&mut setup.ours(), &[ClientHello::new().record()]);
    assert_eq!(answer, retry_request());
}

#[test]
fn rsa_keys_only_sign_with_pss() {
    // RFC 9846 §4.3.3
    let mut setup = Setup::new(PROVIDERS[0]);
    setup.identity = Identity::with_algorithm(&rcgen::PKCS_RSA_SHA256);
    let offer = |schemes: &[u16]| {
        let hello = ClientHello::new().with(SIGNATURE_ALGORITHMS, u16_vec(&u16s(schemes)));
        answer(&mut setup.ours(), &[hello.record()])
    };
    assert_eq!(offer(&[0x0401, 0x0804]), flight());
    let refusal = incompatible("NoSignatureSchemesInCommon", HandshakeFailure);
    assert_eq!(offer(&[0x0401, 0x0501, 0x0601]), refusal);
}

#[test]
fn extensions_are_sent_only_if_the_client_requests_them() {
    // RFC 9846 §4.3
    let mut setup = Setup::new(PROVIDERS[0]);
    setup.ocsp = b"response".to_vec();
    setup.alpn = vec![b"h2".to_vec()];
    let requesting = ClientHello::new()
        .and(STATUS_REQUEST, vec![1, 0, 0, 0, 0])
        .and(ALPN, protocols(&[b"h2"]));
    let requesting_other = ClientHello::new().and(STATUS_REQUEST, vec![2, 9]);
    let silent = ClientHello::new().without(SERVER_NAME);
    for (hello, extensions, is_requested, is_stapled) in [
        (
            requesting,
            &[0, 0, 0, 0, 0, 16, 0, 5, 0, 3, 2, b'h', b'2'][..],
            true,
            true,
        ),
        (requesting_other, &[0, 0, 0, 0], true, false),
        (silent, &[], false, false),
    ] {
        let mut stapled = vec![];
        for server in setup.both() {
            let client = ScriptedClient::new(server, &setup.provider.this(), hello.clone());
            let [encrypted_extensions, certificate, ..] = &client.flight[..] else {
                panic!("{:?}", client.flight_types());
            };
            assert_eq!(*encrypted_extensions, message(8, &u16_vec(extensions)));
            let has_response = certificate.windows(8).any(|at| at == b"response");
            stapled.push(has_response);
        }
        // upstream staples a response for any requested type of status
        assert_eq!(stapled[0], is_stapled);
        assert_eq!(stapled[1], is_requested);
    }
}

#[test]
fn an_empty_chain_or_status_is_treated_as_none() {
    let setup = Setup::new(PROVIDERS[0]);
    let server = |chain, ocsp| {
        let mut config = setup.our_config();
        let mut key = CertifiedKey::new(chain, setup.identity.signing_key());
        key.ocsp = ocsp;
        config.cert_resolver = Arc::new(SingleCertAndKey::from(key));
        ours_with(config)
    };
    // RFC 9846 §4.5.1: the server's certificate_list must not be empty
    let hello = ClientHello::new().and(STATUS_REQUEST, vec![1, 0, 0, 0, 0]);
    let answer = answer(&mut server(vec![], None), &[hello.record()]);
    assert_eq!(answer, no_certificate());

    // RFC 6066 §8: an OCSPResponse has at least one byte
    let server = Box::new(server(setup.identity.chain(), Some(vec![])));
    let client = ScriptedClient::new(server, &setup.provider.this(), hello);
    let entry = [vector(3, &setup.identity.cert), u16_vec(&[])].concat();
    let content = [u8_vec(&[]), vector(3, &entry)].concat();
    assert_eq!(client.flight[1], message(11, &content));
}

#[test]
fn an_upstream_client_gets_the_ocsp_response() {
    for ocsp in [vec![], b"response".to_vec()] {
        let mut setup = Setup::new(PROVIDERS[0]);
        setup.ocsp = ocsp.clone();
        let seen = Arc::new(Mutex::new(None));
        let log = seen.clone();
        let verifier =
            Verifier::accepting(Versions::Tls13, &[SignatureScheme::ECDSA_NISTP256_SHA256])
                .with_certificates(move |it| {
                    *log.lock().unwrap() = Some(it.ocsp_response.to_vec());
                    Ok(())
                });
        let (provider, key_type) = (PROVIDERS[0].upstream(), KeyType::EcdsaP256);
        let mut client = configs::upstream::client(provider, key_type, ClientAuth::None);
        let mut dangerous = client.dangerous();
        dangerous.set_certificate_verifier(Arc::new(verifier));
        handshake(&mut UpstreamBuffered::client(client), &mut setup.ours());
        assert_eq!(*seen.lock().unwrap(), Some(ocsp));
    }
}
