//! Connected sides of this crate.

use std::sync::Arc;

use rustls as tls;

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
