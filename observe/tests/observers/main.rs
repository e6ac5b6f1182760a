//! Tests of observers with real handshakes: metrics, spans and events are as documented.

mod counters;
mod facade;
mod kit;
mod spans;
