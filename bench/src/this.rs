//! This library.

use std::sync::Arc;

use harness::peers::pairs::this as pairs;
use harness::providers::tickets::this as tickets;
use harness::verifiers::this as verifiers;
use rustls as tls;
use tls::certificates::PeerChains;

use crate::choices::Provider;

pub(crate) mod certificates;
#[path = "connection/connection.rs"]
pub(crate) mod connection;
pub(crate) mod in_place;
pub(crate) mod split;

fn provider(provider: Provider) -> tls::crypto::CryptoProvider {
    provider.this()
}

fn all_groups(provider: Provider) -> Vec<&'static dyn tls::crypto::SupportedKxGroup> {
    provider.this_groups()
}

fn ticketer(provider: Provider) -> Arc<dyn tls::server::ProducesTickets> {
    provider.this_ticketer()
}

/// Turns the sharing of peers' certificates among connections and sessions on or off.
fn share_chains(shared: bool, client: &mut tls::ClientConfig, server: &mut tls::ServerConfig) {
    if !shared {
        client.peer_chains = Arc::new(PeerChains::disabled());
        server.peer_chains = client.peer_chains.clone();
    }
}
