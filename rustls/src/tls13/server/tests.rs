//! Compares the server with upstream's. Given the same bytes, both must give the same answer, error
//! and alert, except where only this one follows RFC 9846. Each such case names its section.

mod client_auth;
mod client_hello;
mod handshake;
mod hello_bytes;
mod negotiation;
mod peers;
mod retry;
mod scripted_client;
mod second_flight;
mod tickets;
