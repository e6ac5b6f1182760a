//! Connected endpoints, for one crate.

use std::sync::Arc;

use super::configs::{client_of, server_of};
use super::tls;
use crate::peers::configs::{ClientAuth, KeyType, Versions, server_name};

#[path = "pairs/buffered.rs"]
pub mod buffered;
#[path = "pairs/unbuffered.rs"]
pub mod unbuffered;

/// The configurations from which connections are made.
pub struct Configs {
    pub client: Arc<tls::ClientConfig>,
    pub server: Arc<tls::ServerConfig>,
}

impl Configs {
    /// Configurations without client authentication.
    pub fn new(versions: Versions, provider: tls::crypto::CryptoProvider, key: KeyType) -> Self {
        let auth = ClientAuth::None;
        Self {
            client: client_of(versions, provider.clone(), key, auth).into(),
            server: server_of(versions, provider, key, auth).into(),
        }
    }

    /// Creates both endpoints, before their handshake.
    ///
    /// # Errors
    ///
    /// Returns an error if the crate rejects a configuration.
    pub fn ends(&self) -> Result<(tls::ClientConnection, tls::ServerConnection), tls::Error> {
        Ok((
            tls::ClientConnection::new(self.client.clone(), server_name())?,
            tls::ServerConnection::new(self.server.clone())?,
        ))
    }
}
