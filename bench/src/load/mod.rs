//! `load`: many connections and many handshakes.

pub(crate) mod connections;
pub(crate) mod handshakes;
