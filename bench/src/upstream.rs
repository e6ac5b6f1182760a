//! The library to compare with: rustls 0.23 as published.

use std::sync::Arc;

use harness::peers::pairs::upstream as pairs;
use harness::verifiers::upstream as verifiers;
use rustls_upstream as tls;

use crate::cli::Provider;

#[path = "connection/mod.rs"]
pub(crate) mod connection;

fn provider(provider: Provider) -> tls::crypto::CryptoProvider {
    provider.in_harness().upstream()
}

fn all_groups(provider: Provider) -> Vec<&'static dyn tls::crypto::SupportedKxGroup> {
    provider.in_harness().upstream_groups()
}

fn ticketer(provider: Provider) -> Arc<dyn tls::server::ProducesTickets> {
    provider.in_harness().upstream_ticketer()
}

/// Does nothing: upstream shares no certificates.
fn share_chains(_: bool, _: &mut tls::ClientConfig, _: &mut tls::ServerConfig) {}
