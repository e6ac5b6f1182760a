//! Resumption skips the client's certificate. So a session resumes only if it proves as much as the
//! certificate would.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::peers::callbacks::this::Sessions;
use harness::peers::configs::{self, ClientAuth, KeyType, Versions, product};
use harness::peers::endpoints::{Endpoint, ThisBuffered, exchange};
use harness::peers::servers::{KEY_TYPE, Server, Settings};
use harness::verifiers::this::Verifier;
use rustls::client::Resumption;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ServerConfig};

use crate::resumption::kind_of;

fn client(settings: &Settings, auth: ClientAuth) -> Arc<ClientConfig> {
    let (versions, provider) = (settings.versions, settings.provider.this());
    Arc::new(configs::this::client_of(versions, provider, KEY_TYPE, auth))
}

/// Connects and returns the kind of handshake, or the error.
fn connect(client: &Arc<ClientConfig>, config: &Arc<ServerConfig>, unbuffered: bool) -> String {
    let mut client = ThisBuffered::client(client.clone());
    let server = match unbuffered {
        true => Server::Unbuffered(config.clone()),
        false => Server::Buffered(config.clone()),
    };
    let mut server = server.accept();
    match exchange(&mut client, &mut *server) {
        Ok(()) => kind_of(&*server),
        Err(error) => error,
    }
}

/// Creates a server with this policy, and another one that shares its sessions.
fn sharing(settings: &Settings, auths: [ClientAuth; 2]) -> [Arc<ServerConfig>; 2] {
    let [first, mut second] = auths.map(|auth| {
        let settings = settings.clone();
        Settings { auth, ..settings }.ours()
    });
    second.session_storage = first.session_storage.clone();
    second.ticketer = first.ticketer.clone();
    [first.into(), second.into()]
}

/// Returns the configuration of a server with this verifier, and the sessions of `with`.
fn verifying(
    settings: &Settings,
    verifier: Arc<dyn ClientCertVerifier>,
    with: &ServerConfig,
) -> Arc<ServerConfig> {
    let crypto = Arc::new(settings.provider.this());
    let mut config = ServerConfig::builder_with_provider(crypto)
        .with_protocol_versions(&settings.versions.choose(&TLS12, &TLS13))
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(with.cert_resolver.clone());
    config.session_storage = with.session_storage.clone();
    config.ticketer = with.ticketer.clone();
    Arc::new(config)
}

/// Runs `test` with all settings and APIs. It prints them, because most messages do not.
fn all(test: impl Fn(&Settings, bool)) {
    let versions = [Versions::Tls12, Versions::Tls13];
    for mut settings in Settings::all() {
        for (versions, unbuffered) in product(versions, [false, true]) {
            settings.versions = versions;
            println!("{settings:?}, unbuffered: {unbuffered}");
            test(&settings, unbuffered);
        }
    }
}

/// Uses servers with shared sessions but different policies.
#[test]
fn no_session_is_resumed_under_another_client_auth_setting() {
    use ClientAuth::{OptionalPresent, Required};
    let auths = [ClientAuth::None, OptionalPresent, Required];
    all(|settings, unbuffered| {
        for (first, second) in product(auths, auths) {
            let client = client(settings, Required);
            let [before, after] = sharing(settings, [first, second]);
            assert_eq!(connect(&client, &before, unbuffered), "Full");
            let kind = connect(&client, &after, unbuffered);
            let expected = if first == second { "Resumed" } else { "Full" };
            assert_eq!(kind, expected, "{first:?} {second:?}");
        }
    });
}

/// A session without a certificate does not satisfy a server that requires one.
#[test]
fn a_session_does_not_replace_required_authentication() {
    all(|settings, unbuffered| {
        for first in [ClientAuth::None, ClientAuth::OptionalAbsent] {
            let client = client(settings, ClientAuth::None);
            let [before, after] = sharing(settings, [first, ClientAuth::Required]);
            assert_eq!(connect(&client, &before, unbuffered), "Full");
            let error = connect(&client, &after, unbuffered);
            assert_eq!(error, "server: NoCertificatesPresented");
        }
    });
}

/// Uses verifiers with other roots, also without sending their names to clients.
#[test]
fn sessions_do_not_resume_under_other_roots() {
    all(|settings, unbuffered| {
        let first = settings.ours();
        let with_roots_of = |key_type| {
            let roots = configs::this::roots(key_type);
            let crypto = Arc::new(settings.provider.this());
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, crypto);
            let verifier = verifier.clear_root_hint_subjects().build().unwrap();
            verifying(settings, verifier, &first)
        };
        let client = client(settings, ClientAuth::Required);
        let [before, same] = [(); 2].map(|()| with_roots_of(KEY_TYPE));
        let other = with_roots_of(KeyType::EcdsaP256);
        assert_eq!(connect(&client, &before, unbuffered), "Full");
        assert_eq!(connect(&client, &same, unbuffered), "Resumed");
        let error = connect(&client, &other, unbuffered);
        assert!(error.contains("UnknownIssuer"), "{error}");
    });
}

/// The verifier is called at each resumption, because a certificate may have been revoked or
/// expired.
#[test]
fn a_certificate_that_is_refused_is_not_resumed() {
    all(|settings, unbuffered| {
        let (verifier, config) = Changing::new(settings);
        let mut client = (*client(settings, ClientAuth::Required)).clone();
        let store = Sessions::when(|call| call != "remove_tls12_session");
        client.resumption = Resumption::store(store);
        let client = Arc::new(client);
        assert_eq!(connect(&client, &config, unbuffered), "Full");
        assert_eq!(connect(&client, &config, unbuffered), "Resumed");
        verifier.revoked.store(true, Ordering::SeqCst);
        let error = connect(&client, &config, unbuffered);
        assert_eq!(error, "server: InvalidCertificate(Revoked)");
        // its sessions stay
        verifier.revoked.store(false, Ordering::SeqCst);
        assert_eq!(connect(&client, &config, unbuffered), "Resumed");
    });
}

/// A verifier starts to require certificates while a client without one connects.
#[test]
fn a_session_without_a_certificate_does_not_satisfy_a_new_requirement() {
    all(|settings, unbuffered| {
        let (verifier, config) = Changing::new(settings);
        verifier.is_optional.store(true, Ordering::SeqCst);
        let client = client(settings, ClientAuth::None);
        assert_eq!(connect(&client, &config, unbuffered), "Full");
        assert_eq!(connect(&client, &config, unbuffered), "Resumed");

        let mut early = ThisBuffered::client(client.clone());
        let mut server = Server::Unbuffered(config.clone()).accept();
        server.receive(&early.take_output()).unwrap();
        verifier.is_optional.store(false, Ordering::SeqCst);
        exchange(&mut early, &mut *server).unwrap();
        let error = connect(&client, &config, unbuffered);
        assert_eq!(error, "server: NoCertificatesPresented");
    });
}

/// A server that accepts any certificate until a test sets `revoked`. Certificates can be optional.
struct Changing {
    revoked: Arc<AtomicBool>,
    is_optional: Arc<AtomicBool>,
}

impl Changing {
    fn new(settings: &Settings) -> (Self, Arc<ServerConfig>) {
        let (revoked, is_optional) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let crypto = settings.provider.this();
        let is_revoked = revoked.clone();
        let verifier = Verifier::checking_signatures(crypto.signature_verification_algorithms)
            .with_certificates(move |_| match is_revoked.load(Ordering::SeqCst) {
                true => Err(rustls::CertificateError::Revoked.into()),
                false => Ok(()),
            })
            .optional_while(Arc::clone(&is_optional));
        let config = verifying(settings, Arc::new(verifier), &settings.ours());
        let changing = Self {
            revoked,
            is_optional,
        };
        (changing, config)
    }
}
