//! Valid and invalid CompressedCertificate messages to clients and servers of this crate and of
//! upstream. Error and alert must match, except where RFC 8879 demands more than upstream checks.
//! `differential` changes every byte of a message.

use std::sync::Arc;

use harness::peers::configs::{self, KeyType, Provider, Versions};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered};
use harness::scripted::{Identity, Outcome, Script, ScriptedClient, bytes};
use harness::wire::client_hello::ClientHello;
use harness::wire::{message, u8_vec, vector};
use rustls::HandshakeType;
use rustls::compress::{
    BROTLI_COMPRESSOR, CertCompressor, CompressionLevel, ZLIB_COMPRESSOR,
    default_cert_decompressors,
};
use rustls::pki_types::ServerName;
use rustls::sign::SigningKey;

use crate::certificates::kit::{Kind, Setup, this, upstream};

const COMPRESS_CERTIFICATE: u16 = 27;
const BROTLI: u16 = 2;
const ZLIB: u16 = 1;

/// Returns the CompressedCertificate for this Certificate, given without its header.
fn compressed(algorithm: u16, certificate: &[u8]) -> Vec<u8> {
    let compressor: &dyn CertCompressor = match algorithm {
        BROTLI => BROTLI_COMPRESSOR,
        _ => ZLIB_COMPRESSOR,
    };
    let level = CompressionLevel::Interactive;
    let bytes = compressor.compress(certificate.to_vec(), level).unwrap();
    let body = [
        &algorithm.to_be_bytes()[..],
        &(certificate.len() as u32).to_be_bytes()[1..],
        &vector(3, &bytes),
    ]
    .concat();
    message(HandshakeType::CompressedCertificate.into(), &body)
}

/// Creates a Certificate message without its header.
fn certificate(chain: &[&[u8]]) -> Vec<u8> {
    let entries: Vec<u8> = chain
        .iter()
        .flat_map(|cert| [vector(3, cert), vec![0, 0]].concat())
        .collect();
    [vec![0], vector(3, &entries)].concat()
}

/// Returns Certificate messages without their headers, most of them invalid, to be compressed.
fn wrong_contents(accepted: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let with_extension = |extension: &[u8]| {
        let mut contents = accepted[..accepted.len() - 2].to_vec();
        contents.extend(vector(2, extension));
        let list = (contents.len() as u32 - 4).to_be_bytes();
        contents[1..4].copy_from_slice(&list[1..]);
        contents
    };
    const OCSP: [u8; 11] = [0, 5, 0, 7, 1, 0, 0, 3, 1, 2, 3];
    const SCT: [u8; 9] = [0, 18, 0, 5, 0, 3, 0, 1, 9];
    vec![
        ("right", accepted.to_vec()),
        ("an empty chain", certificate(&[])),
        ("an empty certificate", certificate(&[&[]])),
        ("no certificate", certificate(&[&[1, 2, 3]])),
        ("a context", [&[1, 7], &accepted[1..]].concat()),
        ("nothing", Vec::new()),
        ("continued", [accepted, &[0]].concat()),
        ("cut", accepted[..accepted.len() - 1].to_vec()),
        ("with its header", message(11, accepted)),
        ("an unknown extension", with_extension(&[0xfa, 0xfa, 0, 0])),
        ("an OCSP response", with_extension(&OCSP)),
        ("two OCSP responses", with_extension(&[OCSP, OCSP].concat())),
        ("a timestamp", with_extension(&SCT)),
    ]
}

/// Creates a client that trusts `identity` and decompresses `algorithms`.
macro_rules! client {
    ($tls:ident, $module:ident, $identity:expr, $algorithms:expr) => {{
        let mut config = $module::client_config(Setup::new(Provider::Ring));
        let roots = configs::$module::trusted([&$identity.certificate]);
        let provider = Arc::new(Provider::Ring.$module());
        let verifier = $tls::client::WebPkiServerVerifier::builder_with_provider(roots, provider);
        let verifier = verifier.build().unwrap();
        config.dangerous().set_certificate_verifier(verifier);
        let is_used = |algorithm| $algorithms.contains(&u16::from(algorithm));
        config
            .cert_decompressors
            .retain(|known| is_used(known.algorithm()));
        config
    }};
}

fn localhost() -> ServerName<'static> {
    "localhost".try_into().unwrap()
}

fn clients(identity: &Identity, algorithms: &[u16]) -> [Box<dyn Endpoint>; 2] {
    let ours = client!(rustls, this, identity, algorithms);
    let theirs = client!(rustls_upstream, upstream, identity, algorithms);
    [
        Box::new(ThisBuffered::client_of(localhost(), ours)),
        Box::new(UpstreamBuffered::client_of(localhost(), theirs)),
    ]
}

/// Creates a script that sends `sent` instead of the message of type `typ`.
fn sending(script: Script, typ: HandshakeType, sent: &[u8]) -> Script {
    let sent = sent.to_vec();
    Script {
        corrupt: Arc::new(move |_, message| {
            if message[0] == u8::from(typ) {
                message.clone_from(&sent);
            }
        }),
        ..script
    }
}

/// Returns the outcomes of both clients for a server that sends `sent` instead of its Certificate.
fn outcomes_of_clients(identity: &Identity, algorithms: &[u16], sent: &[u8]) -> [Outcome; 2] {
    let script = sending(Script::new(), HandshakeType::Certificate, sent);
    clients(identity, algorithms).map(|mut client| identity.run(&mut *client, &script))
}

fn accepted_by_clients(identity: &Identity) -> Vec<u8> {
    certificate(&[&identity.certificate])
}

/// Calls `test` for clients and for servers: with the side, a Certificate that it accepts, and the
/// outcomes of both crates for a message instead of it.
fn for_each_side(test: impl Fn(&str, Vec<u8>, &dyn Fn(&[u16], &[u8]) -> [Outcome; 2])) {
    let identity = Identity::new(Provider::Ring.this());
    let of_clients =
        |algorithms: &[u16], sent: &[u8]| outcomes_of_clients(&identity, algorithms, sent);
    test("client", accepted_by_clients(&identity), &of_clients);
    test("server", accepted_by_servers(), &outcomes_of_servers);
}

/// An invalid Certificate causes the same error compressed as uncompressed, with the alert
/// bad_certificate. Upstream accepts bytes after the Certificate, and reads an empty one.
#[test]
fn invalid_certificates_are_refused_as_if_uncompressed() {
    for_each_side(|side, accepted, outcomes| {
        for (name, contents) in wrong_contents(&accepted) {
            let plain = message(HandshakeType::Certificate.into(), &contents);
            let [plain, _] = outcomes(&[ZLIB, BROTLI], &plain);
            for algorithm in [ZLIB, BROTLI] {
                let sent = compressed(algorithm, &contents);
                let [ours, theirs] = outcomes(&[ZLIB, BROTLI], &sent);
                let what = format!("{side}, {algorithm}, {name}");
                assert_eq!(ours.error, plain.error, "{what}");
                if name == "continued" {
                    assert_eq!(theirs.error, None, "{what}");
                } else if name != "an empty certificate" {
                    assert_eq!(ours.error, theirs.error, "{what}");
                    // upstream sends no alert for some other errors
                    if let Some(alert) = theirs.alert {
                        assert_eq!(ours.alert, Some(alert), "{what}");
                    }
                }
            }
        }
    });
}

/// A client without a certificate may send an empty chain in either form. It remains
/// unauthenticated, and no signature follows.
#[test]
fn an_empty_chain_authenticates_nobody() {
    let (provider, key) = (Provider::Ring.this(), signing_key());
    for algorithm in [ZLIB, BROTLI] {
        let empty = compressed(algorithm, &certificate(&[]));
        for signs in [false, true] {
            let auth = configs::ClientAuth::OptionalAbsent;
            let mut ours = configs::this::server(provider.clone(), KeyType::EcdsaP256, auth);
            ours.cert_decompressors = default_cert_decompressors().to_vec();
            let server = Box::new(this::server(ours));
            let mut client = ScriptedClient::new(server, &provider, ClientHello::new());
            client.send(&empty).unwrap();
            if signs {
                let verify = client.certificate_verify(&*key, 0x0403);
                let refused = client.send(&verify).unwrap_err();
                assert!(refused.error.contains("got_type: CertificateVerify"));
            } else {
                client.finish().unwrap();
                assert!(client.server.peer_certificates().is_empty());
            }
        }
    }
}

/// Tries invalid and unusual extensions in ClientHello and CertificateRequest.
#[test]
fn unusual_offers_have_the_same_outcome_as_upstream() {
    let identity = Identity::new(Provider::Ring.this());
    for list in [
        &[0, 2][..],
        &[0, 9, 0, 1],
        &[0x40, 0, 0, 3],
        &[0, 2, 0, 2],
        &[0, 1, 0, 2, 0, 1],
        &[0, 2, 0x40, 0, 0x40, 0],
        &[],
        &[0],
        &[0, 1, 0],
    ] {
        // the extension is checked even if TLS 1.2 is negotiated
        for hello in [ClientHello::new(), ClientHello::tls12()] {
            let hello = hello.with(COMPRESS_CERTIFICATE, u8_vec(list));
            let setup = client_auth().over(Versions::Both);
            let [ours, theirs] = servers(setup, &[ZLIB]).map(|mut server| {
                let received = server.receive(&hello.record());
                let output = server.take_output();
                let alert = received.is_err().then(|| output.last().copied());
                (received, alert)
            });
            assert_eq!(ours, theirs, "{list:?}");
        }

        let mut script = Script::with_request();
        let extension = bytes(COMPRESS_CERTIFICATE, &u8_vec(list));
        script.request_extensions.push(extension);
        let [ours, theirs] =
            clients(&identity, &[ZLIB]).map(|mut client| identity.run(&mut *client, &script));
        assert_eq!(ours, theirs, "{list:?}");
    }
}

fn client_auth() -> Setup {
    Setup::new(Provider::Ring).with(Kind::X509, Some(Kind::X509))
}

fn accepted_by_servers() -> Vec<u8> {
    certificate(&[&client_auth().key_type.identities().client.chain[0]])
}

/// Returns servers that request a certificate and decompress `algorithms`.
fn servers(setup: Setup, algorithms: &[u16]) -> [Box<dyn Endpoint>; 2] {
    let mut ours = this::server_config(setup);
    let mut theirs = upstream::server_config(setup);
    let is_used = |algorithm: u16| algorithms.contains(&algorithm);
    let known = &mut ours.cert_decompressors;
    known.retain(|known| is_used(known.algorithm().into()));
    let known = &mut theirs.cert_decompressors;
    known.retain(|known| is_used(known.algorithm().into()));
    [
        Box::new(this::server(ours)),
        Box::new(upstream::server(theirs)),
    ]
}

/// Returns the client's key.
fn signing_key() -> Arc<dyn SigningKey> {
    let key = client_auth().key_type.identities().client.key();
    let loader = Provider::Ring.this().key_provider;
    loader.load_private_key(key).unwrap()
}

/// Returns the outcomes of both servers for a client that sends `sent` instead of its Certificate
/// and signs with the right key.
fn outcomes_of_servers(algorithms: &[u16], sent: &[u8]) -> [Outcome; 2] {
    let key = signing_key();
    servers(client_auth(), algorithms).map(|server| {
        let provider = Provider::Ring.this();
        let mut client = ScriptedClient::new(server, &provider, ClientHello::new());
        let sent = client.send(sent).and_then(|()| {
            let verify = client.certificate_verify(&*key, 0x0403);
            client.send(&verify)?;
            client.finish()
        });
        let refused = sent.err();
        Outcome {
            error: refused.as_ref().map(|refused| refused.error.clone()),
            alert: refused.and_then(|refused| {
                let alert = refused.alert?;
                assert_eq!(alert[0], 2, "the alert is not fatal");
                Some(alert[1].into())
            }),
        }
    })
}
