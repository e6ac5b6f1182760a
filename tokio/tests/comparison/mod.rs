//! The same scripts for the streams of this crate and of the published one: calls by a program and
//! actions of its peer, over a transport that fails at a chosen call. The program must see the same
//! results, and the peer the same bytes.

mod api;
mod data;
mod early_data;
mod ends;
mod handshakes;
mod script;
