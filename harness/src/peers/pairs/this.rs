//! Connected sides of this crate.

use rustls as tls;

use crate::peers::configs::{server_name, this as made};

#[path = "buffered.rs"]
pub mod buffered;
#[path = "configs.rs"]
mod configs;
#[path = "unbuffered.rs"]
pub mod unbuffered;

pub use configs::Configs;
