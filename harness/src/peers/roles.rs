//! The role of the connection under test, and configurations of either role.

use std::sync::Arc;

use super::configs::{self, ClientAuth, KeyType, Versions, server_name};
use super::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered, UpstreamUnbuffered, handshake,
};

/// The side of the connection under test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    Client,
    Server,
}

pub const ROLES: [Role; 2] = [Role::Client, Role::Server];

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    /// The role of its peer.
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// Completes the handshake of an end of this role with its peer.
    pub fn handshake(self, end: &mut dyn Endpoint, peer: &mut dyn Endpoint) {
        match self {
            Self::Client => handshake(end, peer),
            Self::Server => handshake(peer, end),
        }
    }

    /// Returns an end of this role and its peer as client and server.
    pub fn client_and_server<T>(self, end: T, peer: T) -> (T, T) {
        match self {
            Self::Client => (end, peer),
            Self::Server => (peer, end),
        }
    }
}

/// The crate and API of an end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Implementation {
    Buffered,
    Unbuffered,
    Upstream,
}

impl Implementation {
    /// An end with the configuration of its crate.
    pub fn end(
        self,
        this: impl FnOnce() -> this::Config,
        upstream: impl FnOnce() -> upstream::Config,
    ) -> Box<dyn Endpoint> {
        match self {
            Self::Buffered => Box::new(this().buffered()),
            Self::Unbuffered => this().unbuffered(),
            Self::Upstream => Box::new(upstream().buffered()),
        }
    }
}

macro_rules! roles {
    ($module:ident, $tls:ident, $buffered:ident, $unbuffered:ident) => {
        /// Configurations of one crate.
        pub mod $module {
            use $tls::crypto::CryptoProvider;
            use $tls::{
                ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection,
            };

            use super::*;

            /// A configuration of either role, without client authentication.
            #[derive(Clone)]
            pub enum Config {
                Client(Arc<ClientConfig>),
                Server(Arc<ServerConfig>),
            }

            impl Config {
                pub fn new(
                    role: Role,
                    versions: Versions,
                    provider: CryptoProvider,
                    key_type: KeyType,
                ) -> Self {
                    use configs::$module::{client_of, server_of};
                    let auth = ClientAuth::None;
                    match role {
                        Role::Client => {
                            Self::Client(client_of(versions, provider, key_type, auth).into())
                        }
                        Role::Server => {
                            Self::Server(server_of(versions, provider, key_type, auth).into())
                        }
                    }
                }

                /// Applies the function for its role.
                pub fn edit(
                    mut self,
                    client: impl FnOnce(&mut ClientConfig),
                    server: impl FnOnce(&mut ServerConfig),
                ) -> Self {
                    match &mut self {
                        Self::Client(config) => client(Arc::make_mut(config)),
                        Self::Server(config) => server(Arc::make_mut(config)),
                    }
                    self
                }

                /// Allows secrets to be extracted.
                pub fn extractable(self) -> Self {
                    self.edit(
                        |client| client.enable_secret_extraction = true,
                        |server| server.enable_secret_extraction = true,
                    )
                }

                /// The client's configuration.
                pub fn client(self) -> Arc<ClientConfig> {
                    match self {
                        Self::Client(config) => config,
                        Self::Server(_) => panic!("a server"),
                    }
                }

                /// The server's configuration.
                pub fn server(self) -> Arc<ServerConfig> {
                    match self {
                        Self::Server(config) => config,
                        Self::Client(_) => panic!("a client"),
                    }
                }

                /// # Errors
                ///
                /// If the crate rejects the configuration.
                pub fn try_connection(&self) -> Result<Connection, $tls::Error> {
                    Ok(match self.clone() {
                        Self::Client(config) => {
                            ClientConnection::new(config, server_name())?.into()
                        }
                        Self::Server(config) => ServerConnection::new(config)?.into(),
                    })
                }

                pub fn connection(&self) -> Connection {
                    self.try_connection().unwrap()
                }

                pub fn buffered(&self) -> $buffered {
                    $buffered::new(self.connection())
                }

                pub fn unbuffered(&self) -> Box<dyn Endpoint> {
                    match self.clone() {
                        Self::Client(config) => Box::new($unbuffered::client(config)),
                        Self::Server(config) => Box::new($unbuffered::server(config)),
                    }
                }
            }
        }
    };
}

roles!(this, rustls, ThisBuffered, ThisUnbuffered);
roles!(
    upstream,
    rustls_upstream,
    UpstreamBuffered,
    UpstreamUnbuffered
);

impl this::Config {
    /// An end that encrypts in place.
    pub fn in_place(&self) -> Box<dyn Endpoint> {
        match self.clone() {
            Self::Client(config) => Box::new(ThisUnbuffered::client(config).in_place()),
            Self::Server(config) => Box::new(ThisUnbuffered::server(config).in_place()),
        }
    }
}
