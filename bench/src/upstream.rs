//! The library to compare with: rustls 0.23 as published.

use core::task::Waker;
use std::sync::Arc;

use harness::peers::pairs::upstream as pairs;
use harness::providers::tickets::upstream as tickets;
use rustls_upstream as tls;

use crate::choices::Provider;
use crate::jobs::offload::Pool;
use crate::workload::Scenario;

#[path = "connection/connection.rs"]
pub(crate) mod connection;

fn provider(provider: Provider) -> tls::crypto::CryptoProvider {
    provider.upstream()
}

fn all_groups(provider: Provider) -> Vec<&'static dyn tls::crypto::SupportedKxGroup> {
    provider.upstream_groups()
}

fn ticketer(provider: Provider) -> Arc<dyn tls::server::ProducesTickets> {
    provider.upstream_ticketer()
}

/// Does nothing: upstream shares no certificates.
fn set_up_caches(_: &Scenario, _: &mut tls::ClientConfig, _: &mut tls::ServerConfig) {}

/// Returns `key`: upstream signs on the connection's thread.
fn offloaded(key: Arc<dyn tls::sign::SigningKey>, _: &Pool) -> Arc<dyn tls::sign::SigningKey> {
    key
}

/// Does nothing: upstream's connections do not wait.
fn set_async(_: &mut tls::ServerConnection, _: bool) {}

/// Does nothing, likewise.
fn poll_operation(_: &mut tls::ServerConnection, _: &Waker) -> Result<(), tls::Error> {
    Ok(())
}
