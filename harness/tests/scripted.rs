//! The scripted peers are good ones unless told otherwise: upstream takes them for such.

use std::sync::Arc;

use harness::client_hello::{ClientHello, EXTENDED_MASTER_SECRET, SESSION_TICKET};
use harness::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions};
use harness::endpoints::{Endpoint, UpstreamBuffered};
use harness::scripted::Identity;
use harness::scripted::tls12::client::ScriptedClient;
use harness::scripted::tls12::server::{Script, Step};
use rustls::{ContentType, HandshakeType};
use rustls_upstream as upstream;

fn upstream_client(
    provider: Provider,
    identity: &Identity,
    auth: ClientAuth,
) -> Arc<upstream::ClientConfig> {
    let provider = provider.upstream();
    let mut config =
        configs::upstream::client_of(Versions::Tls12, provider, KeyType::EcdsaP256, auth);
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
    UpstreamBuffered::new(upstream::ClientConnection::new(config.clone(), name).unwrap())
}

#[test]
fn tls12_server_is_taken_for_a_good_one() {
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
            ("asking", ClientAuth::Required, Script::with_request()),
            ("asking in vain", ClientAuth::None, Script::with_request()),
        ] {
            let mut client = connect(&upstream_client(provider, &identity, auth));
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
fn tls12_server_resumes_by_id_and_by_ticket() {
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        for script in [
            Script::new().with_session_id(&[7; 32]),
            Script::with_ticket(),
        ] {
            let config = upstream_client(provider, &identity, ClientAuth::None);
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
fn tls12_client_is_taken_for_a_good_one_and_resumes() {
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
            let server = || -> Box<dyn Endpoint> {
                let conn = upstream::ServerConnection::new(config.clone()).unwrap();
                Box::new(UpstreamBuffered::new(conn))
            };
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
