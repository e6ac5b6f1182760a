//! Resumption with client authentication, and with policies that change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::peers::configs::{ClientAuth, KeyType};
use harness::verifiers::this::Verifier;
use rustls::server::WebPkiClientVerifier;
use rustls::{CertificateError, HandshakeType, ServerConfig};

use super::{Pair, hello, offering, session, this_server};
use crate::tls12::server::{Setup, authenticate, servers};

#[test]
fn a_session_remembers_who_the_client_is() {
    for setup in Setup::all() {
        let setup = Setup {
            auth: ClientAuth::Required,
            ..setup
        };
        for server in servers(setup) {
            let hello = hello(setup.tickets);
            let mut client = server.connect(&hello, None).unwrap();
            authenticate(&mut client, KeyType::EcdsaP256, 0x0403);
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
    for setup in Setup::all() {
        // a session without a client certificate, where one is required
        let hello = hello(setup.tickets);
        for auth in [ClientAuth::OptionalPresent, ClientAuth::Required] {
            let stricter = Setup { auth, ..setup };
            let pair = Pair::new(setup, |second| {
                let first = std::mem::replace(second, stricter.config());
                second.time_provider = first.time_provider;
                second.ticketer = first.ticketer;
                second.session_storage = first.session_storage;
            });
            let session = session(&pair.first, &hello);
            let offer = offering(&hello, &session);
            let client = pair.second.connect(&offer, Some(&session)).unwrap();
            assert!(!client.is_resumed());
            let request = client.message_of(HandshakeType::CertificateRequest);
            assert!(request.is_some(), "{setup:?} {auth:?}");
        }
    }
}

#[test]
fn a_revoked_client_resumes_nothing() {
    for setup in Setup::all() {
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
        let (server, _) = this_server(setup, |config| {
            let first = config.clone();
            *config = ServerConfig::builder_with_provider(crypto)
                .with_protocol_versions(&[&rustls::version::TLS12])
                .unwrap()
                .with_client_cert_verifier(Arc::new(verifier))
                .with_cert_resolver(first.cert_resolver);
            config.ticketer = first.ticketer;
        });
        let hello = hello(setup.tickets);
        let mut client = server.connect(&hello, None).unwrap();
        authenticate(&mut client, KeyType::EcdsaP256, 0x0403);
        let session = client.session();
        let offer = offering(&hello, &session);
        for refuses in [false, true, false] {
            revoked.store(refuses, Ordering::Relaxed);
            let client = server.connect(&offer, Some(&session)).unwrap();
            assert_eq!(client.is_resumed(), !refuses);
        }
    }
}
