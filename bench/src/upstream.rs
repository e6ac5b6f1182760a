//! The version before: rustls 0.23 as published.

pub(crate) use rustls_upstream as tls;

#[path = "connection/mod.rs"]
pub(crate) mod connection;
