//! Valid and invalid CompressedCertificate messages to clients and servers of this crate and of
//! upstream. Error and alert must match, except where RFC 8879 demands more than upstream checks.

use std::sync::Arc;

use harness::peers::configs::{self, KeyType, Provider, Versions};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered};
use harness::scripted::{Identity, Outcome, Script, ScriptedClient, bytes};
use harness::wire::client_hello::{ClientHello, PSK_KEY_EXCHANGE_MODES};
use harness::wire::{message, u8_vec, vector};
use rustls::compress::{
    BROTLI_COMPRESSOR, CertCompressor, CompressionLevel, ZLIB_COMPRESSOR,
    default_cert_decompressors,
};
use rustls::pki_types::ServerName;
use rustls::sign::SigningKey;
use rustls::{AlertDescription as Alert, HandshakeType};

use crate::certificates::kit::{Kind, Setup, this, upstream};

const COMPRESS_CERTIFICATE: u16 = 27;
const BROTLI: u16 = 2;
const ZLIB: u16 = 1;

/// The fields of a CompressedCertificate.
#[derive(Clone, Debug)]
struct Compressed {
    algorithm: u16,
    length: usize,
    bytes: Vec<u8>,
}

impl Compressed {
    /// Compresses this Certificate, given without its header.
    fn new(algorithm: u16, certificate: &[u8]) -> Self {
        let compressor: &dyn CertCompressor = match algorithm {
            BROTLI => BROTLI_COMPRESSOR,
            _ => ZLIB_COMPRESSOR,
        };
        let level = CompressionLevel::Interactive;
        Self {
            algorithm,
            length: certificate.len(),
            bytes: compressor.compress(certificate.to_vec(), level).unwrap(),
        }
    }

    fn message(&self) -> Vec<u8> {
        let body = [
            &self.algorithm.to_be_bytes()[..],
            &(self.length as u32).to_be_bytes()[1..],
            &vector(3, &self.bytes),
        ]
        .concat();
        message(HandshakeType::CompressedCertificate.into(), &body)
    }
}

/// Creates a Certificate message without its header.
fn certificate(chain: &[&[u8]]) -> Vec<u8> {
    let entries: Vec<u8> = chain
        .iter()
        .flat_map(|cert| [vector(3, cert), vec![0, 0]].concat())
        .collect();
    [vec![0], vector(3, &entries)].concat()
}

/// Returns messages with a single mistake each, which carry a valid Certificate.
fn wrong_messages(accepted: &[u8], algorithm: u16) -> Vec<(String, Vec<u8>)> {
    let right = Compressed::new(algorithm, accepted);
    let with = |edit: &dyn Fn(&mut Compressed)| {
        let mut wrong = right.clone();
        edit(&mut wrong);
        wrong.message()
    };
    let mut cases = Vec::new();
    for other in [0, ZLIB, BROTLI, 3, 0x4000, 0xffff] {
        let message = with(&|wrong| wrong.algorithm = other);
        cases.push((format!("algorithm {other}"), message));
    }
    let len = accepted.len();
    for length in [0, 1, len - 1, len + 1, 0xffff, 0x1_0001, 0xff_ffff] {
        let message = with(&|wrong| wrong.length = length);
        cases.push((format!("declares {length} bytes"), message));
    }
    for more in [1, 4, 5, 1000] {
        let message = with(&|wrong| wrong.bytes.resize(wrong.bytes.len() + more, 0));
        cases.push((format!("{more} bytes behind the data"), message));
    }
    let typ = HandshakeType::CompressedCertificate.into();
    let whole = right.message();
    let body = &whole[4..];
    for len in [0, 1, 2, 4, 5, 7, 8, body.len() - 1] {
        cases.push((format!("cut to {len}"), message(typ, &body[..len])));
    }
    let bomb = Compressed {
        length: 0xffff,
        ..Compressed::new(algorithm, &vec![0; 1 << 20])
    };
    let others = [
        ("right", whole.clone()),
        ("nothing", with(&|wrong| wrong.bytes.clear())),
        ("cut inside", with(&|wrong| _ = wrong.bytes.pop())),
        ("continued", message(typ, &[body, &[0]].concat())),
        ("a bomb", bomb.message()),
    ];
    cases.extend(others.map(|(name, message)| (name.to_owned(), message)));
    cases
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

#[test]
fn malformed_compressed_certificates_are_refused() {
    for_each_side(|side, accepted, outcomes| {
        for algorithm in [ZLIB, BROTLI] {
            for (name, sent) in wrong_messages(&accepted, algorithm) {
                let [ours, theirs] = outcomes(&[algorithm], &sent);
                let what = format!("{side}, {algorithm}, {name}: {ours:?}");
                assert_eq!(ours, theirs, "{what}");
                let is_right = name == "right" || name == format!("algorithm {algorithm}");
                assert_eq!(ours.error.is_none(), is_right, "{what}");
                // RFC 8879 §4, also if more than the output of the compression follows
                let is_declared = name.starts_with("declares");
                if is_declared || name.ends_with("behind the data") {
                    let error = ours.error.unwrap();
                    let is_too_large = error == "InvalidMessage(MessageTooLarge)";
                    let is_invalid = error == "PeerMisbehaved(InvalidCertCompression)";
                    assert!(is_invalid || is_declared && is_too_large, "{what}");
                    assert_eq!(ours.alert, Some(Alert::BadCertificate), "{what}");
                }
            }
        }
    });
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
                let sent = Compressed::new(algorithm, &contents).message();
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

/// Changes one bit of each byte.
#[test]
fn every_changed_byte_has_the_same_outcome_as_upstream() {
    for_each_side(|side, accepted, outcomes| {
        for algorithm in [ZLIB, BROTLI] {
            let right = Compressed::new(algorithm, &accepted).message();
            // without the header, because a changed header makes a different message
            for i in 4..right.len() {
                let mut wrong = right.clone();
                wrong[i] ^= 1 << (i % 8);
                let [ours, theirs] = outcomes(&[algorithm], &wrong);
                assert_eq!(ours, theirs, "{side}, {algorithm}, byte {i}");
            }
        }
    });
}

/// An end that has offered no algorithm rejects the message.
#[test]
fn a_compressed_certificate_without_an_offer_is_unexpected() {
    for_each_side(|side, accepted, outcomes| {
        let sent = Compressed::new(ZLIB, &accepted).message();
        let [ours, theirs] = outcomes(&[], &sent);
        assert_eq!(ours, theirs, "{side}");
        let expected = match side {
            "client" => "Certificate, CertificateRequest",
            _ => "Certificate",
        };
        let error = format!(
            "InappropriateHandshakeMessage {{ expect_types: [{expected}], \
             got_type: CompressedCertificate }}"
        );
        assert_eq!(ours.error, Some(error));
        assert_eq!(ours.alert, Some(Alert::UnexpectedMessage), "{side}");
    });
}

/// A client rejects a CompressedCertificate after a CertificateRequest without an offer, and
/// instead of either message after the Certificate.
#[test]
fn a_compressed_certificate_in_another_place_is_unexpected() {
    use HandshakeType::{Certificate, CertificateVerify, Finished};

    let identity = Identity::new(Provider::Ring.this());
    let sent = Compressed::new(ZLIB, &accepted_by_clients(&identity)).message();
    for (script, typ, algorithms) in [
        (Script::with_request(), Certificate, &[][..]),
        (Script::new(), CertificateVerify, &[ZLIB]),
        (Script::new(), Finished, &[ZLIB]),
    ] {
        let script = sending(script, typ, &sent);
        let [ours, theirs] =
            clients(&identity, algorithms).map(|mut client| identity.run(&mut *client, &script));
        assert_eq!(ours, theirs, "{typ:?}");
        let error = format!(
            "InappropriateHandshakeMessage {{ expect_types: [{typ:?}], \
             got_type: CompressedCertificate }}"
        );
        assert_eq!(ours.error, Some(error));
        assert_eq!(ours.alert, Some(Alert::UnexpectedMessage), "{typ:?}");
    }
}

/// A client without a certificate may send an empty chain in either form. It remains
/// unauthenticated, and no signature follows.
#[test]
fn an_empty_chain_authenticates_nobody() {
    let (provider, key) = (Provider::Ring.this(), signing_key());
    for algorithm in [ZLIB, BROTLI] {
        let empty = Compressed::new(algorithm, &certificate(&[])).message();
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

/// In a resumed handshake, neither side sends a certificate in any form.
#[test]
fn a_certificate_in_a_resumed_handshake_is_unexpected() {
    let (provider, key) = (Provider::Ring.this(), signing_key());
    let config = Arc::new(this::server_config(client_auth()));
    let server = || Box::new(this::server(config.clone()));
    let accepted = accepted_by_servers();
    let sent = Compressed::new(ZLIB, &accepted).message();

    let hello = ClientHello::new().with(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]));
    let mut first = ScriptedClient::new(server(), &provider, hello);
    first.send(&sent).unwrap();
    let verify = first.certificate_verify(&*key, 0x0403);
    first.send(&verify).unwrap();
    first.finish().unwrap();
    let offer = first.tickets()[0].offer(0);
    let second = ScriptedClient::offering(server(), &provider, ClientHello::new(), Some(&offer));
    let mut second = second.unwrap();
    assert!(second.is_resumed);
    let refused = second.send(&sent).unwrap_err();
    assert!(refused.error.contains("got_type: CompressedCertificate"));

    // to a client, instead of either message
    let identity = Identity::new(Provider::Ring.this());
    let sent = Compressed::new(ZLIB, &accepted_by_clients(&identity)).message();
    let ticket = [0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 1, 7, 0, 0];
    for typ in [HandshakeType::EncryptedExtensions, HandshakeType::Finished] {
        let mut config = client!(rustls, this, identity, [ZLIB, BROTLI]);
        config.resumption = rustls::client::Resumption::in_memory_sessions(8);
        let config = Arc::new(config);
        let client = || ThisBuffered::client_of(localhost(), config.clone());
        let first = Script {
            post_handshake: vec![message(HandshakeType::NewSessionTicket.into(), &ticket)],
            ..Script::new()
        };
        let conversation = identity.converse(&mut client(), &first);
        assert_eq!(conversation.outcome.error, None);
        let second = Script::resuming(conversation.ticket_psk(&[1]));
        let second = sending(second, typ, &sent);
        let outcome = identity.run(&mut client(), &second);
        assert_eq!(outcome.alert, Some(Alert::UnexpectedMessage));
        let error = outcome.error.unwrap();
        assert!(error.contains("got_type: CompressedCertificate"), "{error}");
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
