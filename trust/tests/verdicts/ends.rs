//! The ends of a connection: a judge of this crate or of upstream, and an upstream peer that
//! presents any credential.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product3};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use pki_types::{PrivateKeyDer, UnixTime};
use rustls_upstream as theirs;

use crate::verdicts::cases::{Credential, Trust};

/// The end that judges the other's certificates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// The settings that all connections of a test share.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) provider: Provider,
    pub(crate) versions: Versions,
    /// The judge's side.
    pub(crate) side: Side,
    /// True if sessions are resumed.
    pub(crate) resumes: bool,
    pub(crate) clock: Arc<Clock>,
}

impl Setup {
    pub(crate) fn new(provider: Provider, versions: Versions, side: Side, resumes: bool) -> Self {
        Self {
            provider,
            versions,
            side,
            resumes,
            clock: Arc::new(Clock::default()),
        }
    }

    /// Every provider, version and side.
    pub(crate) fn all(resumes: bool) -> Vec<Self> {
        let versions = [Versions::Tls12, Versions::Tls13];
        product3(PROVIDERS, versions, [Side::Client, Side::Server])
            .map(|(provider, versions, side)| Self::new(provider, versions, side, resumes))
            .collect()
    }
}

/// A clock that stands still until a test sets it.
#[derive(Debug, Default)]
pub(crate) struct Clock(AtomicU64);

impl Clock {
    pub(crate) fn set(&self, now: UnixTime) {
        self.0.store(now.as_secs(), Ordering::SeqCst);
    }

    fn now(&self) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(self.0.load(Ordering::SeqCst)))
    }
}

/// The outcome of a connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// The judge's error.
    pub(crate) error: Option<String>,
    /// The peer's error, which is the alert that it received.
    pub(crate) alert: Option<String>,
    /// The negotiated values, including whether a session was resumed; `None` after an error.
    pub(crate) negotiated: Option<String>,
    /// The peer's certificates, as the judge reports them.
    pub(crate) peer_certificates: Vec<Vec<u8>>,
}

impl Verdict {
    pub(crate) fn is_accepted(&self) -> bool {
        self.error.is_none() && self.alert.is_none()
    }

    /// Asserts that the judge refused the peer with this error.
    #[track_caller]
    pub(crate) fn assert_refused(&self, error: &str, what: impl fmt::Debug) {
        let text = self.error.as_deref().unwrap_or_default();
        assert!(text.contains(error), "{what:?}: {self:?}");
    }

    /// Asserts that both sides accepted.
    #[track_caller]
    pub(crate) fn assert_accepted(&self, what: impl fmt::Debug) {
        assert!(self.is_accepted(), "{what:?}: {self:?}");
    }

    pub(crate) fn is_resumed(&self) -> bool {
        let negotiated = self.negotiated.as_deref();
        negotiated.is_some_and(|negotiated| negotiated.contains("Resumed"))
    }
}

/// Runs the handshake between `judge` and a peer until neither has any output.
pub(crate) fn connect(judge: &mut dyn Endpoint, peer: &mut dyn Endpoint) -> Verdict {
    let (mut error, mut alert) = (None, None);
    loop {
        let to_peer = judge.take_output();
        let to_judge = peer.take_output();
        if to_peer.is_empty() && to_judge.is_empty() {
            break;
        }
        if alert.is_none() {
            alert = peer.receive(&to_peer).err();
        }
        if error.is_none() {
            error = judge.receive(&to_judge).err();
        }
    }
    if error.is_none() && alert.is_none() {
        assert!(!judge.is_handshaking() && !peer.is_handshaking());
    }
    let is_over = error.is_some();
    Verdict {
        error,
        alert,
        // other tests check the progress until an error
        negotiated: (!is_over).then(|| judge.negotiated()),
        peer_certificates: judge.peer_certificates(),
    }
}

/// The peer with its sessions. It trusts the judge by the system's clock.
pub(crate) struct Peer {
    side: Side,
    current: Arc<CurrentCredential>,
    /// The configurations with certificates, then those with raw public keys.
    clients: [Arc<theirs::ClientConfig>; 2],
    servers: [Arc<theirs::ServerConfig>; 2],
}

impl Peer {
    pub(crate) fn new(setup: &Setup) -> Self {
        let current = Arc::new(CurrentCredential {
            now: Mutex::new(None),
            provider: setup.provider.upstream(),
        });
        let sessions = if setup.resumes {
            theirs::client::Resumption::in_memory_sessions(64)
        } else {
            theirs::client::Resumption::disabled()
        };
        let key_type = KeyType::EcdsaP256;
        let of = |is_raw: bool| Arc::new(CredentialResolver(current.clone(), is_raw));
        let (versions, auth) = (setup.versions, ClientAuth::None);
        let client = |is_raw| {
            let provider = setup.provider.upstream();
            let mut config = configs::upstream::client_of(versions, provider, key_type, auth);
            config.client_auth_cert_resolver = of(is_raw);
            config.resumption = sessions.clone();
            Arc::new(config)
        };
        let ticketer = setup.provider.upstream_ticketer();
        let server = |is_raw| {
            let provider = setup.provider.upstream();
            let mut config = configs::upstream::server_of(versions, provider, key_type, auth);
            config.cert_resolver = of(is_raw);
            if setup.resumes {
                config.ticketer = ticketer.clone();
            } else {
                config.send_tls13_tickets = 0;
                config.session_storage = Arc::new(theirs::server::NoServerSessionStorage {});
            }
            Arc::new(config)
        };
        Self {
            side: setup.side,
            clients: [client(false), client(true)],
            servers: [server(false), server(true)],
            current,
        }
    }

    /// A connection of the peer that presents `presented`.
    pub(crate) fn presenting(&self, presented: &Credential) -> UpstreamBuffered {
        *self.current.now.lock().unwrap() = Some(presented.clone());
        let kind = usize::from(presented.is_raw);
        match self.side {
            Side::Client => UpstreamBuffered::server(self.servers[kind].clone()),
            Side::Server => UpstreamBuffered::client(self.clients[kind].clone()),
        }
    }
}

/// The credential that the peer presents now.
#[derive(Debug)]
struct CurrentCredential {
    now: Mutex<Option<Credential>>,
    provider: theirs::crypto::CryptoProvider,
}

/// A resolver for one of both kinds, which it must announce beforehand.
#[derive(Debug)]
struct CredentialResolver(Arc<CurrentCredential>, bool);

impl CredentialResolver {
    fn certified_key(&self) -> Option<Arc<theirs::sign::CertifiedKey>> {
        let presented = self.0.now.lock().unwrap().clone()?;
        let key = PrivateKeyDer::Pkcs8(presented.key.into());
        let loader = self.0.provider.key_provider;
        let key = loader.load_private_key(key).unwrap();
        let certified = theirs::sign::CertifiedKey::new(presented.chain, key);
        Some(Arc::new(certified))
    }
}

impl theirs::client::ResolvesClientCert for CredentialResolver {
    fn resolve(
        &self,
        _: &[&[u8]],
        _: &[theirs::SignatureScheme],
    ) -> Option<Arc<theirs::sign::CertifiedKey>> {
        self.certified_key()
    }

    fn has_certs(&self) -> bool {
        true
    }

    fn only_raw_public_keys(&self) -> bool {
        self.1
    }
}

impl theirs::server::ResolvesServerCert for CredentialResolver {
    fn resolve(
        &self,
        _: theirs::server::ClientHello<'_>,
    ) -> Option<Arc<theirs::sign::CertifiedKey>> {
        self.certified_key()
    }

    fn only_raw_public_keys(&self) -> bool {
        self.1
    }
}

// One text for both crates, whose types have equal names but differ.
macro_rules! judges {
    ($module:ident, $tls:ident, $endpoint:ident, $ticketer:ident) => {
        pub(crate) mod $module {
            use harness::peers::configs::$module as configs;
            use harness::peers::endpoints::$endpoint;
            use harness::verifiers::raw_keys::$module as raw_keys;
            use harness::verifiers::$module::Verifier;
            use pki_types::ServerName;
            use $tls::client::WebPkiServerVerifier;
            use $tls::client::danger::ServerCertVerifier;
            use $tls::server::danger::ClientCertVerifier;
            use $tls::server::{
                NoServerSessionStorage, ProducesTickets, ServerSessionMemoryCache,
                StoresServerSessions, WebPkiClientVerifier,
            };
            use $tls::version::{TLS12, TLS13};
            use $tls::{ClientConfig, RootCertStore, ServerConfig};

            use super::*;

            /// The configuration of a judge.
            #[derive(Clone)]
            pub(crate) enum Judge {
                /// A client that requires this server name.
                Client(Arc<ClientConfig>, ServerName<'static>),
                Server(Arc<ServerConfig>),
            }

            impl Judge {
                pub(crate) fn start(&self) -> $endpoint {
                    match self {
                        Self::Client(config, name) => {
                            $endpoint::client_of(name.clone(), config.clone())
                        }
                        Self::Server(config) => $endpoint::server(config.clone()),
                    }
                }
            }

            /// Sessions of judges with one or more configurations.
            #[derive(Clone)]
            pub(crate) struct Sessions {
                client: $tls::client::Resumption,
                storage: Arc<dyn StoresServerSessions>,
                ticketer: Option<Arc<dyn ProducesTickets>>,
            }

            impl Sessions {
                /// Creates empty stores. If `sealed`, a server keeps sessions in tickets instead of
                /// memory.
                pub(crate) fn new(setup: &Setup, sealed: bool) -> Self {
                    if !setup.resumes {
                        return Self {
                            client: $tls::client::Resumption::disabled(),
                            storage: Arc::new(NoServerSessionStorage {}),
                            ticketer: None,
                        };
                    }
                    Self {
                        client: $tls::client::Resumption::in_memory_sessions(64),
                        storage: ServerSessionMemoryCache::new(64),
                        ticketer: sealed.then(|| setup.provider.$ticketer()),
                    }
                }
            }

            pub(crate) fn roots(trust: &Trust) -> Arc<RootCertStore> {
                let mut roots = RootCertStore::empty();
                for root in &trust.roots {
                    roots.add(root.clone()).unwrap();
                }
                Arc::new(roots)
            }

            /// Sets the options that both verifiers' builders share.
            macro_rules! with_revocation {
                ($builder:expr, $trust:expr) => {{
                    let mut builder = $builder.with_crls($trust.crls.clone());
                    if $trust.only_check_end_entity {
                        builder = builder.only_check_end_entity_revocation();
                    }
                    if $trust.allow_unknown_status {
                        builder = builder.allow_unknown_revocation_status();
                    }
                    if $trust.enforce_expiration {
                        builder = builder.enforce_revocation_expiration();
                    }
                    builder.build().unwrap()
                }};
            }

            fn raw_key_verifier(trust: &Trust, provider: Provider) -> Arc<Verifier> {
                Arc::new(raw_keys::trusting(trust.raw_key.clone(), provider))
            }

            pub(crate) fn server_verifier(
                trust: &Trust,
                roots: Arc<RootCertStore>,
                provider: Provider,
            ) -> Arc<dyn ServerCertVerifier> {
                if trust.roots.is_empty() {
                    return raw_key_verifier(trust, provider);
                }
                let provider = Arc::new(provider.$module());
                let builder = WebPkiServerVerifier::builder_with_provider(roots, provider);
                with_revocation!(builder, trust)
            }

            pub(crate) fn client_verifier(
                trust: &Trust,
                roots: Arc<RootCertStore>,
                provider: Provider,
            ) -> Arc<dyn ClientCertVerifier> {
                if trust.roots.is_empty() {
                    return raw_key_verifier(trust, provider);
                }
                let provider = Arc::new(provider.$module());
                let builder = WebPkiClientVerifier::builder_with_provider(roots, provider);
                with_revocation!(builder, trust)
            }

            /// A client that verifies servers with `verifier`.
            pub(crate) fn client(
                setup: &Setup,
                sessions: &Sessions,
                verifier: Arc<dyn ServerCertVerifier>,
            ) -> ClientConfig {
                let mut config = configs::client_of(
                    setup.versions,
                    setup.provider.$module(),
                    KeyType::EcdsaP256,
                    ClientAuth::None,
                );
                config.dangerous().set_certificate_verifier(verifier);
                config.resumption = sessions.client.clone();
                config.time_provider = setup.clock.clone();
                config
            }

            /// A server that verifies clients with `verifier`.
            pub(crate) fn server(
                setup: &Setup,
                sessions: &Sessions,
                verifier: Arc<dyn ClientCertVerifier>,
            ) -> ServerConfig {
                let identity = &KeyType::EcdsaP256.identities().server;
                let provider = Arc::new(setup.provider.$module());
                let versions = setup.versions.choose(&TLS12, &TLS13);
                let mut config = ServerConfig::builder_with_provider(provider)
                    .with_protocol_versions(&versions)
                    .unwrap()
                    .with_client_cert_verifier(verifier)
                    .with_single_cert(identity.chain.clone(), identity.key())
                    .unwrap();
                config.session_storage = sessions.storage.clone();
                if let Some(ticketer) = &sessions.ticketer {
                    config.ticketer = ticketer.clone();
                }
                config.time_provider = setup.clock.clone();
                config
            }

            impl $tls::time_provider::TimeProvider for Clock {
                fn current_time(&self) -> Option<UnixTime> {
                    Some(self.now())
                }
            }
        }
    };
}

judges!(this, rustls, ThisBuffered, this_ticketer);
judges!(
    upstream,
    rustls_upstream,
    UpstreamBuffered,
    upstream_ticketer
);
