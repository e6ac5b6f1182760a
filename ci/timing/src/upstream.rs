//! The library to compare with: rustls 0.23 as published.

use std::sync::Arc;

use harness::peers::configs::Provider;
use harness::providers::transparent::upstream as transparent;
use rustls_upstream as tls;
use tls::crypto::CryptoProvider;
use tls::server::ProducesTickets;

use crate::Case;

#[path = "handshakes.rs"]
mod handshakes;
#[path = "records.rs"]
mod records;

pub(crate) fn cases(providers: &[Provider]) -> Vec<Case> {
    let mut cases = handshakes::cases();
    cases.extend(records::cases(providers));
    cases
}

fn crypto(provider: Provider) -> CryptoProvider {
    provider.upstream()
}

fn ticketer(provider: Provider) -> Arc<dyn ProducesTickets> {
    provider.upstream_ticketer()
}
