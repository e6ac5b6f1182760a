//! Unless a script says otherwise, the scripted peers are correct: upstream completes handshakes
//! with them.

use std::io::Write;
use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use harness::scripted::tls12::client::ScriptedClient;
use harness::scripted::tls12::server::{Script, Step};
use harness::scripted::{self, Identity};
use harness::wire::client_hello::{
    ClientHello, EARLY_DATA, EXTENDED_MASTER_SECRET, PSK_KEY_EXCHANGE_MODES, SESSION_TICKET,
};
use harness::wire::{Reader, message, u8_vec, u16_vec};
use rustls::{ContentType, HandshakeType};
use rustls_upstream as upstream;

fn upstream_client(
    versions: Versions,
    provider: Provider,
    identity: &Identity,
    auth: ClientAuth,
) -> Arc<upstream::ClientConfig> {
    let provider = provider.upstream();
    let mut config = configs::upstream::client_of(versions, provider, KeyType::EcdsaP256, auth);
    let mut roots = upstream::RootCertStore::empty();
    roots.add(identity.certificate.clone()).unwrap();
    let verifier = upstream::client::WebPkiServerVerifier::builder_with_provider(
        Arc::new(roots),
        config.crypto_provider().clone(),
    );
    let verifier = verifier.build().unwrap();
    config.dangerous().set_certificate_verifier(verifier);
    Arc::new(config)
}

fn connect(config: &Arc<upstream::ClientConfig>) -> UpstreamBuffered {
    let name = "localhost".try_into().unwrap();
    UpstreamBuffered::client_of(name, config.clone())
}

#[test]
fn upstream_accepts_the_tls12_server() {
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        let data = Step::Raw(ContentType::ApplicationData, b"hello".to_vec());
        for (what, auth, script) in [
            ("usual", ClientAuth::None, Script::new()),
            (
                "without extended master secret",
                ClientAuth::None,
                Script::new().edit(|script| {
                    let extensions = &mut script.hello.extensions;
                    extensions.retain(|(typ, _)| *typ != EXTENDED_MASTER_SECRET);
                }),
            ),
            (
                "with a request",
                ClientAuth::Required,
                Script::with_request(),
            ),
            (
                "with a declined request",
                ClientAuth::None,
                Script::with_request(),
            ),
        ] {
            let mut client = connect(&upstream_client(Versions::Tls12, provider, &identity, auth));
            let script = script.edit(|script| script.steps.push(data.clone()));
            let outcome = identity.run_tls12(&mut client, &script);
            assert_eq!(outcome.error, None, "{what}");
            assert!(outcome.client_finished, "{what}");
            let mut plaintext = Vec::new();
            client.read_into(&mut plaintext);
            assert_eq!(plaintext, b"hello", "{what}");
        }
    }
}

#[test]
fn the_tls12_server_resumes_by_id_and_by_ticket() {
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        for script in [
            Script::new().with_session_id(&[7; 32]),
            Script::with_ticket(),
        ] {
            let config = upstream_client(Versions::Tls12, provider, &identity, ClientAuth::None);
            let first = identity.run_tls12(&mut connect(&config), &script);
            assert!(first.client_finished && first.error.is_none());
            let mut client = connect(&config);
            let resumed = Script::resuming(first.session.unwrap());
            let outcome = identity.run_tls12(&mut client, &resumed);
            assert_eq!(outcome.error, None);
            assert_eq!(outcome.received, [HandshakeType::Finished]);
            assert!(outcome.client_finished);
            let resumed = upstream::HandshakeKind::Resumed;
            assert_eq!(client.conn.handshake_kind(), Some(resumed));
        }
    }
}

#[test]
fn upstream_accepts_and_resumes_the_tls12_client() {
    for provider in PROVIDERS {
        let ours = provider.this();
        for tickets in [false, true] {
            let mut config = configs::upstream::server_of(
                Versions::Tls12,
                provider.upstream(),
                KeyType::EcdsaP256,
                ClientAuth::None,
            );
            if tickets {
                config.ticketer = upstream::crypto::ring::Ticketer::new().unwrap();
            }
            let config = Arc::new(config);
            let server =
                || -> Box<dyn Endpoint> { Box::new(UpstreamBuffered::server(config.clone())) };
            let mut hello = ClientHello::tls12();
            if tickets {
                hello = hello.with(SESSION_TICKET, vec![]);
            }
            let mut client = ScriptedClient::new(server(), &ours, &hello, None).unwrap();
            client.finish().unwrap();
            assert!(client.server_finished && !client.is_resumed());
            client
                .send_raw(ContentType::ApplicationData, b"hello")
                .unwrap();
            assert_eq!(client.received_by_server(), b"hello");

            let session = client.session();
            assert_eq!(session.ticket.is_empty(), !tickets);
            hello.session_id = if tickets {
                vec![8; 32]
            } else {
                session.id.clone()
            };
            if tickets {
                hello = hello.with(SESSION_TICKET, session.ticket.clone());
            }
            let mut client = ScriptedClient::new(server(), &ours, &hello, Some(&session)).unwrap();
            client.finish().unwrap();
            assert!(client.server_finished && client.is_resumed());
        }
    }
}

const NONCE: [u8; 2] = [7, 8];

/// A ticket that allows `max_early_data` bytes of early data.
fn ticket(max_early_data: u32) -> Vec<u8> {
    let allowed = [
        &EARLY_DATA.to_be_bytes()[..],
        &u16_vec(&max_early_data.to_be_bytes()),
    ];
    let body = [
        &3600_u32.to_be_bytes()[..],
        &[0; 4],
        &u8_vec(&NONCE),
        &u16_vec(b"ticket"),
        &u16_vec(&allowed.concat()),
    ];
    message(HandshakeType::NewSessionTicket.into(), &body.concat())
}

#[test]
fn the_tls13_server_resumes_and_accepts_early_data() {
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        for accepts in [None, Some(false), Some(true)] {
            let mut config =
                (*upstream_client(Versions::Tls13, provider, &identity, ClientAuth::None)).clone();
            config.enable_early_data = accepts.is_some();
            let config = Arc::new(config);
            let mut first = scripted::Script::new();
            first.post_handshake = vec![ticket(1000)];
            let first = identity.converse(&mut connect(&config), &first);
            assert_eq!(first.outcome.error, None);

            let mut client = connect(&config);
            if let upstream::Connection::Client(conn) = &mut client.conn {
                assert_eq!(conn.early_data().is_some(), accepts.is_some());
                if let Some(mut early) = conn.early_data() {
                    early.write_all(b"early").unwrap();
                }
            }
            let mut script = scripted::Script::resuming(first.ticket_psk(&NONCE));
            if accepts == Some(true) {
                script = script.accepting_early_data();
            }
            let conversation = identity.converse(&mut client, &script);
            assert_eq!(conversation.outcome.error, None, "{accepts:?}");
            let finished = conversation.messages.last().unwrap()[0];
            assert_eq!(finished, HandshakeType::Finished.into(), "{accepts:?}");
            // it has the key, so it also reads early data that it rejects
            let early: &[u8] = if accepts.is_some() { b"early" } else { b"" };
            assert_eq!(conversation.early_data, early);
            let resumed = upstream::HandshakeKind::Resumed;
            assert_eq!(client.conn.handshake_kind(), Some(resumed));
        }
    }
}

#[test]
fn the_tls13_client_resumes_and_sends_early_data() {
    for provider in PROVIDERS {
        let ours = provider.this();
        let mut config =
            configs::upstream::server(provider.upstream(), KeyType::EcdsaP256, ClientAuth::None);
        config.max_early_data_size = 1000;
        let config = Arc::new(config);
        let server = || -> Box<dyn Endpoint> { Box::new(UpstreamBuffered::server(config.clone())) };
        let hello = || {
            ClientHello::new()
                .with(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]))
                .edit(|hello| hello.cipher_suites = vec![0x1301])
        };
        for early_data in [false, true] {
            let mut first = scripted::ScriptedClient::new(server(), &ours, hello());
            first.finish().unwrap();
            let ticket = first.flight.last().unwrap();
            let mut body = Reader::of_message(ticket, HandshakeType::NewSessionTicket.into());
            let (_lifetime, age_add) = (body.number(4), body.number(4));
            let (nonce, ticket) = (body.vector(1), body.vector(2));
            let psk = first.ticket_psk(nonce);
            let suite = rustls::CipherSuite::TLS13_AES_128_GCM_SHA256;
            let mut offer = scripted::OfferedPsk::new(suite, psk, ticket, age_add as u32);
            offer.early_data = early_data;
            let mut client =
                scripted::ScriptedClient::offering(server(), &ours, hello(), Some(&offer)).unwrap();
            assert!(client.is_resumed);
            assert_eq!(client.early_data_accepted(), early_data);
            if early_data {
                client
                    .send_raw(ContentType::ApplicationData, b"early")
                    .unwrap();
                client.end_early_data().unwrap();
            }
            client.finish().unwrap();
            client
                .send_raw(ContentType::ApplicationData, b"hello")
                .unwrap();
            assert_eq!(client.received_by_server(), b"hello");
        }
    }
}
