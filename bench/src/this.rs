//! This library.

pub(crate) mod certificates;
#[path = "connection/connection.rs"]
pub(crate) mod connection;
mod dialect;
pub(crate) mod in_place;
pub(crate) mod split;
