//! Certificates that are parsed once, kept, and shared.
//!
//! What is kept here are certificates and what was read out of them, never what a verification found: every
//! handshake checks signatures, names, dates and revocation anew. Each cache is bounded, and tells by
//! [`CacheStats`] what it holds and how much it helped.

mod peer_chains;
mod revocation;
mod stats;

pub(crate) use peer_chains::Found;
pub use peer_chains::PeerChains;
pub use revocation::RevocationList;
pub use stats::CacheStats;
