//! This library.

use std::sync::Arc;

use harness::configs::{ClientAuth, KeyType, Versions, this as configs};
use harness::pairs::this as pairs;
use harness::transparent::this as transparent;
use rustls as tls;
use tls::certificates::PeerChains;

use crate::cli::Provider;

#[path = "connection/mod.rs"]
pub(crate) mod connection;
pub(crate) mod in_place;
pub(crate) mod own;
pub(crate) mod revocation;
pub(crate) mod roots;
pub(crate) mod split;
pub(crate) mod timing;

fn provider(provider: Provider) -> tls::crypto::CryptoProvider {
    provider.in_harness().this()
}

/// Creates a server configuration for hostile peers: both versions, optional client certificates,
/// tickets.
pub(crate) fn hostile_server(provider: Provider) -> Result<Arc<tls::ServerConfig>, tls::Error> {
    let crypto = provider.in_harness().this();
    let (versions, key_type) = (Versions::Both, KeyType::EcdsaP256);
    let mut config = configs::server_of(versions, crypto, key_type, ClientAuth::OptionalAbsent);
    config.ticketer = ticketer(provider)?;
    Ok(Arc::new(config))
}

fn all_groups(provider: Provider) -> Vec<&'static dyn tls::crypto::SupportedKxGroup> {
    provider.in_harness().this_groups()
}

fn ticketer(provider: Provider) -> Result<Arc<dyn tls::server::ProducesTickets>, tls::Error> {
    match provider {
        Provider::AwsLcRs => tls::crypto::aws_lc_rs::Ticketer::new(),
        Provider::Ring => tls::crypto::ring::Ticketer::new(),
    }
}

/// Turns the sharing of peers' certificates among connections and sessions on or off.
fn share_chains(shared: bool, client: &mut tls::ClientConfig, server: &mut tls::ServerConfig) {
    if !shared {
        client.peer_chains = Arc::new(PeerChains::disabled());
        server.peer_chains = client.peer_chains.clone();
    }
}
