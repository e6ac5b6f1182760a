//! Connected sides of rustls 0.23.

use rustls_upstream as tls;

use crate::peers::configs::{server_name, upstream as made};

#[path = "buffered.rs"]
pub mod buffered;
#[path = "configs.rs"]
mod configs;
#[path = "unbuffered.rs"]
pub mod unbuffered;

pub use configs::Configs;
