//! Certificates that are parsed once, kept, and shared.
//!
//! What is kept here are certificates and what was read out of them, never what a verification found: every
//! handshake checks signatures, names, dates and revocation anew. Each cache is bounded, and tells by
//! [`CacheStats`] what it holds and how much it helped.

#[cfg(feature = "std")]
mod files;
#[cfg(feature = "std")]
mod loading;
mod peer_chains;
mod revocation;
#[cfg(feature = "std")]
mod roots;
mod stats;

#[cfg(feature = "std")]
pub use files::{FileError, FileErrorCause};
pub(crate) use peer_chains::Found;
pub use peer_chains::PeerChains;
pub use revocation::RevocationList;
#[cfg(feature = "std")]
pub use roots::{
    IgnoredCertificate, IgnoredReason, LoadedRoots, RootCache, RootSource, RootsError,
};
pub use stats::CacheStats;
