//! The library to compare with: rustls 0.23 as published.

use harness::peers::configs::{Provider, upstream as configs};
use harness::peers::endpoints::UpstreamBuffered as Buffered;
use rustls_upstream as tls;

#[cfg(unix)]
#[path = "serving.rs"]
pub(crate) mod serving;
#[path = "victims.rs"]
pub(crate) mod victims;

fn crypto(provider: Provider) -> tls::crypto::CryptoProvider {
    provider.upstream()
}

fn ticketer(provider: Provider) -> std::sync::Arc<dyn tls::server::ProducesTickets> {
    provider.upstream_ticketer()
}
