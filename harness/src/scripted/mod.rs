//! Peers that have the right keys and say whatever a test wants, to any [`Endpoint`](crate::endpoints::Endpoint).
//!
//! They check nothing, except for [`ech`]. Key schedule and record protection are their own; ciphers, hash functions and key
//! exchange are a provider's.

mod client;
pub mod ech;
mod key_schedule;
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
