//! The library to compare with: rustls 0.23 as published.

#[path = "connection/connection.rs"]
pub(crate) mod connection;
mod dialect;
