//! Certificates that are parsed once, kept, and shared.
//!
//! What is kept here are certificates and what was read out of them, never what a verification found: every
//! handshake checks signatures, names, dates and revocation anew. Each cache is bounded, and tells by
//! [`CacheStats`] what it holds and how much it helped.

mod revocation;
mod stats;

pub use revocation::RevocationList;
pub use stats::CacheStats;
