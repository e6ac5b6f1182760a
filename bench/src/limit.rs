//! The limits: the same work as in a connection, done by the provider's library alone.

mod aead;
mod aws_lc_rs;
pub(crate) mod handshake;
pub(crate) mod primitive;
pub(crate) mod records;
mod ring;
