//! Connections to attack, and their configurations: both versions, optional client certificates,
//! also compressed ones, tickets. Compiled for each library.

use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, Provider, Versions, server_name};
use harness::peers::endpoints::Endpoint;
use harness::peers::roles::Role;
use tls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};

use super::{Buffered, configs, crypto, ticketer, tls};
use crate::Result;
use crate::alone::Victims;

struct Configs {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

/// Servers ask for certificates, but accept clients without.
const AUTH: ClientAuth = ClientAuth::OptionalAbsent;
const KEY_TYPE: KeyType = KeyType::EcdsaP256;

pub(crate) fn victims(provider: Provider) -> Box<dyn Victims> {
    let client = configs::client_of(Versions::Both, crypto(provider), KEY_TYPE, AUTH);
    Box::new(Configs {
        client: Arc::new(client),
        server: server(provider),
    })
}

pub(super) fn server(provider: Provider) -> Arc<ServerConfig> {
    let mut config = configs::server_of(Versions::Both, crypto(provider), KEY_TYPE, AUTH);
    config.ticketer = ticketer(provider);
    config.cert_decompressors = vec![tls::compress::ZLIB_DECOMPRESSOR];
    Arc::new(config)
}

impl Victims for Configs {
    fn connect(&self, side: Role) -> Result<Box<dyn Endpoint>> {
        Ok(match side {
            Role::Client => {
                let connection = ClientConnection::new(self.client.clone(), server_name())?;
                Box::new(Buffered::new(connection))
            }
            Role::Server => {
                let connection = ServerConnection::new(self.server.clone())?;
                Box::new(Buffered::new(connection))
            }
        })
    }
}
