//! The server with scripted clients and with upstream's. It behaves like upstream's server except
//! where a test says otherwise.

mod hello;
mod order;
pub(crate) mod resumption;
mod tampering;

use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, Provider, Versions};
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered};
use harness::scripted::Refused;
use harness::scripted::tls12::Session;
use harness::scripted::tls12::client::ScriptedClient;
use harness::wire::client_hello::ClientHello;

/// The settings of a test's servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) provider: Provider,
    pub(crate) versions: Versions,
    pub(crate) key_type: KeyType,
    pub(crate) auth: ClientAuth,
    pub(crate) tickets: bool,
}

impl Setup {
    pub(crate) fn new(provider: Provider) -> Self {
        Self {
            provider,
            versions: Versions::Tls12,
            key_type: KeyType::EcdsaP256,
            auth: ClientAuth::None,
            tickets: false,
        }
    }
}

/// Servers of one implementation that share their sessions.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) provider: rustls::crypto::CryptoProvider,
    make: Make,
}

type Make = Box<dyn Fn() -> Box<dyn Endpoint>>;

impl Server {
    pub(crate) fn connection(&self) -> Box<dyn Endpoint> {
        (self.make)()
    }

    /// A client that has sent `hello` and read the answer.
    pub(crate) fn connect(
        &self,
        hello: &ClientHello,
        session: Option<&Session>,
    ) -> Result<ScriptedClient, Refused> {
        ScriptedClient::new(self.connection(), &self.provider, hello, session)
    }
}

/// This crate's server in both APIs, then upstream's, all with the same settings.
pub(crate) fn servers(setup: Setup) -> Vec<Server> {
    servers_with(setup, |_| (), |_| ())
}

/// The same servers with changed configurations.
pub(crate) fn servers_with(
    setup: Setup,
    this: impl FnOnce(&mut rustls::ServerConfig),
    upstream: impl FnOnce(&mut rustls_upstream::ServerConfig),
) -> Vec<Server> {
    let Setup {
        provider,
        versions,
        key_type,
        auth,
        tickets,
    } = setup;
    let mut ours = configs::this::server_of(versions, provider.this(), key_type, auth);
    let mut theirs = configs::upstream::server_of(versions, provider.upstream(), key_type, auth);
    if tickets {
        ours.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
        theirs.ticketer = rustls_upstream::crypto::ring::Ticketer::new().unwrap();
    }
    this(&mut ours);
    upstream(&mut theirs);
    let (ours, theirs) = (Arc::new(ours), Arc::new(theirs));
    let unbuffered = ours.clone();
    let makes: [(_, Make); 3] = [
        (
            "this, buffered",
            Box::new(move || Box::new(ThisBuffered::server(ours.clone()))),
        ),
        (
            "this, unbuffered",
            Box::new(move || Box::new(ThisUnbuffered::server(unbuffered.clone()))),
        ),
        (
            "upstream",
            Box::new(move || Box::new(UpstreamBuffered::server(theirs.clone()))),
        ),
    ];
    makes
        .into_iter()
        .map(|(name, make)| Server {
            name,
            make,
            provider: setup.provider.this(),
        })
        .collect()
}
