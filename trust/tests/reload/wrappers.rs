//! Tests of applications' wrappers around reloading verifiers.

use std::sync::Arc;

use harness::operations::ends::End;
use harness::operations::schedules::pump;
use harness::operations::{Plan, Slow, When};
use harness::peers::configs::{Versions, server_name};
use harness::verifiers::hooked::{Hook, Hooked};
use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::operation::BoxFuture;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, ServerConnection,
    SignatureScheme,
};
use rustls_trust::ReloadingServerVerifier;

use crate::directory::Directory;
use crate::reload::kit::{Authority, setups};
use crate::reload::trust::{connects, of_clients, of_servers, refused, roots};

/// Hooks that do nothing, so that the wrapper only forwards calls. It does not forward
/// `current_verifier`.
#[derive(Debug)]
struct Nothing;

impl Hook for Nothing {
    fn called(&self, _: &'static str) -> bool {
        false
    }
}

/// A client rejects a wrapper around a reloading verifier, because sessions of different roots
/// could not be distinguished. Wrapping each inner verifier works.
#[test]
fn a_client_refuses_a_wrapper_around_a_reloading_verifier() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    let identity = a.issue();
    for setup in setups() {
        let dir = Directory::new();
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
        connects(setup, &client, &server, [false, true]);
        roots(&dir, &[&a, &b]);
        verifier.reload().unwrap();
        connects(setup, &client, &server, [false]);
    }
}

/// A server's wrapper always uses the active verifier.
#[test]
fn a_servers_wrapper_uses_the_active_verifier() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    let identity = a.issue();
    for setup in setups() {
        let dir = Directory::new();
        let inner = of_clients(&dir, setup.provider, &[&a]).build().unwrap();
        let outer = Hooked::new(inner.clone(), Nothing);
        let server = setup.server_config(outer, a.issue().certified(setup.provider));
        let client = setup.client_of(&a, &identity);
        connects(setup, &client, &server, [false, true]);
        roots(&dir, &[&b]);
        inner.reload().unwrap();
        refused(setup, &client, &server, "UnknownIssuer");
    }
}

/// Connects, with operations that take time.
fn connect_async(client: Arc<ClientConfig>, server: Arc<ServerConfig>) {
    let mut client = ClientConnection::new(client, server_name()).unwrap();
    let mut server = ServerConnection::new(server).unwrap();
    client.set_async(true);
    server.set_async(true);
    let [mut client, mut server] = [End::Buffered(client.into()), End::Buffered(server.into())];
    assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
    assert!(!client.is_handshaking() && !server.is_handshaking());
}

/// A verifier that accepts every chain, and delegates signatures to a reloading verifier.
#[derive(Debug)]
struct OnlySignatures(Arc<ReloadingServerVerifier>);

type Later<T> = Option<BoxFuture<Result<T, Error>>>;

macro_rules! forwarded {
    ($name:ident -> $out:ty) => {
        fn $name(
            &self,
            message: &[u8],
            signer: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> $out {
            self.0.$name(message, signer, signature)
        }
    };
}

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

    forwarded!(verify_tls12_signature -> Result<HandshakeSignatureValid, Error>);
    forwarded!(verify_tls13_signature -> Result<HandshakeSignatureValid, Error>);
    forwarded!(verify_tls12_signature_async -> Later<HandshakeSignatureValid>);
    forwarded!(verify_tls13_signature_async -> Later<HandshakeSignatureValid>);
}

/// Wrappers return the futures of the active verifiers: a server's wrapper of the whole verifier,
/// and a client's that only delegates signatures.
#[test]
fn wrappers_return_the_futures_of_the_active_verifiers() {
    let ca = Authority::new("a");
    let identity = ca.issue();
    for setup in setups() {
        let dir = Directory::new();
        let plans = [(); 2].map(|()| Arc::new(Plan::new(When::After(1))));
        let [of_server, of_client] = plans.clone();
        let clients = of_clients(&dir, setup.provider, &[&ca])
            .wrapped_in(move |inner| Slow::new(inner, &of_server))
            .build()
            .unwrap();
        let servers = of_servers(&dir, setup.provider, &[&ca])
            .wrapped_in(move |inner| Slow::new(inner, &of_client))
            .build()
            .unwrap();
        let (outer, key) = (Hooked::new(clients, Nothing), ca.issue());
        let server = setup.server_config(outer, key.certified(setup.provider));
        let outer = Arc::new(OnlySignatures(servers));
        let client = setup.client_config(outer, identity.certified(setup.provider));
        connect_async(client, server);
        assert!(
            plans[0].futures().contains("verify_client_cert"),
            "{setup:?}"
        );
        let verified = match setup.versions {
            Versions::Tls12 => "verify_tls12_signature",
            _ => "verify_tls13_signature",
        };
        for plan in plans {
            assert!(plan.futures().contains(verified), "{setup:?}");
        }
    }
}
