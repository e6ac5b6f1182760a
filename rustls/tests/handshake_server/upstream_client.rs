//! Whole handshakes with upstream's client. `matrix` and `behaviour` have what both sides share.

use std::sync::{Arc, Mutex};

use harness::peers::configs::{self, ClientAuth, KeyType, Versions, product};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, UpstreamBuffered, check_both_certificates, handshake, send_and_check,
};
use harness::verifiers::upstream::Verifier;
use rustls_upstream::SignatureScheme;

use crate::handshake_server::servers::{PROVIDERS, Setup};

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// With certificates on both sides.
#[test]
fn every_suite_and_group() {
    for provider in PROVIDERS {
        let all = provider.upstream();
        let suites = all.cipher_suites.iter().filter(|it| it.tls13().is_some());
        for (suite, group) in product(suites, &all.kx_groups) {
            let mut crypto = all.clone();
            crypto.cipher_suites = vec![*suite];
            crypto.kx_groups = vec![*group];
            let auth = ClientAuth::Required;
            let client = configs::upstream::client(crypto, KEY_TYPE, auth);
            let server = configs::this::server(provider.this(), KEY_TYPE, auth);
            let mut client = UpstreamBuffered::client(client);
            let mut server = ThisBuffered::server(server);
            handshake(&mut client, &mut server);
            send_and_check(&mut client, &mut server, b"from the client");
            send_and_check(&mut server, &mut client, b"from the server");
            assert_eq!(
                server.negotiated(),
                format!(
                    "Some(TLSv1_3) Some({:?}) Some({:?}) {:?} Some(Full)",
                    suite.suite(),
                    group.name(),
                    Some(b"http/1.1")
                )
            );
            check_both_certificates(&client, &server, KEY_TYPE);
        }
    }
}

#[test]
fn ocsp_response_is_stapled() {
    for ocsp in [vec![], b"response".to_vec()] {
        let mut setup = Setup::new(PROVIDERS[0]);
        setup.ocsp = ocsp.clone();
        let seen = Arc::new(Mutex::new(None));
        let log = seen.clone();
        let verifier =
            Verifier::accepting(Versions::Tls13, &[SignatureScheme::ECDSA_NISTP256_SHA256])
                .with_certificates(move |it| {
                    *log.lock().unwrap() = Some(it.ocsp_response.to_vec());
                    Ok(())
                });
        let mut client =
            configs::upstream::client(PROVIDERS[0].upstream(), KEY_TYPE, ClientAuth::None);
        let mut dangerous = client.dangerous();
        dangerous.set_certificate_verifier(Arc::new(verifier));
        handshake(&mut UpstreamBuffered::client(client), &mut setup.ours());
        assert_eq!(*seen.lock().unwrap(), Some(ocsp));
    }
}
