//! Early data (0-RTT, RFC 9846 §2.3), sent by this crate's client and received by its server.

mod client;
mod io;
mod server;
