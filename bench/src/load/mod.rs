//! `load`: many connections, many handshakes, and peers that mean no good.

pub(crate) mod connections;
pub(crate) mod handshakes;
pub(crate) mod hostile;
