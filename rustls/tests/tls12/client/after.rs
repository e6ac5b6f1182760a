//! Tests of client authentication, and of the properties of a connection after the handshake.

use std::sync::Arc;

use harness::peers::callbacks;
use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider, Versions, this, upstream};
use harness::peers::endpoints::ThisBuffered;
use harness::scripted::Identity;
use harness::scripted::tls12::server::{Script, Step};
use harness::wire::{u8_vec, u16_vec, u16s};
use rustls::sign::CertifiedKey;
use rustls::{ContentType, HandshakeType};

use super::{End, clients, clients_with, localhost, script, this_config};

fn key(key_type: KeyType) -> Option<Arc<CertifiedKey>> {
    let identity = &key_type.identities().client;
    let provider = Provider::AwsLc.this();
    let key = CertifiedKey::from_der(identity.chain.clone(), identity.key(), &provider);
    Some(Arc::new(key.unwrap()))
}

/// Returns the answer of a client with this key to a request for these types and schemes, and its
/// resolver's arguments.
fn answer(
    key: Option<Arc<CertifiedKey>>,
    types: &[u8],
    schemes: &[u16],
    authorities: &[&[u8]],
) -> (Vec<HandshakeType>, callbacks::ResolverCalls) {
    let identity = Identity::new(Provider::AwsLc.this());
    let resolver = callbacks::this::ClientKey::claiming(key.is_some(), key);
    let mut config = this_config(&identity, Provider::AwsLc, Versions::Tls12);
    config.client_auth_cert_resolver = resolver.clone();
    let names: Vec<u8> = authorities.iter().flat_map(|name| u16_vec(name)).collect();
    let script = Script::with_request().edit(|script| {
        script.request = [u8_vec(types), u16_vec(&u16s(schemes)), u16_vec(&names)].concat();
    });
    let mut client = ThisBuffered::client_of(localhost(), config);
    let outcome = identity.run_tls12(&mut client, &script);
    assert_eq!(outcome.error, None);
    assert!(outcome.client_finished);
    // RFC 5246 §7.4.6: the message is sent even without a certificate
    assert_eq!(outcome.received[0], HandshakeType::Certificate);
    let has_certificate = outcome.messages[1].len() > 4 + 3;
    let has_verify = outcome.received.contains(&HandshakeType::CertificateVerify);
    assert_eq!(has_verify, has_certificate);
    (outcome.received, resolver.calls())
}

#[test]
fn certificate_requests_are_answered() {
    use HandshakeType::{Certificate, CertificateVerify, ClientKeyExchange, Finished};
    const RSA: u8 = 1;
    const ECDSA: u8 = 64;
    let with_certificate = [Certificate, ClientKeyExchange, CertificateVerify, Finished];
    let without = [Certificate, ClientKeyExchange, Finished];

    let (types, schemes) = ([ECDSA, RSA], [0x0403, 0x0804]);
    let p256 = key(KeyType::EcdsaP256);
    let (sent, calls) = answer(p256.clone(), &types, &schemes, &[b"one", b"two"]);
    assert_eq!(sent, with_certificate);
    let names = vec![b"one".to_vec(), b"two".to_vec()];
    assert_eq!(calls, [(names, vec![0x0403, 0x0804])]);

    // the key's scheme is one of those requested
    for schemes in [&[0x0503_u16][..], &[0x0804], &[0xfefe]] {
        let (received, _) = answer(p256.clone(), &types, schemes, &[]);
        assert_eq!(received, without, "{schemes:x?}");
    }
    let (received, calls) = answer(None, &[ECDSA], &[0x0403], &[]);
    assert_eq!((&received[..], calls.len()), (&without[..], 1));

    // ML-DSA is for TLS 1.3, so resolvers do not receive it
    let (_, calls) = answer(p256, &[ECDSA], &[0x0904, 0x0403, 0x0905, 0x0906], &[]);
    assert_eq!(calls[0].1, [0x0403]);
}

/// wolfSSL's servers always list a single type of certificate, even if they accept others, so only
/// the schemes matter.
#[test]
fn certificate_types_are_ignored() {
    for key_type in [KeyType::EcdsaP256, KeyType::Ed25519, KeyType::Rsa2048] {
        let auth = ClientAuth::Required;
        let (ours, theirs) = (Provider::AwsLc.this(), Provider::AwsLc.upstream());
        let ours = this::client(ours, key_type, auth).client_auth_cert_resolver;
        let theirs = upstream::client(theirs, key_type, auth).client_auth_cert_resolver;
        let clients = clients_with(
            Provider::AwsLc,
            Versions::Tls12,
            |config| config.client_auth_cert_resolver = ours.clone(),
            |config| config.client_auth_cert_resolver = theirs.clone(),
        );
        // RSA, ECDSA, fixed ECDH with ECDSA (RFC 8422 §5.5), and an unassigned type
        for types in [&[1][..], &[64], &[66], &[250], &[1, 64]] {
            let schemes = u16_vec(&u16s(&[0x0403, 0x0807, 0x0804, 0x0401]));
            let script = Script::with_request().edit(|script| {
                script.request = [u8_vec(types), schemes, u16_vec(&[])].concat();
            });
            for client in &clients {
                let outcome = client.run(&script);
                let what = format!("{} {key_type:?} {types:?}", client.name);
                assert_eq!(outcome.error, None, "{what}");
                let verify = HandshakeType::CertificateVerify;
                assert!(outcome.received.contains(&verify), "{what}");
            }
        }
    }
}

/// A resolver claims to have no certificates and then chooses one. At that time, the messages for
/// the signature are no longer stored.
#[test]
fn a_resolver_that_contradicts_itself_is_an_error() {
    let identity = Identity::new(Provider::AwsLc.this());
    let mut config = this_config(&identity, Provider::AwsLc, Versions::Tls12);
    config.client_auth_cert_resolver =
        callbacks::this::ClientKey::claiming(false, key(KeyType::EcdsaP256));
    let mut client = ThisBuffered::client_of(localhost(), config);
    let end = End::of(&identity.run_tls12(&mut client, &Script::with_request()));
    end.assert_refused("", "has_certs", 80);
}

#[test]
fn malformed_certificate_requests_are_refused() {
    for request in [
        vec![],
        [u8_vec(&[]), u16_vec(&[4, 3]), u16_vec(&[])].concat(),
        [u8_vec(&[64]), u16_vec(&[]), u16_vec(&[])].concat(),
        [u8_vec(&[64]), u16_vec(&[4]), u16_vec(&[])].concat(),
        [u8_vec(&[64]), u16_vec(&[4, 3])].concat(),
        [u8_vec(&[64]), u16_vec(&[4, 3]), u16_vec(&[0, 0])].concat(),
        [u8_vec(&[64]), u16_vec(&[4, 3]), u16_vec(&[]), vec![0]].concat(),
    ] {
        let script = Script::with_request().edit(|script| script.request = request.clone());
        for client in clients(Provider::AwsLc, Versions::Tls12) {
            let end = client.end(&script);
            assert_eq!(end.alert, Some(50), "{} {request:?}: {end:?}", client.name);
        }
    }
}

/// RFC 5746, RFC 5246 §7.4.1.1: a client may refuse to renegotiate, and ours always does.
#[test]
fn renegotiation_is_refused() {
    let hello_request = Step::Raw(ContentType::Handshake, vec![0, 0, 0, 0]);
    let data = Step::Raw(ContentType::ApplicationData, b"data".to_vec());
    let once = [hello_request.clone(), Step::Await, data, Step::Await];
    let too_often = [vec![hello_request; 5], vec![Step::Await]].concat();
    for provider in PROVIDERS {
        for client in clients(provider, Versions::Tls12) {
            let mut connection = client.connection();
            let script = |more: &[Step]| script(|script| script.steps.extend_from_slice(more));
            let outcome = client.identity.run_tls12(&mut *connection, &script(&once));
            let end = End::of(&outcome);
            assert_eq!(end.error, None, "{}", client.name);
            // the client sends no_renegotiation, and the connection continues
            assert_eq!(end.alert, Some(100), "{}", client.name);
            assert_eq!(connection.read_all(), b"data", "{}", client.name);

            // a limited number of times
            let end = client.end(&script(&too_often));
            let error = end.error.unwrap_or_default();
            assert!(error.contains("TooManyRenegotiationRequests"), "{error}");
        }
    }
}

/// The client sends no data before the server's Finished; there is no False Start.
#[test]
fn data_waits_for_the_end_of_the_handshake() {
    for client in clients(Provider::AwsLc, Versions::Tls12) {
        // all but the server's change_cipher_spec and Finished
        let cut = script(|script| script.steps.truncate(5));
        for (script, is_cut) in [(Script::new(), false), (cut, true)] {
            let mut connection = client.connection();
            assert_eq!(connection.send(b"early"), 5);
            let outcome = client.identity.run_tls12(&mut *connection, &script);
            assert_eq!(outcome.error, None, "{}", client.name);
            assert!(outcome.client_finished, "{}", client.name);
            assert_eq!(outcome.plaintext, if is_cut { &b""[..] } else { b"early" });
            assert_eq!(connection.is_handshaking(), is_cut, "{}", client.name);
        }
    }
}
