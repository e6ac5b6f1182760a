//! Tests of TLS 1.2: handshakes, sessions and failures.

mod client;
mod connection;
mod ffdhe;
mod server;
mod versions;
