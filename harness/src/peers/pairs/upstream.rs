//! Connected sides of rustls 0.23.

use std::sync::Arc;

use rustls_upstream as tls;

use crate::peers::configs::server_name;

#[path = "buffered.rs"]
pub mod buffered;
#[path = "unbuffered.rs"]
pub mod unbuffered;

/// The two configurations that connections are made from.
pub struct Configs {
    pub client: Arc<tls::ClientConfig>,
    pub server: Arc<tls::ServerConfig>,
}
