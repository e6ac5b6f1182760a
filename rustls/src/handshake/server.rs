//! Parts of a server's handshake that are the same in both versions.
//!
//! - `held_hello`: holds the ClientHello while the server negotiates.
//! - `certificate`: the requested name, and the certificate for it; `protocol`: the application
//!   protocol.
//! - `resumable`: the conditions for resuming a session.
//! - `connection_data`: the state that only server connections have.

pub(crate) mod certificate;
pub(crate) mod connection_data;
pub(crate) mod held_hello;
pub(crate) mod protocol;
mod resumable;
