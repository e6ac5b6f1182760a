//! A configuration as one handshake sees it: with the verifier and the resolver that were in force when it began.
//!
//! Some verifiers and resolvers replace what they go by while they are in use
//! ([`current_verifier`](ServerCertVerifier::current_verifier)). A handshake asks for the present one once, at its
//! start, and goes by it to its end: what the peer is told, what is checked, and what sessions are bound to agree.
//! Whoever looks at a verifier during a handshake does so here.

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use core::ops::Deref;

use crate::client::{ClientConfig, ResolvesClientCert};
use crate::conn::carrier::Carrier;
use crate::error::Error;
use crate::server::ServerConfig;
use crate::session::client_auth::ClientAuthId;
use crate::verify::{ClientCertVerifier, ServerCertVerifier};
use crate::versions::EnabledVersions;

/// A server's configuration during one handshake.
#[derive(Clone)]
pub(crate) struct ServerSettings {
    config: Arc<ServerConfig>,
    pub(crate) carrier: Carrier,
    /// Those of the configuration that the carrier can carry.
    pub(crate) versions: EnabledVersions,
    /// What the configured verifier has another one for.
    replaced: Option<Arc<dyn ClientCertVerifier>>,
}

impl ServerSettings {
    /// What is in force now.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when the verifier would tell clients more than its message can carry.
    pub(crate) fn now(config: Arc<ServerConfig>, carrier: Carrier) -> Result<Self, Error> {
        let replaced = config.configured_verifier.current_verifier();
        if let Some(verifier) = &replaced {
            // the configured one was looked at before the connection was made
            ServerConfig::check(&**verifier)?;
        }
        Ok(Self {
            carrier,
            versions: carrier.versions(config.versions),
            config,
            replaced,
        })
    }

    /// The verifier of clients.
    pub(crate) fn verifier(&self) -> &dyn ClientCertVerifier {
        &**self.shared_verifier()
    }

    fn shared_verifier(&self) -> &Arc<dyn ClientCertVerifier> {
        self.replaced
            .as_ref()
            .unwrap_or(&self.config.configured_verifier)
    }

    /// What the verifier asks of clients.
    pub(crate) fn client_auth(&self) -> ClientAuthId {
        ClientAuthId::of(self.shared_verifier(), &self.config)
    }

    /// The configuration, for what outlives the handshake.
    pub(crate) fn into_config(self) -> Arc<ServerConfig> {
        self.config
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
    pub(crate) carrier: Carrier,
    /// Those of the configuration that the carrier can carry.
    pub(crate) versions: EnabledVersions,
    /// Not in place, as few configurations have it.
    replaced: Option<Box<Replaced>>,
}

/// What a client goes by where its configuration's verifier or resolver has another one.
struct Replaced {
    verifier: Arc<dyn ServerCertVerifier>,
    client_auth: Arc<dyn ResolvesClientCert>,
}

impl ClientSettings {
    /// What is in force now.
    pub(crate) fn now(config: Arc<ClientConfig>, carrier: Carrier) -> Self {
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

    /// The verifier of servers. Sessions belong to it.
    pub(crate) fn verifier(&self) -> &Arc<dyn ServerCertVerifier> {
        match &self.replaced {
            Some(replaced) => &replaced.verifier,
            None => &self.config.configured_verifier,
        }
    }

    /// What chooses this side's certificate. Sessions belong to it, too.
    pub(crate) fn client_auth(&self) -> &Arc<dyn ResolvesClientCert> {
        match &self.replaced {
            Some(replaced) => &replaced.client_auth,
            None => &self.config.client_auth_cert_resolver,
        }
    }

    /// The configuration, for what needs neither.
    #[cfg(feature = "tls12")]
    pub(crate) fn config(&self) -> &Arc<ClientConfig> {
        &self.config
    }

    /// What is needed of it when the handshake is over.
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

/// What a client went by in a handshake that is over, whose sessions are still to come.
///
/// A connection may last for long, and a verifier may hold long lists. So it keeps none alive that is no longer in
/// force.
pub(crate) struct PastClientSettings {
    config: Arc<ClientConfig>,
    replaced: Option<Box<PastReplaced>>,
}

struct PastReplaced {
    verifier: Weak<dyn ServerCertVerifier>,
    client_auth: Weak<dyn ResolvesClientCert>,
}

impl PastClientSettings {
    /// Lets `make` make a session of the verifier and the resolver. `None` when one of them is gone: nobody could
    /// resume it.
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
