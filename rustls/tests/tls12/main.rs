//! TLS 1.2: handshakes, sessions, and what may go wrong in them.

mod client;
mod connection;
mod ffdhe;
mod injected;
mod server;
mod versions;
