//! This library.

pub(crate) use rustls as tls;

#[path = "connection/mod.rs"]
pub(crate) mod connection;
pub(crate) mod in_place;
