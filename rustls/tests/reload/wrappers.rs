//! Applications' wrappers around reloading verifiers.

use std::sync::Arc;

use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::certificates::{ReloadingClientVerifier, ReloadingServerVerifier};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use crate::kit::{Authority, Dir, setups};
use crate::trust::{client_of, connect, of_clients, of_servers, roots};

/// A wrapper that only forwards the methods of rustls 0.23.
#[derive(Debug)]
struct Around<T>(T);

macro_rules! signatures {
    () => {
        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.0.supported_verify_schemes()
        }

        fn requires_raw_public_keys(&self) -> bool {
            self.0.requires_raw_public_keys()
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            signer: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.0.verify_tls13_signature(message, signer, signature)
        }

        fn verify_tls12_signature(
            &self,
            message: &[u8],
            signer: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.0.verify_tls12_signature(message, signer, signature)
        }
    };
}

macro_rules! server_verifier {
    ($inner:ty) => {
        impl ServerCertVerifier for Around<$inner> {
            signatures!();

            fn verify_server_cert(
                &self,
                end_entity: &CertificateDer<'_>,
                intermediates: &[CertificateDer<'_>],
                server_name: &ServerName<'_>,
                ocsp_response: &[u8],
                now: UnixTime,
            ) -> Result<ServerCertVerified, Error> {
                self.0.verify_server_cert(
                    end_entity,
                    intermediates,
                    server_name,
                    ocsp_response,
                    now,
                )
            }
        }
    };
}

server_verifier!(Arc<ReloadingServerVerifier>);
server_verifier!(Arc<dyn ServerCertVerifier>);

impl ClientCertVerifier for Around<Arc<ReloadingClientVerifier>> {
    signatures!();

    fn offer_client_auth(&self) -> bool {
        self.0.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.0.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.0.verify_client_cert(end_entity, intermediates, now)
    }
}

/// A client refuses a wrapper around a reloading verifier, because its sessions could not be told
/// apart. Wrapping each inner verifier works.
#[test]
fn a_client_refuses_a_wrapper_around_a_reloading_verifier() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    let identity = a.issue();
    for setup in setups() {
        let dir = Dir::new();
        let server = setup.server_config(
            WebPkiClientVerifier::no_client_auth(),
            identity.certified(setup.provider),
        );
        let inner = of_servers(&dir, setup.provider, &[&a]).build().unwrap();
        let outer = Arc::new(Around(inner));
        let client = setup.client_config(outer, identity.certified(setup.provider));
        let error = connect(setup, &client, &server).unwrap_err();
        assert!(error.contains("current_verifier"), "{setup:?}: {error}");

        let verifier = of_servers(&dir, setup.provider, &[&a])
            .wrapped_in(|inner| Arc::new(Around(inner)))
            .build()
            .unwrap();
        let client = setup.client_config(verifier.clone(), identity.certified(setup.provider));
        assert_eq!(connect(setup, &client, &server), Ok(false), "{setup:?}");
        assert_eq!(connect(setup, &client, &server), Ok(true), "{setup:?}");
        roots(&dir, &[&a, &b]);
        verifier.reload().unwrap();
        assert_eq!(connect(setup, &client, &server), Ok(false), "{setup:?}");
    }
}

/// A server's wrapper always uses the active verifier.
#[test]
fn a_server_s_wrapper_follows_reloads() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    let identity = a.issue();
    for setup in setups() {
        let dir = Dir::new();
        let inner = of_clients(&dir, setup.provider, &[&a]).build().unwrap();
        let outer = Arc::new(Around(inner.clone()));
        let server = setup.server_config(outer, a.issue().certified(setup.provider));
        let client = client_of(setup, &a, &identity);
        assert_eq!(connect(setup, &client, &server), Ok(false), "{setup:?}");
        assert_eq!(connect(setup, &client, &server), Ok(true), "{setup:?}");
        roots(&dir, &[&b]);
        inner.reload().unwrap();
        let error = connect(setup, &client, &server).unwrap_err();
        assert!(error.contains("UnknownIssuer"), "{setup:?}: {error}");
    }
}
