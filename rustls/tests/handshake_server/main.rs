//! The server against clients that say what a test wants, and against upstream's client.
//!
//! A server of upstream rustls gets the same bytes: error and alert must be the same, except where
//! RFC 9846 demands more than 0.23 does.

mod acceptor;
mod client_auth;
mod client_hello;
mod negotiation;
mod retry;
mod second_flight;
mod servers;
mod tickets;
mod upstream_client;
