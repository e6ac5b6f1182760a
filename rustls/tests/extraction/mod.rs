//! Tests of extracted secrets: when they are available, records protected with them, and the
//! `KernelConnection` that remains.

mod conditions;
pub(crate) mod kernel;
#[cfg(target_os = "linux")]
mod linux;
mod records;

use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product, this};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered, send_and_check,
};
use harness::peers::roles::this::Config;
use harness::peers::roles::{ROLES, Role, upstream};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::{SupportedCipherSuite, Tls13CipherSuite};

/// A provider, one of its suites, and our side.
#[derive(Clone, Copy, Debug)]
struct Case {
    provider: Provider,
    suite: SupportedCipherSuite,
    role: Role,
}

/// Returns all cases.
fn cases() -> impl Iterator<Item = Case> {
    let suites = PROVIDERS.into_iter().flat_map(|provider| {
        let suites = provider.this().cipher_suites.into_iter();
        suites.map(move |suite| (provider, suite))
    });
    product(suites, ROLES).map(|((provider, suite), role)| Case {
        provider,
        suite,
        role,
    })
}

impl Case {
    fn is_tls13(&self) -> bool {
        self.suite.tls13().is_some()
    }

    fn versions(&self) -> Versions {
        if self.is_tls13() {
            Versions::Tls13
        } else {
            Versions::Tls12
        }
    }

    fn key_type(&self) -> KeyType {
        let name = format!("{:?}", self.suite.suite());
        if name.contains("RSA") {
            KeyType::Rsa2048
        } else {
            KeyType::EcdsaP256
        }
    }

    fn config(&self) -> Config {
        let provider = this::provider_of(self.provider, self.suite.suite());
        Config::new(self.role, self.versions(), provider, self.key_type()).extractable()
    }

    /// Returns upstream's configuration for the other side.
    fn peer_config(&self) -> upstream::Config {
        let (role, provider) = (self.role.other(), self.provider.upstream());
        upstream::Config::new(role, self.versions(), provider, self.key_type()).extractable()
    }

    /// Creates upstream's connection for the other side.
    fn peer(&self) -> UpstreamBuffered {
        self.peer_config().buffered()
    }

    /// Creates our connection for the other side.
    fn our_peer(&self) -> ThisBuffered {
        let role = self.role.other();
        Self { role, ..*self }.buffered()
    }

    fn unbuffered_client(&self) -> ThisUnbuffered<UnbufferedClientConnection> {
        ThisUnbuffered::client(self.config().client())
    }

    fn unbuffered_server(&self) -> ThisUnbuffered<UnbufferedServerConnection> {
        ThisUnbuffered::server(self.config().server())
    }

    fn buffered(&self) -> ThisBuffered {
        self.config().buffered()
    }

    /// Completes the handshake and sends a few records in each direction, so that sequence numbers
    /// differ.
    fn connect(&self, ours: &mut dyn Endpoint, peer: &mut dyn Endpoint) {
        self.role.handshake(ours, peer);
        for len in [1, 100, 20_000] {
            send_and_check(ours, peer, &vec![1; len]);
        }
        send_and_check(peer, ours, b"less");
    }
}

/// Creates a case with the provider's first TLS 1.3 suite.
fn tls13(provider: Provider, role: Role) -> Case {
    let suites = provider.this().cipher_suites;
    let suite: Option<&'static Tls13CipherSuite> =
        suites.iter().find_map(SupportedCipherSuite::tls13);
    Case {
        provider,
        suite: suite.unwrap().into(),
        role,
    }
}
