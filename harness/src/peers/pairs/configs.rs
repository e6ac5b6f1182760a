//! The configurations of both sides.

use std::sync::Arc;

use super::{made, tls};
use crate::peers::configs::{ClientAuth, KeyType, Versions};

/// The two configurations that connections are made from.
pub struct Configs {
    pub client: Arc<tls::ClientConfig>,
    pub server: Arc<tls::ServerConfig>,
}

impl Configs {
    /// Configurations without client authentication.
    pub fn new(versions: Versions, provider: tls::crypto::CryptoProvider, key: KeyType) -> Self {
        let auth = ClientAuth::None;
        Self {
            client: made::client_of(versions, provider.clone(), key, auth).into(),
            server: made::server_of(versions, provider, key, auth).into(),
        }
    }
}
