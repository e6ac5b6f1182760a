//! The parameters of connections of any implementation.

use std::sync::Arc;

use harness::peers::pairs::Result;

use super::identities::Identity;
use crate::choices::{Cipher, Group, KeyType, Provider, Role, Version};
use crate::suites::Suite;

/// The parameters of a connection, shared by all implementations in a comparison.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) provider: Provider,
    pub(crate) suite: Suite,
    /// The key type of all certificates.
    pub(crate) key_type: KeyType,
    /// `None`: the groups that the provider offers by default.
    pub(crate) group: Option<Group>,
    /// The server's certificates and key: by default, a single certificate.
    pub(crate) server: Arc<Identity>,
    /// The client's certificate and key, for servers that request them.
    pub(crate) client: Option<Arc<Identity>>,
    /// True if connections and sessions share the certificates of one peer, where the
    /// implementation can.
    pub(crate) shares_chains: bool,
    /// True if a chain is verified only once, where the implementation can.
    pub(crate) verifies_once: bool,
    pub(crate) sessions: Sessions,
    /// The number of sessions that each side keeps in memory, if it keeps any.
    pub(crate) kept: usize,
}

impl Scenario {
    pub(crate) fn new(provider: Provider, suite: Suite, key_type: KeyType) -> Self {
        Self {
            provider,
            suite,
            key_type,
            group: None,
            server: Arc::new(Identity::of(key_type, Role::Server)),
            client: None,
            shares_chains: true,
            verifies_once: true,
            sessions: Sessions::Default,
            kept: 256,
        }
    }

    /// Creates a scenario of TLS `version` with AES-128-GCM.
    pub(crate) fn of(provider: Provider, version: Version, key_type: KeyType) -> Result<Self> {
        let suite = Suite::with(version, Cipher::Aes128Gcm, key_type)?;
        Ok(Self::new(provider, suite, key_type))
    }

    /// Returns a copy with the change that `change` makes.
    pub(crate) fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = self.clone();
        change(&mut changed);
        changed
    }
}

/// The session storage of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sessions {
    /// The defaults of the configurations.
    Default,
    Nothing,
    /// The server stores every session, but no client resumes.
    Unused,
    /// Stored by the server: session IDs in TLS 1.2, tickets that name the session in TLS 1.3.
    Stored,
    /// Encrypted in tickets that the client keeps and the server opens.
    Tickets,
}

impl Sessions {
    /// True if handshakes after the first resume a session.
    pub(crate) const fn are_resumed(self) -> bool {
        !matches!(self, Self::Nothing | Self::Unused)
    }
}
