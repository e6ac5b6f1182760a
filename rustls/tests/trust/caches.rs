//! What a side that judges keeps of certificates from one connection to the next, and a side that keeps nothing.

use std::sync::Arc;

use harness::endpoints::ThisBuffered;

use crate::cases::Trust;
use crate::ends::this;

/// Everything that can be kept. Clones share it.
#[derive(Clone)]
pub(crate) enum Caches {
    /// Nothing is kept.
    Off,
    /// All of it is.
    On(Kept),
}

#[derive(Clone)]
pub(crate) struct Kept {}

impl Caches {
    pub(crate) fn on() -> Self {
        Self::On(Kept {})
    }

    pub(crate) fn roots(&self, trust: &Trust) -> Arc<rustls::RootCertStore> {
        this::roots(trust)
    }

    pub(crate) fn set_up_client(&self, _config: &mut rustls::ClientConfig) {}

    pub(crate) fn set_up_server(&self, _config: &mut rustls::ServerConfig) {}

    /// Uses what there is to be read of a connection that is complete.
    pub(crate) fn read(&self, _end: &ThisBuffered) {}
}
