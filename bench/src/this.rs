//! This library.

pub(crate) mod bulk;
pub(crate) mod certificates;
#[path = "connection/connection.rs"]
pub(crate) mod connection;
mod dialect;
pub(crate) mod split;
