//! The library to compare with: rustls 0.23 as published.

use std::sync::Arc;

use harness::configs::{ClientAuth, KeyType, Versions, upstream as configs};
use harness::pairs::upstream as pairs;
use harness::transparent::upstream as transparent;
use rustls_upstream as tls;

use crate::cli::Provider;

#[path = "connection/mod.rs"]
pub(crate) mod connection;

fn provider(provider: Provider) -> tls::crypto::CryptoProvider {
    provider.in_harness().upstream()
}

/// Creates a server configuration for hostile peers: both versions, optional client certificates,
/// tickets.
pub(crate) fn hostile_server(provider: Provider) -> Result<Arc<tls::ServerConfig>, tls::Error> {
    let crypto = provider.in_harness().upstream();
    let (versions, key_type) = (Versions::Both, KeyType::EcdsaP256);
    let mut config = configs::server_of(versions, crypto, key_type, ClientAuth::OptionalAbsent);
    config.ticketer = ticketer(provider)?;
    Ok(Arc::new(config))
}

fn all_groups(provider: Provider) -> Vec<&'static dyn tls::crypto::SupportedKxGroup> {
    provider.in_harness().upstream_groups()
}

fn ticketer(provider: Provider) -> Result<Arc<dyn tls::server::ProducesTickets>, tls::Error> {
    match provider {
        Provider::AwsLcRs => tls::crypto::aws_lc_rs::Ticketer::new(),
        Provider::Ring => tls::crypto::ring::Ticketer::new(),
    }
}

/// Does nothing: upstream shares no certificates.
fn share_chains(_: bool, _: &mut tls::ClientConfig, _: &mut tls::ServerConfig) {}
