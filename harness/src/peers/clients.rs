//! Clients of this crate, in both APIs, and of upstream.

use std::sync::Arc;

use pki_types::ServerName;

use crate::peers::configs::server_name;
use crate::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered};

/// A configuration of one of the crates, for many connections.
#[derive(Clone)]
pub enum Client {
    Buffered(Arc<rustls::ClientConfig>),
    Unbuffered(Arc<rustls::ClientConfig>),
    Upstream(Arc<rustls_upstream::ClientConfig>),
}

impl Client {
    /// Creates a client for the server in [`configs`](crate::peers::configs).
    pub fn connect(&self) -> Box<dyn Endpoint> {
        self.connect_to(server_name())
    }

    pub fn connect_to(&self, name: ServerName<'static>) -> Box<dyn Endpoint> {
        match self.clone() {
            Self::Buffered(config) => Box::new(ThisBuffered::client_of(name, config)),
            Self::Unbuffered(config) => Box::new(ThisUnbuffered::client_of(name, config)),
            Self::Upstream(config) => Box::new(UpstreamBuffered::client_of(name, config)),
        }
    }
}
