//! The version before: rustls 0.23 as published.

use harness::pairs::upstream as pairs;
use rustls_upstream as tls;

use crate::cli::Provider;

#[path = "connection/mod.rs"]
pub(crate) mod connection;

fn provider(provider: Provider) -> tls::crypto::CryptoProvider {
    provider.in_harness().upstream()
}
