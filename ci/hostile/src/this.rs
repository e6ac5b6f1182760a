//! This library.

use harness::peers::configs::{Provider, this as configs};
use harness::peers::endpoints::ThisBuffered as Buffered;
use rustls as tls;

#[cfg(unix)]
#[path = "serving.rs"]
pub(crate) mod serving;
#[path = "victims.rs"]
pub(crate) mod victims;

fn crypto(provider: Provider) -> tls::crypto::CryptoProvider {
    provider.this()
}

fn ticketer(provider: Provider) -> std::sync::Arc<dyn tls::server::ProducesTickets> {
    provider.this_ticketer()
}
