//! Upstream, as the code that is compiled for both implementations sees it.

use core::task::Waker;
use std::sync::Arc;

pub(super) use harness::peers::pairs::upstream as pairs;
pub(super) use rustls_upstream as tls;

use crate::choices::Provider;
use crate::workload::Scenario;
use crate::workload::offload::Pool;

pub(super) fn provider(provider: Provider) -> tls::crypto::CryptoProvider {
    provider.library().upstream()
}

pub(super) fn all_groups(provider: Provider) -> Vec<&'static dyn tls::crypto::SupportedKxGroup> {
    provider.library().upstream_groups()
}

pub(super) fn ticketer(provider: Provider) -> Arc<dyn tls::server::ProducesTickets> {
    provider.library().upstream_ticketer()
}

/// Does nothing: upstream shares no certificates.
pub(super) fn set_up_caches(_: &Scenario, _: &mut tls::ClientConfig, _: &mut tls::ServerConfig) {}

/// Returns `key`: upstream signs on the connection's thread.
pub(super) fn offloaded(
    key: Arc<dyn tls::sign::SigningKey>,
    _: &Pool,
) -> Arc<dyn tls::sign::SigningKey> {
    key
}

/// Does nothing: upstream's connections do not wait.
pub(super) fn set_async(_: &mut tls::ServerConnection, _: bool) {}

/// Does nothing: see [`set_async`].
pub(super) fn poll_operation(_: &mut tls::ServerConnection, _: &Waker) -> Result<(), tls::Error> {
    Ok(())
}
