//! Configurations for either role, for one crate.

use std::sync::Arc;

use super::buffered::BufferedEndpoint;
use super::configs::{client_of, server_of};
use super::tls;
use super::tls::crypto::CryptoProvider;
use super::tls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use super::unbuffered::UnbufferedEndpoint;
use crate::peers::configs::{ClientAuth, KeyType, Versions, server_name};
use crate::peers::endpoints::Endpoint;
use crate::peers::roles::Role;

/// A configuration for either role, without client authentication.
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
        let auth = ClientAuth::None;
        match role {
            Role::Client => Self::Client(client_of(versions, provider, key_type, auth).into()),
            Role::Server => Self::Server(server_of(versions, provider, key_type, auth).into()),
        }
    }

    /// Applies the function for the role of this configuration.
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

    /// Returns the client's configuration.
    pub fn client(self) -> Arc<ClientConfig> {
        match self {
            Self::Client(config) => config,
            Self::Server(_) => panic!("a server"),
        }
    }

    /// Returns the server's configuration.
    pub fn server(self) -> Arc<ServerConfig> {
        match self {
            Self::Server(config) => config,
            Self::Client(_) => panic!("a client"),
        }
    }

    /// # Errors
    ///
    /// Returns an error if the crate rejects the configuration.
    pub fn try_connection(&self) -> Result<Connection, tls::Error> {
        Ok(match self.clone() {
            Self::Client(config) => ClientConnection::new(config, server_name())?.into(),
            Self::Server(config) => ServerConnection::new(config)?.into(),
        })
    }

    pub fn connection(&self) -> Connection {
        self.try_connection().unwrap()
    }

    pub fn buffered(&self) -> BufferedEndpoint {
        BufferedEndpoint::new(self.connection())
    }

    pub fn unbuffered(&self) -> Box<dyn Endpoint> {
        match self.clone() {
            Self::Client(config) => Box::new(UnbufferedEndpoint::client(config)),
            Self::Server(config) => Box::new(UnbufferedEndpoint::server(config)),
        }
    }
}
