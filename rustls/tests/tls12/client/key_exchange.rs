//! Tests of the server's certificate, its OCSP status, and its signed key exchange.

use std::sync::{Arc, Mutex};

use harness::peers::configs::{PROVIDERS, Provider, Versions};
use harness::peers::endpoints::ThisBuffered;
use harness::providers::ffdhe;
use harness::scripted::tls12::server::{Script, Step};
use harness::scripted::{Identity, bytes};
use harness::wire::client_hello::STATUS_REQUEST;
use harness::wire::{message, u16_vec};
use harness::{table, verifiers};
use rustls::ffdhe_groups::{FFDHE2048, FFDHE3072};
use rustls::{CipherSuite, HandshakeType, NamedGroup, SignatureScheme};

use super::{Client, changing, clients_with, end, forgetful, localhost, our_end, script};

type Responses = Arc<Mutex<Vec<Vec<u8>>>>;

/// Creates a verifier that accepts anything and records the OCSP responses.
macro_rules! accepting {
    ($module:ident, $tls:ident, $responses:expr) => {{
        let responses = Responses::clone($responses);
        let schemes = [
            $tls::SignatureScheme::ECDSA_NISTP256_SHA256,
            $tls::SignatureScheme::RSA_PSS_SHA256,
        ];
        let verifier = verifiers::$module::Verifier::accepting(Versions::Tls12, &schemes);
        Arc::new(verifier.with_certificates(move |it| {
            responses.lock().unwrap().push(it.ocsp_response.to_vec());
            Ok(())
        }))
    }};
}

/// Returns clients with such verifiers.
fn accepting(provider: Provider, responses: &Responses) -> [Client; 3] {
    clients_with(
        provider,
        Versions::Tls12,
        |config| {
            let verifier = accepting!(this, rustls, responses);
            config.dangerous().set_certificate_verifier(verifier);
        },
        |config| {
            let verifier = accepting!(upstream, rustls_upstream, responses);
            config.dangerous().set_certificate_verifier(verifier);
        },
    )
}

const BAD_SIGNATURE: &str = "InvalidCertificate(BadSignature)";
const WRONG_KIND: &str = "SignedKxWithWrongAlgorithm";

#[test]
fn wrong_key_exchanges_are_refused() {
    let clients = forgetful(Provider::AwsLc, Versions::Tls12);
    let params = |edit: fn(&mut Vec<u8>)| script(|script| script.edit_params = edit);
    let p256 = |script: &mut Script| script.group = NamedGroup::secp256r1;
    let rsa_suite = CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256.into();
    let scheme = |scheme| script(|script| script.scheme = Some(scheme));
    let short = |it: &mut Vec<u8>| {
        it[3] -= 1;
        it.truncate(it.len() - 1);
    };
    let unsigned = changing(Script::new(), 2, |bytes| bytes[10] ^= 1);
    for (what, script, error, alert) in table! {
        "a group of the provider, but not of the client":
            script(|script| script.group = NamedGroup::secp384r1), "SelectedUnofferedKxGroup", 47;
        // RFC 8422 §5.4
        "an explicit curve": params(|it| it[0] = 1), "UnsupportedCurveType", 50;
        "an unknown group": params(|it| it[1] ^= 0xff), "SelectedUnofferedKxGroup", 47;
        "31 bytes of X25519": params(short), "InvalidKeyShare", 47;
        "a small-order point": params(|it| it[4..].fill(0)), "InvalidKeyShare", 47;
        "a point off the curve": params(|it| it[20] ^= 1).edit(p256), "InvalidKeyShare", 47;
        "a wrong signature": script(|script| script.flip_signature = true), BAD_SIGNATURE, 51;
        "parameters that were not signed": unsigned, BAD_SIGNATURE, 51;
        // RFC 5246 §7.4.3: the scheme must match the suite's kind of key
        "a scheme of RSA": scheme(SignatureScheme::RSA_PSS_SHA256), WRONG_KIND, 47;
        "a suite of RSA": script(|script| script.hello.suite = rsa_suite), WRONG_KIND, 47;
    } {
        end(&clients, &script).assert_refused(what, error, alert);
    }
}

/// RFC 5246 §7.4.3: the scheme must also have been offered. The library checks this, even if the
/// verifier would accept anything.
#[test]
fn a_scheme_that_was_not_offered_is_refused() {
    let accepting = accepting(Provider::AwsLc, &Responses::default());
    let usual = forgetful(Provider::AwsLc, Versions::Tls12);
    for (clients, scheme) in [
        (usual, SignatureScheme::ECDSA_SHA1_Legacy),
        (accepting, SignatureScheme::ECDSA_NISTP384_SHA384),
    ] {
        let end = our_end(&clients, &script(|script| script.scheme = Some(scheme)));
        let error = "SignedHandshakeWithUnadvertisedSigScheme";
        end.assert_refused(&format!("{scheme:?}"), error, 47);
    }
}

/// RFC 7919 §4: the parameters must be those of an offered group, but may have leading zeros. The
/// public value must not reveal the secret.
#[test]
fn finite_field_parameters_must_match_an_offered_group() {
    let group = ffdhe::this::Group::leak(NamedGroup::FFDHE2048, FFDHE2048, ffdhe::Key::Random);
    let provider = ffdhe::this::provider(Provider::AwsLc.this(), vec![group]);
    let identity = Identity::new((*provider).clone());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(accepting!(this, rustls, &Responses::default()))
        .with_no_client_auth();
    config.enable_sni = false;
    let config = Arc::new(config);

    let mut long_p = vec![0, 0];
    long_p.extend_from_slice(FFDHE2048.p);
    let mut other_p = FFDHE2048.p.to_vec();
    other_p[100] ^= 1;
    let minus_one = ffdhe::Public::PMinusOne.value(FFDHE2048.p);
    let group = Some("SelectedUnofferedKxGroup");
    for (p, g, public, error) in [
        (FFDHE2048.p, &[2][..], &[7; 256][..], None),
        (&long_p, &[0, 2], &[7; 256], None),
        (&other_p, &[2], &[7; 256], group),
        (FFDHE2048.p, &[3], &[7; 256], group),
        (FFDHE3072.p, &[2], &[7; 256], group),
        (FFDHE2048.p, &[2], &[1], Some("InvalidKeyShare")),
        (FFDHE2048.p, &[2], &minus_one, Some("InvalidKeyShare")),
        (FFDHE2048.p, &[2], &[], Some("IllegalEmptyValue")),
    ] {
        let signature = [&[8, 4][..], &u16_vec(&[1])].concat();
        let exchange = [u16_vec(p), u16_vec(g), u16_vec(public), signature].concat();
        let script = Script::new().edit(|script| {
            script.hello.suite = CipherSuite::TLS_DHE_RSA_WITH_AES_128_GCM_SHA256.into();
            script.steps.truncate(5);
            script.steps[2] = Step::Message(message(12, &exchange));
        });
        let mut client = ThisBuffered::client_of(localhost(), config.clone());
        let outcome = identity.run_tls12(&mut client, &script);
        match error {
            None => {
                assert_eq!(outcome.error, None);
                // RFC 5246 §7.4.7.2: a number with a length of two bytes
                let sent = &outcome.messages[1];
                assert_eq!((sent[0], &sent[4..6]), (16, &[1, 0][..]));
                assert_eq!(sent.len(), 4 + 2 + 256);
            }
            Some(error) => {
                let text = outcome.error.unwrap_or_default();
                assert!(text.contains(error), "{error}: {text}");
            }
        }
    }
}

#[test]
fn wrong_certificates_are_refused() {
    let other = Identity::new(Provider::AwsLc.this());
    let clients = forgetful(Provider::AwsLc, Versions::Tls12);
    let other = Some(other.certificate.to_vec());
    let garbage = Some(vec![0x30, 0]);
    for (certificates, error, alert) in [
        (vec![], "NoCertificatesPresented", 50),
        (vec![garbage], "InvalidCertificate(BadEncoding)", 42),
        (vec![other], BAD_SIGNATURE, 51),
    ] {
        let script = script(|script| script.certificates = certificates);
        our_end(&clients, &script).assert_refused(error, error, alert);
        let theirs = clients[2].end(&script);
        match error {
            // upstream sends TLS 1.3's alert certificate_required
            "NoCertificatesPresented" => assert_eq!(theirs.error.as_deref(), Some(error)),
            _ => theirs.assert_refused("upstream", error, alert),
        }
    }
    for certificates in [vec![Some(vec![])], vec![None, Some(vec![])]] {
        let is_last = certificates[0].is_none();
        let script = script(|script| script.certificates = certificates);
        // RFC 5246 §7.2.2: a length out of range is a decode_error
        let what = format!("an empty certificate, last: {is_last}");
        our_end(&clients, &script).assert_refused(&what, "IllegalEmptyValue", 50);
        // upstream looks for a path with an empty issuer
        assert_eq!(clients[2].end(&script).error.is_none(), is_last, "{what}");
    }
}

#[test]
fn the_verifier_gets_the_ocsp_response() {
    for provider in PROVIDERS {
        let announced = || Script::new().with_extension(bytes(STATUS_REQUEST, &[]));
        let with_status = announced().with_step(2, Step::Send(HandshakeType::CertificateStatus));
        for (script, response) in [
            (Script::new(), &b""[..]),
            // RFC 6066 §8: the message may be missing
            (announced(), b""),
            (with_status, b"response"),
        ] {
            let seen = Responses::default();
            for client in accepting(provider, &seen) {
                let outcome = client.run(&script);
                assert_eq!(outcome.error, None, "{}", client.name);
                assert_eq!(seen.lock().unwrap().pop().as_deref(), Some(response));
            }
        }
    }
}

#[test]
fn wrong_certificate_statuses_are_refused() {
    let clients = forgetful(Provider::AwsLc, Versions::Tls12);
    let status = Step::Send(HandshakeType::CertificateStatus);
    let announced = || {
        Script::new()
            .with_extension(bytes(STATUS_REQUEST, &[]))
            .with_step(2, status.clone())
    };
    let with = |body: &[u8]| announced().edit(|script| script.status = body.to_vec());
    for (script, alert) in [
        // not announced
        (Script::new().with_step(2, status.clone()), 10),
        (announced().with_step(2, status.clone()), 10),
        // after the key exchange
        (announced().edit(|script| script.steps.swap(2, 3)), 10),
        (with(&[]), 50),
        (with(&[1, 0, 0, 0]), 50),
        (with(&[2, 0, 0, 1, 9]), 50),
        (with(&[1, 0, 0, 2, 9]), 50),
        (with(&[1, 0, 0, 1, 9, 9]), 50),
    ] {
        let end = end(&clients, &script);
        assert_eq!(end.alert, Some(alert), "{end:?}");
    }
}
