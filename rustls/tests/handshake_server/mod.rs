//! Tests of the server with scripted clients and upstream's client.
//!
//! Upstream's server receives the same bytes. Error and alert must match, except where RFC 9846
//! requires more checks than upstream makes.

mod acceptor;
mod client_auth;
mod client_hello;
mod negotiation;
mod refusals;
mod retry;
mod second_flight;
mod servers;
mod tickets;
