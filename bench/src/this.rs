//! This library.

use std::sync::Arc;

use harness::peers::pairs::this as pairs;
use harness::providers::tickets::this as tickets;
use rustls as tls;
use tls::certificates::{PeerChains, VerifiedChains};

use crate::choices::Provider;
use crate::workload::Scenario;

pub(crate) mod certificates;
#[path = "connection/connection.rs"]
pub(crate) mod connection;
pub(crate) mod in_place;
mod offload;
pub(crate) mod split;

use offload::{offloaded, poll_operation, set_async};

fn provider(provider: Provider) -> tls::crypto::CryptoProvider {
    provider.this()
}

fn all_groups(provider: Provider) -> Vec<&'static dyn tls::crypto::SupportedKxGroup> {
    provider.this_groups()
}

fn ticketer(provider: Provider) -> Arc<dyn tls::server::ProducesTickets> {
    provider.this_ticketer()
}

/// Turns off the caches of peers' certificates that `scenario` does without.
fn set_up_caches(
    scenario: &Scenario,
    client: &mut tls::ClientConfig,
    server: &mut tls::ServerConfig,
) {
    if !scenario.shares_chains {
        client.peer_chains = Arc::new(PeerChains::disabled());
        server.peer_chains = client.peer_chains.clone();
    }
    if !scenario.verifies_once {
        client.verified_chains = Arc::new(VerifiedChains::disabled());
        server.verified_chains = client.verified_chains.clone();
    }
}
