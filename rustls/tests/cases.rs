//! The connections under test, and their peer. The peer is always upstream's, so any difference
//! comes from the connection under test.

use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product3};
use harness::peers::endpoints::UpstreamBuffered;
pub(crate) use harness::peers::roles::Role;
use harness::peers::roles::{ROLES, this, upstream};
use rustls::crypto::CryptoProvider;

/// Ed25519, because ECDSA signatures vary in length, and so would the flights.
pub(crate) const KEY_TYPE: KeyType = KeyType::Ed25519;

/// The provider, role and version of the connection under test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Case {
    pub(crate) provider: Provider,
    pub(crate) role: Role,
    pub(crate) versions: Versions,
}

/// Returns every provider, role and version.
pub(crate) fn cases() -> impl Iterator<Item = Case> {
    let versions = [Versions::Tls12, Versions::Tls13];
    product3(PROVIDERS, ROLES, versions).map(|(provider, role, versions)| Case {
        provider,
        role,
        versions,
    })
}

/// Returns the cases of TLS 1.3.
pub(crate) fn tls13_cases() -> impl Iterator<Item = Case> {
    cases().filter(|case| case.is_tls13())
}

/// Returns the cases of TLS 1.3 with this role.
pub(crate) fn tls13_cases_of(role: Role) -> impl Iterator<Item = Case> {
    tls13_cases().filter(move |case| case.role == role)
}

impl Case {
    pub(crate) fn tls13(provider: Provider, role: Role) -> Self {
        let versions = Versions::Tls13;
        Self {
            provider,
            role,
            versions,
        }
    }

    /// Returns the case as the peer sees it.
    pub(crate) fn other(self) -> Self {
        let role = self.role.other();
        Self { role, ..self }
    }

    pub(crate) fn is_tls13(self) -> bool {
        self.versions == Versions::Tls13
    }

    /// Returns the connection's configuration.
    pub(crate) fn config(self) -> this::Config {
        self.config_over(self.provider.this())
    }

    pub(crate) fn config_over(self, provider: CryptoProvider) -> this::Config {
        this::Config::new(self.role, self.versions, provider, KEY_TYPE)
    }

    /// Returns upstream's configuration for the same connection.
    pub(crate) fn upstream(self) -> upstream::Config {
        upstream::Config::new(self.role, self.versions, self.provider.upstream(), KEY_TYPE)
    }

    /// Returns the peer before the handshake.
    pub(crate) fn peer(self) -> UpstreamBuffered {
        self.other().upstream().extractable().buffered()
    }
}
