//! This library.

use harness::pairs::this as pairs;
use rustls as tls;

use crate::cli::Provider;

#[path = "connection/mod.rs"]
pub(crate) mod connection;
pub(crate) mod in_place;

fn provider(provider: Provider) -> tls::crypto::CryptoProvider {
    provider.in_harness().this()
}
