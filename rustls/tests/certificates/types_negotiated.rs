//! Tests of client_certificate_type and server_certificate_type (RFC 7250): every offer to every
//! server and every answer to every client, compared with upstream.

use harness::peers::configs::{Provider, Versions, product, product3};
use harness::peers::endpoints::Endpoint;
use harness::scripted::{Identity, Script, ScriptedClient, bytes};
use harness::wire::client_hello::{CLIENT_CERTIFICATE_TYPE, ClientHello, SERVER_CERTIFICATE_TYPE};
use harness::wire::{Reader, u8_vec};
use rustls::{AlertDescription, HandshakeType};

use crate::certificates::kit::{CLIENT_KINDS, KINDS, Kind, Setup, this, upstream};

const INCORRECT: &str = "PeerIncompatible(IncorrectCertificateTypeExtension)";

/// The lists of types in client offers, including no list.
const LISTS: [Option<&[u8]>; 9] = [
    None,
    Some(&[]),
    Some(&[0]),
    Some(&[2]),
    Some(&[2, 0]),
    Some(&[0, 2]),
    Some(&[1]),
    Some(&[1, 2]),
    Some(&[1, 0, 0xe0]),
];

/// Returns a server's answer to a ClientHello: its EncryptedExtensions or its error.
fn answer(
    new_server: &dyn Fn() -> Box<dyn Endpoint>,
    hello: &ClientHello,
) -> Result<Vec<(u16, Vec<u8>)>, String> {
    new_server().receive(&hello.record())?;
    let client = ScriptedClient::new(new_server(), &Provider::Ring.this(), hello.clone());
    let typ = HandshakeType::EncryptedExtensions.into();
    Ok(Reader::of_message(&client.flight[0], typ).extensions())
}

/// The certificate types that a ClientHello offers.
#[derive(Clone, Copy, Debug)]
struct Offer {
    of_client: Option<&'static [u8]>,
    of_server: Option<&'static [u8]>,
}

impl Offer {
    fn all() -> impl Iterator<Item = Self> {
        product(LISTS, LISTS).map(|(of_client, of_server)| Self {
            of_client,
            of_server,
        })
    }

    fn add_to(self, mut hello: ClientHello) -> ClientHello {
        if let Some(list) = self.of_client {
            hello = hello.with(CLIENT_CERTIFICATE_TYPE, u8_vec(list));
        }
        if let Some(list) = self.of_server {
            hello = hello.with(SERVER_CERTIFICATE_TYPE, u8_vec(list));
        }
        hello
    }

    /// Adapts the offer so that upstream answers it as RFC 7250 §4.2 requires.
    fn for_upstream(mut self, setup: Setup) -> Self {
        // a server that requests no certificate ignores the client's types
        if setup.client.is_none() && self.of_client != Some(&[]) {
            self.of_client = None;
        }
        // upstream rejects a list of one known type that does not fit, but accepts a list of one
        // unknown type
        let known = |list: Option<&'static [u8]>, configured| match (list, configured) {
            (Some([1]), Kind::X509) => Some(&[2][..]),
            (Some([1]), Kind::Raw) => Some(&[0][..]),
            _ => list,
        };
        Self {
            of_client: known(self.of_client, setup.client.unwrap_or(Kind::X509)),
            of_server: known(self.of_server, setup.server),
        }
    }
}

#[test]
fn every_server_answers_every_offer_like_upstream() {
    let (mut accepted, mut refused) = (0, 0);
    for (server, client) in product(KINDS, CLIENT_KINDS) {
        let setup = Setup::new(Provider::Ring).with(server, client);
        for offer in Offer::all() {
            let new = || Box::new(this::server_of(setup)) as _;
            let ours = answer(&new, &offer.add_to(ClientHello::new()));
            let new = || Box::new(upstream::server_of(setup)) as _;
            let offer_to_upstream = offer.for_upstream(setup);
            let theirs = answer(&new, &offer_to_upstream.add_to(ClientHello::new()));
            assert_eq!(ours, theirs, "{setup:?} {offer:?}");
            match ours {
                Ok(_) => accepted += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(accepted > 50 && refused > 50, "{accepted} {refused}");
}

/// In TLS 1.2, a server with X.509 certificates follows the same rules.
#[test]
fn tls12_servers_answer_every_offer_like_upstream() {
    for client in [None, Some(Kind::X509)] {
        let setup = Setup::new(Provider::Ring).with(Kind::X509, client);
        let setup = setup.over(Versions::Tls12);
        for offer in Offer::all() {
            let hello = offer.add_to(ClientHello::tls12()).record();
            let ours = this::server_of(setup).receive(&hello);
            let offer_to_upstream = offer.for_upstream(setup);
            let hello = offer_to_upstream.add_to(ClientHello::tls12()).record();
            let theirs = upstream::server_of(setup).receive(&hello);
            assert_eq!(ours, theirs, "{client:?} {offer:?}");
        }
    }
}

/// RFC 7250 §4.2: the client receives unsupported_certificate.
#[test]
fn no_common_type_causes_unsupported_certificate() {
    let lists = [
        (Kind::X509, 1),
        (Kind::X509, 2),
        (Kind::Raw, 0),
        (Kind::Raw, 1),
    ];
    for (versions, (kind, list)) in product(Versions::EACH, lists) {
        let usual = Setup::new(Provider::Ring).over(versions);
        let server = usual.with(kind, None);
        let client = usual.with(Kind::X509, Some(kind));
        for (setup, typ) in [
            (server, SERVER_CERTIFICATE_TYPE),
            (client, CLIENT_CERTIFICATE_TYPE),
        ] {
            let hello = match versions {
                Versions::Tls12 => ClientHello::tls12(),
                _ => ClientHello::new(),
            };
            let hello = hello.with(typ, u8_vec(&[list]));
            let mut server = this::server_of(setup);
            let error = server.receive(&hello.record()).unwrap_err();
            assert_eq!(error, INCORRECT, "{setup:?} {typ} {list}");
            let alert = server.take_output();
            let expected = u8::from(AlertDescription::UnsupportedCertificate);
            assert_eq!(alert.last(), Some(&expected));
        }
    }
}

#[test]
fn every_client_handles_every_answer_like_upstream() {
    let identity = Identity::new(Provider::Ring.this());
    let answers: [Option<&[u8]>; 6] = [
        None,
        Some(&[]),
        Some(&[0]),
        Some(&[1]),
        Some(&[2]),
        Some(&[2, 0]),
    ];
    for (server, client, requests) in product3(KINDS, CLIENT_KINDS, [false, true]) {
        for (of_server, of_client) in product(answers, answers) {
            let setup = Setup::new(Provider::Ring).with(server, client);
            let mut script = match requests {
                true => Script::with_request(),
                false => Script::new(),
            };
            let extensions = &mut script.encrypted_extensions;
            extensions.extend(of_server.map(|body| bytes(SERVER_CERTIFICATE_TYPE, body)));
            extensions.extend(of_client.map(|body| bytes(CLIENT_CERTIFICATE_TYPE, body)));

            let mut ours = this::client_of(setup);
            let ours = identity.run(&mut ours, &script);
            let mut for_upstream = setup;
            if !requests && client == Some(Kind::Raw) && of_client.is_none() {
                // RFC 7250 §4.2: the type is omitted if no certificate is requested. Upstream
                // interprets that as X.509
                for_upstream.client = None;
            }
            let config = upstream::client_config(for_upstream);
            let mut theirs = upstream::client(config);
            let mut theirs = identity.run(&mut theirs, &script);
            // RFC 7250 §4.2; upstream sends handshake_failure
            if theirs.error.as_deref() == Some(INCORRECT) {
                theirs.alert = Some(AlertDescription::UnsupportedCertificate);
            }
            let what = format!("{setup:?} {requests} {of_server:?} {of_client:?}");
            assert_eq!(ours, theirs, "{what}");
        }
    }
}
