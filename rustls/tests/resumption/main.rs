//! Resumption of TLS 1.3 sessions (RFC 9846 §2.2) by this crate's client and server.

mod client;
mod server;
