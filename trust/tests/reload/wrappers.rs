//! Applications' wrappers around reloading verifiers.

use std::sync::Arc;

use harness::operations::ends::End;
use harness::operations::schedules::pump;
use harness::operations::{Plan, Slow, When};
use harness::peers::configs::Versions;
use harness::verifiers::hooked::{Hook, Hooked};
use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::operation::BoxFuture;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, ServerConnection,
    SignatureScheme,
};
use rustls_trust::ReloadingServerVerifier;

use crate::reload::kit::{Authority, Dir, SERVER, Setup, setups};
use crate::reload::trust::{connect, of_clients, of_servers, refused, roots};

/// Does nothing, so that the wrapper only forwards. It does not forward `current_verifier`.
#[derive(Debug)]
struct Nothing;

impl Hook for Nothing {
    fn called(&self, _: &'static str) -> bool {
        false
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
        let server = setup.server_of(&identity);
        let inner = of_servers(&dir, setup.provider, &[&a]).build().unwrap();
        let outer = Hooked::new(inner, Nothing);
        let client = setup.client_config(outer, identity.certified(setup.provider));
        refused(setup, &client, &server, "current_verifier");

        let verifier = of_servers(&dir, setup.provider, &[&a])
            .wrapped_in(|inner| Hooked::new(inner, Nothing))
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
        let outer = Hooked::new(inner.clone(), Nothing);
        let server = setup.server_config(outer, a.issue().certified(setup.provider));
        let client = setup.client_of(&a, &identity);
        assert_eq!(connect(setup, &client, &server), Ok(false), "{setup:?}");
        assert_eq!(connect(setup, &client, &server), Ok(true), "{setup:?}");
        roots(&dir, &[&b]);
        inner.reload().unwrap();
        refused(setup, &client, &server, "UnknownIssuer");
    }
}

/// Connects, with operations that take time.
fn connect_over_time(client: Arc<ClientConfig>, server: Arc<ServerConfig>) {
    let name = ServerName::try_from(SERVER).unwrap();
    let mut client = ClientConnection::new(client, name).unwrap();
    let mut server = ServerConnection::new(server).unwrap();
    client.set_async(true);
    server.set_async(true);
    let [mut client, mut server] = [End::Buffered(client.into()), End::Buffered(server.into())];
    assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
    assert!(!client.is_handshaking() && !server.is_handshaking());
}

/// Returns the operation that verifies a signature.
fn verification(setup: Setup) -> &'static str {
    match setup.versions {
        Versions::Tls12 => "verify_tls12_signature",
        _ => "verify_tls13_signature",
    }
}

/// A server's wrapper reaches the futures of the active verifier.
#[test]
fn a_wrapper_of_a_server_s_verifier_is_asynchronous() {
    let ca = Authority::new("a");
    let identity = ca.issue();
    for setup in setups() {
        let (dir, plan) = (Dir::new(), Arc::new(Plan::new(When::After(1))));
        let slow = plan.clone();
        let inner = of_clients(&dir, setup.provider, &[&ca])
            .wrapped_in(move |inner| Slow::new(inner, &slow))
            .build()
            .unwrap();
        let outer = Hooked::new(inner, Nothing);
        let server = setup.server_config(outer, ca.issue().certified(setup.provider));
        connect_over_time(setup.client_of(&ca, &identity), server);
        assert!(plan.asked().contains("verify_client_cert"), "{setup:?}");
        assert!(plan.asked().contains(verification(setup)), "{setup:?}");
    }
}

/// Accepts every chain, and lets a reloading verifier verify signatures.
#[derive(Debug)]
struct OnlySignatures(Arc<ReloadingServerVerifier>);

impl ServerCertVerifier for OnlySignatures {
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }

    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, signer, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, signer, signature)
    }

    fn verify_tls12_signature_async(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Option<BoxFuture<Result<HandshakeSignatureValid, Error>>> {
        self.0
            .verify_tls12_signature_async(message, signer, signature)
    }

    fn verify_tls13_signature_async(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Option<BoxFuture<Result<HandshakeSignatureValid, Error>>> {
        self.0
            .verify_tls13_signature_async(message, signer, signature)
    }
}

/// A client's wrapper that verifies signatures by the active verifier reaches its futures.
#[test]
fn a_wrapper_of_a_client_s_verifier_verifies_signatures_asynchronously() {
    let ca = Authority::new("a");
    let identity = ca.issue();
    for setup in setups() {
        let (dir, plan) = (Dir::new(), Arc::new(Plan::new(When::After(1))));
        let slow = plan.clone();
        let inner = of_servers(&dir, setup.provider, &[&ca])
            .wrapped_in(move |inner| Slow::new(inner, &slow))
            .build()
            .unwrap();
        let outer = Arc::new(OnlySignatures(inner));
        let client = setup.client_config(outer, identity.certified(setup.provider));
        connect_over_time(client, setup.server_of(&identity));
        assert!(plan.asked().contains(verification(setup)), "{setup:?}");
    }
}
