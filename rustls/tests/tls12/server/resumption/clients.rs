//! Resumption with client authentication, and with policies that change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::peers::configs::{ClientAuth, KeyType, Provider, Versions};
use harness::scripted::tls12::client::ScriptedClient;
use harness::verifiers::this::Verifier;
use rustls::server::WebPkiClientVerifier;
use rustls::{CertificateError, HandshakeType};

use super::{Pair, hello, offering, session, setups, this_server};
use crate::server::{Setup, servers};

/// Presents a certificate, which is verified in the full handshake only.
fn authenticate(client: &mut ScriptedClient) {
    let identity = &KeyType::EcdsaP256.identities().client;
    let key = rustls::crypto::ring::sign::any_supported_type(&identity.key()).unwrap();
    client
        .send(&ScriptedClient::certificate(&[&*identity.chain[0]]))
        .unwrap();
    let message = client.key_exchange();
    client.send(&message).unwrap();
    let message = client.certificate_verify(&*key, 0x0403);
    client.send(&message).unwrap();
    client.change_cipher_spec().unwrap();
    let message = client.finished();
    client.send(&message).unwrap();
}

#[test]
fn a_session_remembers_who_the_client_is() {
    for setup in setups() {
        let setup = Setup {
            auth: ClientAuth::Required,
            ..setup
        };
        for server in servers(setup) {
            let hello = hello(setup.tickets);
            let mut client = server.connect(&hello, None).unwrap();
            authenticate(&mut client);
            let certificates = client.server.peer_certificates();
            assert_eq!(certificates.len(), 1);
            let session = client.session();
            let offer = offering(&hello, &session);
            let mut client = server.connect(&offer, Some(&session)).unwrap();
            assert!(client.is_resumed());
            client.finish().unwrap();
            assert_eq!(client.server.peer_certificates(), certificates);
        }
    }
}

#[test]
fn sessions_do_not_bypass_stricter_policies() {
    for setup in setups() {
        // a session without a client certificate, where one is required
        let hello = hello(setup.tickets);
        for auth in [ClientAuth::OptionalPresent, ClientAuth::Required] {
            let asking = strict(setup.provider, auth);
            let pair = Pair::new(setup, |second| {
                let time_provider = second.time_provider.clone();
                let ticketer = second.ticketer.clone();
                let session_storage = second.session_storage.clone();
                *second = asking;
                second.time_provider = time_provider;
                second.ticketer = ticketer;
                second.session_storage = session_storage;
            });
            let session = session(&pair.first, &hello);
            let client = pair
                .second
                .connect(&offering(&hello, &session), Some(&session))
                .unwrap();
            assert!(!client.is_resumed());
            assert!(
                client
                    .message_of(HandshakeType::CertificateRequest)
                    .is_some()
            );
        }
    }
}

fn strict(provider: Provider, auth: ClientAuth) -> rustls::ServerConfig {
    let key_type = KeyType::EcdsaP256;
    harness::peers::configs::this::server_of(Versions::Tls12, provider.this(), key_type, auth)
}

#[test]
fn a_revoked_client_resumes_nothing() {
    for setup in setups() {
        let crypto = Arc::new(setup.provider.this());
        let key_type = KeyType::EcdsaP256;
        let roots = harness::peers::configs::this::roots(key_type);
        let inner = WebPkiClientVerifier::builder_with_provider(roots, crypto.clone());
        let inner = inner.build().unwrap();
        let revoked = Arc::new(AtomicBool::new(false));
        let is_revoked = revoked.clone();
        let verifier = Verifier::like_client_verifier(inner.clone()).with_certificates(move |it| {
            if is_revoked.load(Ordering::Relaxed) {
                return Err(CertificateError::Revoked.into());
            }
            it.verify_client_by(&*inner)
        });
        let identity = &key_type.identities().server;
        let (server, _) = this_server(setup, |config| {
            let ticketer = setup.tickets.then(rustls::crypto::ring::Ticketer::new);
            *config = rustls::ServerConfig::builder_with_provider(crypto)
                .with_protocol_versions(&[&rustls::version::TLS12])
                .unwrap()
                .with_client_cert_verifier(Arc::new(verifier))
                .with_single_cert(identity.chain.clone(), identity.key())
                .unwrap();
            if let Some(ticketer) = ticketer {
                config.ticketer = ticketer.unwrap();
            }
        });
        let hello = hello(setup.tickets);
        let mut client = server.connect(&hello, None).unwrap();
        authenticate(&mut client);
        let session = client.session();
        let offer = offering(&hello, &session);
        for refuses in [false, true, false] {
            revoked.store(refuses, Ordering::Relaxed);
            let client = server.connect(&offer, Some(&session)).unwrap();
            assert_eq!(client.is_resumed(), !refuses);
        }
    }
}
