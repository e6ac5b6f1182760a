//! Peers with the right keys that send whatever a test wants to any
//! [`Endpoint`](crate::peers::endpoints::Endpoint).
//!
//! They check nothing, except for [`ech`]. They have their own key schedule and record protection;
//! ciphers, hash functions and key exchange come from a provider. In [`recorded`] are flights of
//! genuine peers, to change and replay.

mod client;
pub mod ech;
mod key_schedule;
pub mod recorded;
mod records;
mod refused;
mod server;
mod ticket;
pub mod tls12;

pub use client::{Edit, OfferedPsk, ScriptedClient};
pub use refused::Refused;
pub use server::{
    Body, Conversation, Corrupt, Extension, Hello, Identity, KEY_SHARE, Outcome, SUITE,
    SUPPORTED_VERSIONS, Script, bytes, extensions,
};
pub use ticket::Ticket;
