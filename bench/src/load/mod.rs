//! `load`: many connections, many handshakes, and hostile peers.

pub(crate) mod connections;
pub(crate) mod handshakes;
pub(crate) mod hostile;
