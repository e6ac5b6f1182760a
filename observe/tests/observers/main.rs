//! Observers of real handshakes: each metric, span and event moves as documented.

mod counters;
mod facade;
mod kit;
mod spans;
