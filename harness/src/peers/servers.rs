//! Servers of this crate, in both APIs, and of upstream, with the same configuration, for tests of
//! sessions and early data.

use std::sync::Arc;

use rustls as ours;
use rustls_upstream as theirs;

use crate::peers::callbacks::Clock;
use crate::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions};
use crate::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered};
use crate::scripted::{OfferedPsk, Refused, ScriptedClient, Ticket, tls12};
use crate::wire::client_hello::{ALPN, ClientHello, PSK_KEY_EXCHANGE_MODES, protocols};
use crate::wire::u8_vec;

pub const KEY_TYPE: KeyType = KeyType::Ed25519;

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    pub provider: Provider,
    pub versions: Versions,
    pub key_type: KeyType,
    pub auth: ClientAuth,
    /// True to seal sessions in tickets; otherwise they are stored.
    pub sealed: bool,
    pub max_early_data_size: u32,
    pub send_tls13_tickets: usize,
    pub max_tls13_tickets: usize,
    pub send_half_rtt_data: bool,
    pub clock: Arc<Clock>,
}

macro_rules! config {
    ($name:ident, $module:ident, $ticketer:ident) => {
        pub fn $name(&self) -> $name::ServerConfig {
            let (versions, key_type) = (self.versions, self.key_type);
            let provider = self.provider.$module();
            let mut config = configs::$module::server_of(versions, provider, key_type, self.auth);
            if self.sealed {
                config.ticketer = self.provider.$ticketer();
            }
            config.max_early_data_size = self.max_early_data_size;
            config.send_tls13_tickets = self.send_tls13_tickets;
            config.max_tls13_tickets = self.max_tls13_tickets;
            config.send_half_rtt_data = self.send_half_rtt_data;
            config.time_provider = self.clock.clone();
            config
        }
    };
}

impl Settings {
    pub fn new(provider: Provider) -> Self {
        Self {
            provider,
            versions: Versions::Tls13,
            key_type: KEY_TYPE,
            auth: ClientAuth::None,
            sealed: false,
            max_early_data_size: 0,
            send_tls13_tickets: 2,
            max_tls13_tickets: 0,
            send_half_rtt_data: false,
            clock: Clock::now(),
        }
    }

    pub fn sealed(provider: Provider) -> Self {
        Self {
            sealed: true,
            ..Self::new(provider)
        }
    }

    pub fn edit(mut self, edit: impl FnOnce(&mut Self)) -> Self {
        edit(&mut self);
        self
    }

    /// Stored and sealed sessions, with each provider.
    pub fn all() -> impl Iterator<Item = Self> {
        let both = |provider| [Self::new(provider), Self::sealed(provider)];
        PROVIDERS.into_iter().flat_map(both)
    }

    config!(ours, this, this_ticketer);
    config!(theirs, upstream, upstream_ticketer);

    /// Settings for TLS 1.2 only.
    pub fn tls12(provider: Provider) -> Self {
        Self {
            versions: Versions::Tls12,
            key_type: KeyType::EcdsaP256,
            ..Self::new(provider)
        }
    }

    /// Creates a server of this crate in each API, and one of upstream.
    pub fn servers(&self) -> [Server; 3] {
        self.servers_with(|_| (), |_| ())
    }

    /// Creates a server of this crate in each API.
    pub fn our_servers(&self) -> [Server; 2] {
        let [buffered, unbuffered, _] = self.servers();
        [buffered, unbuffered]
    }

    /// Returns the same servers with changed configurations.
    pub fn servers_with(
        &self,
        this: impl Fn(&mut ours::ServerConfig),
        upstream: impl FnOnce(&mut theirs::ServerConfig),
    ) -> [Server; 3] {
        let our_config = || {
            let mut ours = self.ours();
            this(&mut ours);
            Arc::new(ours)
        };
        let mut theirs = self.theirs();
        upstream(&mut theirs);
        [
            Server::Buffered(our_config()),
            Server::Unbuffered(our_config()),
            Server::Upstream(Arc::new(theirs)),
        ]
    }
}

/// Returns the servers for the `settings` of each provider.
pub fn servers(
    settings: impl Fn(Provider) -> Settings,
) -> impl Iterator<Item = (Settings, Server)> {
    PROVIDERS.into_iter().flat_map(move |provider| {
        let settings = settings(provider);
        let servers = settings.servers();
        servers.map(|server| (settings.clone(), server))
    })
}

/// A configuration of one of the crates, for many connections.
#[derive(Clone)]
pub enum Server {
    Buffered(Arc<ours::ServerConfig>),
    Unbuffered(Arc<ours::ServerConfig>),
    Upstream(Arc<theirs::ServerConfig>),
}

impl Server {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Buffered(_) => "buffered",
            Self::Unbuffered(_) => "unbuffered",
            Self::Upstream(_) => "upstream",
        }
    }

    pub fn accept(&self) -> Box<dyn Endpoint> {
        match self {
            Self::Buffered(config) => Box::new(ThisBuffered::server(config.clone())),
            Self::Unbuffered(config) => Box::new(ThisUnbuffered::server(config.clone())),
            Self::Upstream(config) => Box::new(UpstreamBuffered::server(config.clone())),
        }
    }

    /// Connects a scripted client, up to the server's Finished.
    pub fn connect(
        &self,
        settings: &Settings,
        hello: ClientHello,
        offer: Option<&OfferedPsk>,
    ) -> Result<ScriptedClient, Refused> {
        let provider = settings.provider.this();
        ScriptedClient::offering(self.accept(), &provider, hello, offer)
    }

    /// Connects a scripted TLS 1.2 client, up to the server's first flight.
    pub fn connect_tls12(
        &self,
        hello: &ClientHello,
        session: Option<&tls12::Session>,
    ) -> Result<tls12::client::ScriptedClient, Refused> {
        let provider = Provider::AwsLc.this();
        tls12::client::ScriptedClient::new(self.accept(), &provider, hello, session)
    }

    /// Returns the tickets from a full handshake.
    pub fn tickets(&self, settings: &Settings) -> Vec<Ticket> {
        self.tickets_for(settings, hello())
    }

    pub fn tickets_for(&self, settings: &Settings, hello: ClientHello) -> Vec<Ticket> {
        let mut client = self.connect(settings, hello, None).unwrap();
        client.finish().unwrap();
        client.tickets()
    }

    /// True if the server resumes `offer`. Completes a handshake with `hello`.
    pub fn resumes(&self, settings: &Settings, hello: ClientHello, offer: &OfferedPsk) -> bool {
        let mut client = self.connect(settings, hello, Some(offer)).unwrap();
        client.start_handshake();
        client.finish().unwrap();
        assert!(!client.server.is_handshaking());
        let kind = if client.is_resumed { "Resumed" } else { "Full" };
        assert!(client.server.negotiated().contains(kind));
        client.is_resumed
    }
}

/// Restricts a server's provider to a group for which no client sends an initial share.
pub fn request_another_share(provider: &mut ours::crypto::CryptoProvider) {
    provider
        .kx_groups
        .retain(|group| group.name() == ours::NamedGroup::secp384r1);
}

/// Creates a ClientHello that requests tickets.
pub fn hello() -> ClientHello {
    ClientHello::new()
        .with(ALPN, protocols(&[b"h2"]))
        .with(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]))
}
