//! The server against upstream's: given the same bytes, both come to the same answer, error and alert, but
//! for what RFC 9846 asks for and upstream does not do. Each such case names its section.

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
