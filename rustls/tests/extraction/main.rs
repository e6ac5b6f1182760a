//! Extracted secrets: when they are available, records made with them, and the `KernelConnection`
//! that remains.

mod conditions;
mod kernel;
#[cfg(target_os = "linux")]
mod linux;
mod records;

use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered, handshake, send_and_check,
};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::{SupportedCipherSuite, Tls13CipherSuite};

/// The side of the connection under test.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Client,
    Server,
}

const ROLES: [Role; 2] = [Role::Client, Role::Server];

/// A provider, one of its suites, and our side.
#[derive(Clone, Copy, Debug)]
struct Case {
    provider: Provider,
    suite: SupportedCipherSuite,
    role: Role,
}

/// All cases.
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

    fn client_config(&self) -> Arc<rustls::ClientConfig> {
        let mut provider = self.provider.this();
        provider.cipher_suites = vec![self.suite];
        let mut config =
            configs::this::client_of(self.versions(), provider, self.key_type(), ClientAuth::None);
        config.enable_secret_extraction = true;
        Arc::new(config)
    }

    fn server_config(&self) -> Arc<rustls::ServerConfig> {
        let mut provider = self.provider.this();
        provider.cipher_suites = vec![self.suite];
        let mut config =
            configs::this::server_of(self.versions(), provider, self.key_type(), ClientAuth::None);
        config.enable_secret_extraction = true;
        Arc::new(config)
    }

    /// Upstream's server for this case.
    fn upstream_server(&self) -> rustls_upstream::ServerConfig {
        let (versions, key_type) = (self.versions(), self.key_type());
        let provider = self.provider.upstream();
        let mut config =
            configs::upstream::server_of(versions, provider, key_type, ClientAuth::None);
        config.enable_secret_extraction = true;
        config
    }

    /// Upstream's connection on the other side.
    fn peer(&self) -> UpstreamBuffered {
        if self.role == Role::Client {
            return UpstreamBuffered::server(self.upstream_server());
        }
        let (versions, key_type) = (self.versions(), self.key_type());
        let provider = self.provider.upstream();
        let mut config =
            configs::upstream::client_of(versions, provider, key_type, ClientAuth::None);
        config.enable_secret_extraction = true;
        UpstreamBuffered::client(config)
    }

    /// Our connection on the other side.
    fn our_peer(&self) -> ThisBuffered {
        let role = match self.role {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        };
        Self { role, ..*self }.buffered()
    }

    fn unbuffered_client(&self) -> ThisUnbuffered<UnbufferedClientConnection> {
        ThisUnbuffered::client(self.client_config())
    }

    fn unbuffered_server(&self) -> ThisUnbuffered<UnbufferedServerConnection> {
        ThisUnbuffered::server(self.server_config())
    }

    fn buffered(&self) -> ThisBuffered {
        match self.role {
            Role::Client => ThisBuffered::client(self.client_config()),
            Role::Server => ThisBuffered::server(self.server_config()),
        }
    }

    /// Completes the handshake and sends a few records each way, so that sequence numbers differ.
    fn connect(&self, ours: &mut dyn Endpoint, peer: &mut dyn Endpoint) {
        match self.role {
            Role::Client => handshake(ours, peer),
            Role::Server => handshake(peer, ours),
        }
        for len in [1, 100, 20_000] {
            send_and_check(ours, peer, &vec![1; len]);
        }
        send_and_check(peer, ours, b"less");
    }
}

/// A case with the provider's first TLS 1.3 suite.
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
