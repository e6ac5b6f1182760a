//! Connections whose configurations have observers.

use std::sync::Arc;

use harness::peers::configs::{
    ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, server_name, this,
};
use harness::peers::endpoints::{Endpoint, ThisBuffered, exchange};
use rustls::observer::Observer;
use rustls::server::ServerSessionMemoryCache;
use rustls::{ClientConfig, ServerConfig};

pub(crate) const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// The configurations of a client and a server.
pub(crate) struct Configs {
    pub(crate) client: ClientConfig,
    pub(crate) server: ServerConfig,
}

impl Configs {
    /// Creates configurations with tickets.
    pub(crate) fn new(provider: Provider, versions: Versions, auth: ClientAuth) -> Self {
        let client = this::client_of(versions, provider.this(), KEY_TYPE, auth);
        let mut server = this::server_of(versions, provider.this(), KEY_TYPE, auth);
        server.ticketer = provider.this_ticketer();
        Self { client, server }
    }

    /// Stores sessions in the server's storage instead of tickets.
    pub(crate) fn with_storage(mut self) -> Self {
        self.server.ticketer = Arc::new(NoTickets);
        self.server.session_storage = ServerSessionMemoryCache::new(100);
        self
    }

    pub(crate) fn observed_by(
        mut self,
        client: Arc<dyn Observer>,
        server: Arc<dyn Observer>,
    ) -> Self {
        self.client.observer = Some(client);
        self.server.observer = Some(server);
        self
    }

    pub(crate) fn connect(&self) -> Pair {
        Pair {
            client: ThisBuffered::client(self.client.clone()),
            server: ThisBuffered::server(self.server.clone()),
        }
    }

    /// Completes a handshake, sends data both ways, closes both sides, and drops them.
    pub(crate) fn talk(&self) {
        let mut pair = self.connect();
        pair.handshake();
        pair.close();
    }
}

#[derive(Debug)]
struct NoTickets;

impl rustls::server::ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

pub(crate) struct Pair {
    pub(crate) client: ThisBuffered,
    pub(crate) server: ThisBuffered,
}

impl Pair {
    pub(crate) fn exchange(&mut self) -> Result<(), String> {
        exchange(&mut self.client, &mut self.server)
    }

    pub(crate) fn handshake(&mut self) {
        self.exchange().unwrap();
        assert!(!self.client.is_handshaking());
        assert!(!self.server.is_handshaking());
    }

    /// Sends data both ways, and closes both sides.
    pub(crate) fn close(&mut self) {
        self.client.send(b"question");
        self.server.send(b"answer");
        self.client.close();
        self.server.close();
        self.exchange().unwrap();
    }
}

/// Returns each combination of a provider and a single version.
pub(crate) fn cases() -> impl Iterator<Item = (Provider, Versions)> {
    product(PROVIDERS, Versions::EACH)
}

/// Replaces the client with one that trusts only another authority.
pub(crate) fn distrusting(mut configs: Configs, provider: Provider, versions: Versions) -> Configs {
    let observer = configs.client.observer.take();
    configs.client = this::client_of(
        versions,
        provider.this(),
        KeyType::EcdsaP384,
        ClientAuth::None,
    );
    configs.client.observer = observer;
    configs
}

/// Returns the label of the version.
pub(crate) fn label(versions: Versions) -> &'static str {
    match versions {
        Versions::Tls12 => "1.2",
        _ => "1.3",
    }
}

/// Returns the server's name as it appears in events.
pub(crate) fn name() -> String {
    server_name().to_str().into_owned()
}
