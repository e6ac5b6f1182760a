//! The ends of a connection: a judge of this crate or of upstream, and an upstream peer that
//! presents any credential.

use std::fmt;
use std::sync::{Arc, Mutex};

use harness::peers::callbacks::Clock;
use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider, Versions, product3};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use harness::peers::roles::upstream::Config;
use harness::peers::roles::{ROLES, Role};
use pki_types::PrivateKeyDer;
use rustls_upstream as theirs;

use crate::verdicts::cases::{Credential, Trust};

/// The settings that all connections of a test share.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) provider: Provider,
    pub(crate) versions: Versions,
    /// The role of the judge, which is the end that verifies the other's certificates.
    pub(crate) side: Role,
    /// True if sessions are resumed.
    pub(crate) resumes: bool,
    pub(crate) clock: Arc<Clock>,
}

impl Setup {
    pub(crate) fn new(provider: Provider, versions: Versions, side: Role, resumes: bool) -> Self {
        Self {
            provider,
            versions,
            side,
            resumes,
            clock: Clock::now(),
        }
    }

    /// Returns every provider, version and side.
    pub(crate) fn all(resumes: bool) -> Vec<Self> {
        product3(PROVIDERS, Versions::EACH, ROLES)
            .map(|(provider, versions, side)| Self::new(provider, versions, side, resumes))
            .collect()
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

    /// Asserts that the judge rejected the peer with this error.
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

/// The peer with its sessions. It verifies the judge with the system's clock.
pub(crate) struct Peer {
    current: Arc<CurrentCredential>,
    /// The configurations with certificates and with raw public keys.
    configs: [Config; 2],
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
        let ticketer = setup.provider.upstream_ticketer();
        let configs = [false, true].map(|is_raw| {
            let (role, crypto) = (setup.side.other(), setup.provider.upstream());
            let resolver = Arc::new(CredentialResolver(current.clone(), is_raw));
            Config::new(role, setup.versions, crypto, KeyType::EcdsaP256).edit(
                |client| {
                    client.client_auth_cert_resolver = resolver.clone();
                    client.resumption = sessions.clone();
                },
                |server| {
                    server.cert_resolver = resolver.clone();
                    if setup.resumes {
                        server.ticketer = ticketer.clone();
                    } else {
                        server.send_tls13_tickets = 0;
                        server.session_storage =
                            Arc::new(theirs::server::NoServerSessionStorage {});
                    }
                },
            )
        });
        Self { current, configs }
    }

    /// Creates a connection of the peer that presents `presented`.
    pub(crate) fn presenting(&self, presented: &Credential) -> UpstreamBuffered {
        *self.current.now.lock().unwrap() = Some(presented.clone());
        self.configs[usize::from(presented.is_raw)].buffered()
    }
}

/// The credential that the peer presents now.
#[derive(Debug)]
struct CurrentCredential {
    now: Mutex<Option<Credential>>,
    provider: theirs::crypto::CryptoProvider,
}

/// A resolver for one of the two kinds of credentials; it must announce the kind beforehand.
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

// The same code for both crates, whose types are distinct but have the same names.
macro_rules! judges {
    ($module:ident, $tls:ident, $endpoint:ident, $ticketer:ident) => {
        pub(crate) mod $module {
            use harness::peers::configs::$module as configs;
            use harness::peers::endpoints::$endpoint;
            use harness::verifiers::raw_keys::$module as raw_keys;
            use pki_types::ServerName;
            use $tls::client::WebPkiServerVerifier;
            use $tls::client::danger::ServerCertVerifier;
            use $tls::server::danger::ClientCertVerifier;
            use $tls::server::{
                NoServerSessionStorage, ProducesTickets, ServerSessionMemoryCache,
                StoresServerSessions, WebPkiClientVerifier,
            };
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

            macro_rules! verifier {
                ($name:ident: $of:ident, $web_pki:ident) => {
                    pub(crate) fn $name(
                        trust: &Trust,
                        roots: Arc<RootCertStore>,
                        provider: Provider,
                    ) -> Arc<dyn $of> {
                        if trust.roots.is_empty() {
                            return Arc::new(raw_keys::trusting(trust.raw_key.clone(), provider));
                        }
                        let provider = Arc::new(provider.$module());
                        let mut builder = $web_pki::builder_with_provider(roots, provider)
                            .with_crls(trust.crls.clone());
                        if trust.only_check_end_entity {
                            builder = builder.only_check_end_entity_revocation();
                        }
                        if trust.allow_unknown_status {
                            builder = builder.allow_unknown_revocation_status();
                        }
                        if trust.enforce_expiration {
                            builder = builder.enforce_revocation_expiration();
                        }
                        builder.build().unwrap()
                    }
                };
            }

            verifier!(server_verifier: ServerCertVerifier, WebPkiServerVerifier);
            verifier!(client_verifier: ClientCertVerifier, WebPkiClientVerifier);

            /// Creates a client that verifies servers with `verifier`.
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

            /// Creates a server that verifies clients with `verifier`.
            pub(crate) fn server(
                setup: &Setup,
                sessions: &Sessions,
                verifier: Arc<dyn ClientCertVerifier>,
            ) -> ServerConfig {
                let provider = setup.provider.$module();
                let key_type = KeyType::EcdsaP256;
                let mut config = configs::server_verifying(setup.versions, provider, key_type, verifier);
                config.session_storage = sessions.storage.clone();
                if let Some(ticketer) = &sessions.ticketer {
                    config.ticketer = ticketer.clone();
                }
                config.time_provider = setup.clock.clone();
                config
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
