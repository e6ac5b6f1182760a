//! Sessions of TLS 1.3 that are resumed (RFC 9846 §2.2): by this crate's client, and by its server.

mod client;
mod server;
