//! A configuration as seen by one handshake, with the verifier and the resolver that were current
//! when it began.
//!
//! Some verifiers and resolvers replace themselves while in use
//! ([`current_verifier`](ServerCertVerifier::current_verifier)). A handshake gets the current one
//! once, at its start, and uses it until its end; after a HelloRetryRequest, a server gets it again
//! for the second ClientHello. So the requests to the peer, the checks and the session bindings are
//! consistent. All handshake code gets its verifier from here.

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use core::ops::Deref;

use crate::config::carrier::HandshakeCarrier;
use crate::config::client::ClientConfig;
use crate::config::resolver::client::ResolvesClientCert;
use crate::config::server::ServerConfig;
use crate::config::session::client_auth::ClientAuthId;
use crate::config::session::server_auth::ServerAuth;
use crate::config::sign::CertifiedKey;
use crate::config::verify::{ClientCertVerifier, ServerCertVerifier};
use crate::config::versions::EnabledVersions;
use crate::error::Error;

/// A server's configuration during one handshake.
#[derive(Clone)]
pub(crate) struct ServerSettings {
    config: Arc<ServerConfig>,
    pub(crate) carrier: HandshakeCarrier,
    /// The configured versions that the carrier supports.
    pub(crate) versions: EnabledVersions,
    /// The current verifier, if the configured one returned another.
    replaced: Option<Arc<dyn ClientCertVerifier>>,
}

impl ServerSettings {
    /// Creates the settings for a ClientHello that has just arrived.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if the hints of a verifier that replaces the configured one do
    /// not fit into a CertificateRequest, or if one of them is empty.
    pub(crate) fn now(config: Arc<ServerConfig>, carrier: HandshakeCarrier) -> Result<Self, Error> {
        let replaced = config.configured_verifier.current_verifier();
        if let Some(verifier) = &replaced {
            // the configured verifier was checked before the connection was created
            ServerConfig::check_client_cert_verifier(&**verifier)?;
        }
        Ok(Self {
            carrier,
            versions: carrier.versions(config.versions),
            config,
            replaced,
        })
    }

    /// Returns the verifier for client certificates.
    pub(crate) fn verifier(&self) -> &dyn ClientCertVerifier {
        &**self.shared_verifier()
    }

    fn shared_verifier(&self) -> &Arc<dyn ClientCertVerifier> {
        self.replaced
            .as_ref()
            .unwrap_or(&self.config.configured_verifier)
    }

    /// Returns a digest of the verifier's requirements for clients.
    pub(crate) fn client_auth(&self) -> ClientAuthId {
        ClientAuthId::of(
            self.shared_verifier(),
            &self.session_digests,
            &self.provider,
        )
    }

    /// Returns the configuration, for code that needs no verifier.
    #[cfg(feature = "tls12")]
    pub(crate) fn config(&self) -> &Arc<ServerConfig> {
        &self.config
    }

    /// Returns the configuration, which outlives the handshake.
    pub(crate) fn into_config(self) -> Arc<ServerConfig> {
        self.config
    }
}

impl<'a> ServerAuth<'a> {
    /// Identifies the certificate that a server with this `config` authenticates with.
    pub(crate) fn new(certified_key: &'a Arc<CertifiedKey>, config: &ServerConfig) -> Self {
        Self::of(certified_key, &config.session_digests, &config.provider)
    }
}

impl Deref for ServerSettings {
    type Target = ServerConfig;

    fn deref(&self) -> &ServerConfig {
        &self.config
    }
}

/// A client's configuration during one handshake.
pub(crate) struct ClientSettings {
    config: Arc<ClientConfig>,
    pub(crate) carrier: HandshakeCarrier,
    /// The configured versions that the carrier supports.
    pub(crate) versions: EnabledVersions,
    /// Boxed, because few configurations replace their verifier or resolver.
    replaced: Option<Box<Replaced>>,
}

/// The verifier and resolver of a client, if one of the configured ones returned another.
struct Replaced {
    verifier: Arc<dyn ServerCertVerifier>,
    client_auth: Arc<dyn ResolvesClientCert>,
}

impl ClientSettings {
    /// Creates the settings for a handshake that starts now.
    pub(crate) fn now(config: Arc<ClientConfig>, carrier: HandshakeCarrier) -> Self {
        let verifier = config.configured_verifier.current_verifier();
        let client_auth = config.client_auth_cert_resolver.current_resolver();
        let replaced = (verifier.is_some() || client_auth.is_some()).then(|| {
            Box::new(Replaced {
                verifier: verifier.unwrap_or_else(|| config.configured_verifier.clone()),
                client_auth: client_auth
                    .unwrap_or_else(|| config.client_auth_cert_resolver.clone()),
            })
        });
        Self {
            carrier,
            versions: carrier.versions(config.versions),
            config,
            replaced,
        }
    }

    /// Returns the verifier of servers. Sessions are bound to it.
    pub(crate) fn verifier(&self) -> &Arc<dyn ServerCertVerifier> {
        match &self.replaced {
            Some(replaced) => &replaced.verifier,
            None => &self.config.configured_verifier,
        }
    }

    /// Returns the resolver for this side's certificate. Sessions are bound to it as well.
    pub(crate) fn client_auth(&self) -> &Arc<dyn ResolvesClientCert> {
        match &self.replaced {
            Some(replaced) => &replaced.client_auth,
            None => &self.config.client_auth_cert_resolver,
        }
    }

    /// Returns the configuration, for code that needs neither verifier nor resolver.
    #[cfg(feature = "tls12")]
    pub(crate) fn config(&self) -> &Arc<ClientConfig> {
        &self.config
    }

    /// Returns the settings that are still needed after the handshake.
    pub(crate) fn into_past(self) -> PastClientSettings {
        let downgrade = |replaced: Box<Replaced>| {
            Box::new(PastReplaced {
                verifier: Arc::downgrade(&replaced.verifier),
                client_auth: Arc::downgrade(&replaced.client_auth),
            })
        };
        PastClientSettings {
            replaced: self.replaced.map(downgrade),
            config: self.config,
        }
    }
}

impl Deref for ClientSettings {
    type Target = ClientConfig;

    fn deref(&self) -> &ClientConfig {
        &self.config
    }
}

/// A client's settings after the handshake, for sessions that the server has yet to send.
///
/// References to replaced objects are weak, because a connection may live for a long time, and a
/// replaced verifier may hold large lists.
pub(crate) struct PastClientSettings {
    config: Arc<ClientConfig>,
    replaced: Option<Box<PastReplaced>>,
}

struct PastReplaced {
    verifier: Weak<dyn ServerCertVerifier>,
    client_auth: Weak<dyn ResolvesClientCert>,
}

impl PastClientSettings {
    /// Creates a session from the verifier and the resolver with `make`. Returns `None` if one of
    /// them was dropped, because the session could never be resumed.
    pub(crate) fn make_session<T>(
        &self,
        make: impl FnOnce(&Arc<dyn ServerCertVerifier>, &Arc<dyn ResolvesClientCert>) -> T,
    ) -> Option<T> {
        let config = &self.config;
        Some(match &self.replaced {
            None => make(
                &config.configured_verifier,
                &config.client_auth_cert_resolver,
            ),
            Some(replaced) => make(
                &replaced.verifier.upgrade()?,
                &replaced.client_auth.upgrade()?,
            ),
        })
    }
}

impl Deref for PastClientSettings {
    type Target = ClientConfig;

    fn deref(&self) -> &ClientConfig {
        &self.config
    }
}
