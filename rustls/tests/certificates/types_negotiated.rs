//! client_certificate_type and server_certificate_type (RFC 7250): every offer to every server, and every answer
//! to every client, compared with 0.23.

use harness::client_hello::{CLIENT_CERTIFICATE_TYPE, ClientHello, SERVER_CERTIFICATE_TYPE};
use harness::configs::{Provider, Versions};
use harness::endpoints::Endpoint;
use harness::scripted::{Identity, Script, ScriptedClient, bytes};
use harness::wire::{Reader, u8_vec};
use rustls::{AlertDescription, HandshakeType};

use crate::kit::{KINDS, Kind, Setup, this, upstream};

const CLIENT_KINDS: [Option<Kind>; 3] = [None, Some(Kind::X509), Some(Kind::Raw)];

/// The lists of types that clients offer, none among them.
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

/// How a server answers a ClientHello: its EncryptedExtensions, or its error.
fn answer(
    new_server: &dyn Fn() -> Box<dyn Endpoint>,
    hello: &ClientHello,
) -> Result<Vec<(u16, Vec<u8>)>, String> {
    new_server().receive(&hello.record())?;
    let client = ScriptedClient::new(new_server(), &Provider::Ring.this(), hello.clone());
    let typ = HandshakeType::EncryptedExtensions.into();
    Ok(Reader::of_message(&client.flight[0], typ).extensions())
}

#[test]
fn every_offer_to_every_server() {
    let (mut accepted, mut refused) = (0, 0);
    for server in KINDS {
        for client in CLIENT_KINDS {
            let setup = Setup {
                server,
                client,
                ..Setup::new(Provider::Ring)
            };
            for of_client in LISTS {
                for of_server in LISTS {
                    let mut hello = ClientHello::new();
                    if let Some(list) = of_client {
                        hello = hello.with(CLIENT_CERTIFICATE_TYPE, u8_vec(list));
                    }
                    if let Some(list) = of_server {
                        hello = hello.with(SERVER_CERTIFICATE_TYPE, u8_vec(list));
                    }
                    let new = || Box::new(this::server(this::server_config(setup))) as _;
                    let ours = answer(&new, &hello);
                    let new = || Box::new(upstream::server(upstream::server_config(setup))) as _;
                    let theirs = answer(&new, &hello);
                    assert_eq!(ours, theirs, "{setup:?} {of_client:?} {of_server:?}");
                    match ours {
                        Ok(_) => accepted += 1,
                        Err(_) => refused += 1,
                    }
                }
            }
        }
    }
    assert!(accepted > 50 && refused > 50, "{accepted} {refused}");
}

/// In TLS 1.2, where a server with certificates goes by the same rules.
#[test]
fn every_offer_with_tls12() {
    for client in [None, Some(Kind::X509)] {
        let setup = Setup {
            versions: Versions::Tls12,
            client,
            ..Setup::new(Provider::Ring)
        };
        for of_client in LISTS {
            for of_server in LISTS {
                let mut hello = ClientHello::tls12();
                if let Some(list) = of_client {
                    hello = hello.with(CLIENT_CERTIFICATE_TYPE, u8_vec(list));
                }
                if let Some(list) = of_server {
                    hello = hello.with(SERVER_CERTIFICATE_TYPE, u8_vec(list));
                }
                let hello = hello.record();
                let ours = this::server(this::server_config(setup)).receive(&hello);
                let theirs = upstream::server(upstream::server_config(setup)).receive(&hello);
                assert_eq!(ours, theirs, "{client:?} {of_client:?} {of_server:?}");
            }
        }
    }
}

/// RFC 7250 §4.2: the client is told unsupported_certificate.
#[test]
fn nothing_in_common_is_an_unsupported_certificate() {
    for (server, list) in [(Kind::X509, 2), (Kind::Raw, 0)] {
        let setup = Setup {
            server,
            ..Setup::new(Provider::Ring)
        };
        let hello = ClientHello::new().with(SERVER_CERTIFICATE_TYPE, u8_vec(&[list]));
        let mut server = this::server(this::server_config(setup));
        let error = server.receive(&hello.record()).unwrap_err();
        assert_eq!(error, "PeerIncompatible(IncorrectCertificateTypeExtension)");
        let alert = server.take_output();
        let expected = u8::from(AlertDescription::UnsupportedCertificate);
        assert_eq!(alert.last(), Some(&expected));
    }
}

#[test]
fn every_answer_to_every_client() {
    let identity = Identity::new(Provider::Ring.this());
    let answers: [Option<&[u8]>; 6] = [
        None,
        Some(&[]),
        Some(&[0]),
        Some(&[1]),
        Some(&[2]),
        Some(&[2, 0]),
    ];
    for server in KINDS {
        for client in CLIENT_KINDS {
            for requests in [false, true] {
                for of_server in answers {
                    for of_client in answers {
                        let setup = Setup {
                            server,
                            client,
                            ..Setup::new(Provider::Ring)
                        };
                        let mut script = if requests {
                            Script::with_request()
                        } else {
                            Script::new()
                        };
                        let extensions = &mut script.encrypted_extensions;
                        extensions
                            .extend(of_server.map(|body| bytes(SERVER_CERTIFICATE_TYPE, body)));
                        extensions
                            .extend(of_client.map(|body| bytes(CLIENT_CERTIFICATE_TYPE, body)));

                        let mut ours = this::client(this::client_config(setup));
                        let ours = identity.run(&mut ours, &script);
                        let mut theirs = upstream::client(upstream::client_config(setup));
                        let mut theirs = identity.run(&mut theirs, &script);
                        // RFC 7250 §4.2; 0.23 says handshake_failure
                        const INCORRECT: &str =
                            "PeerIncompatible(IncorrectCertificateTypeExtension)";
                        if theirs.error.as_deref() == Some(INCORRECT) {
                            theirs.alert = Some(AlertDescription::UnsupportedCertificate);
                        }
                        assert_eq!(
                            ours, theirs,
                            "{setup:?} {requests} {of_server:?} {of_client:?}"
                        );
                    }
                }
            }
        }
    }
}
