//! The server with scripted clients and with upstream's. It behaves like upstream's server except
//! where a test says otherwise.

mod hello;
mod order;
pub(crate) mod resumption;
mod tampering;

use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::Endpoint;
use harness::peers::servers::Server as End;
use harness::scripted::Refused;
use harness::scripted::tls12::Session;
use harness::scripted::tls12::client::ScriptedClient;
use harness::wire::client_hello::ClientHello;
use rustls::ServerConfig;

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

    /// The same with stored sessions, then with tickets, for each provider.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        product(PROVIDERS, [false, true]).map(|(provider, tickets)| Self {
            tickets,
            ..Self::new(provider)
        })
    }

    /// This crate's configuration.
    pub(crate) fn config(self) -> ServerConfig {
        let provider = self.provider.this();
        let mut config =
            configs::this::server_of(self.versions, provider, self.key_type, self.auth);
        if self.tickets {
            config.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
        }
        config
    }
}

/// Servers of one implementation that share their sessions.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) provider: rustls::crypto::CryptoProvider,
    end: End,
}

impl Server {
    pub(crate) fn connection(&self) -> Box<dyn Endpoint> {
        self.end.accept()
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
pub(crate) fn servers(setup: Setup) -> [Server; 3] {
    servers_with(setup, |_| (), |_| ())
}

/// The same servers with changed configurations.
pub(crate) fn servers_with(
    setup: Setup,
    this: impl FnOnce(&mut ServerConfig),
    upstream: impl FnOnce(&mut rustls_upstream::ServerConfig),
) -> [Server; 3] {
    let mut ours = setup.config();
    let provider = setup.provider.upstream();
    let Setup {
        versions,
        key_type,
        auth,
        ..
    } = setup;
    let mut theirs = configs::upstream::server_of(versions, provider, key_type, auth);
    if setup.tickets {
        theirs.ticketer = rustls_upstream::crypto::ring::Ticketer::new().unwrap();
    }
    this(&mut ours);
    upstream(&mut theirs);
    let (ours, theirs) = (Arc::new(ours), Arc::new(theirs));
    let ends = [
        ("this, buffered", End::Buffered(ours.clone())),
        ("this, unbuffered", End::Unbuffered(ours)),
        ("upstream", End::Upstream(theirs)),
    ];
    ends.map(|(name, end)| Server {
        name,
        end,
        provider: setup.provider.this(),
    })
}

/// Sends the flight of a client with the certificate of `key_type`, signed with `scheme`.
pub(crate) fn authenticate(client: &mut ScriptedClient, key_type: KeyType, scheme: u16) {
    send_flight(client, key_type, scheme, &mut |_, _| ()).unwrap();
}

/// The same, with a change to each message; the first argument is its index.
pub(crate) fn send_flight(
    client: &mut ScriptedClient,
    key_type: KeyType,
    scheme: u16,
    change: &mut dyn FnMut(usize, &mut Vec<u8>),
) -> Result<(), Refused> {
    let identity = &key_type.identities().client;
    let key = rustls::crypto::ring::sign::any_supported_type(&identity.key()).unwrap();
    let mut send = |client: &mut ScriptedClient, index, mut message: Vec<u8>| {
        change(index, &mut message);
        client.send(&message)
    };
    send(
        client,
        0,
        ScriptedClient::certificate(&[&*identity.chain[0]]),
    )?;
    let message = client.key_exchange();
    send(client, 1, message)?;
    let message = client.certificate_verify(&*key, scheme);
    send(client, 2, message)?;
    client.change_cipher_spec()?;
    let message = client.finished();
    send(client, 3, message)
}
