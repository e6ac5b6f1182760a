//! One copy of each peer's certificates for all its connections and sessions.
//!
//! ```text
//!                      ┌──────────────── PeerChains ────────────────┐
//!   the chain of an    │ share: hash, look up, compare every byte   │ ──► an equal live chain,
//!   authenticated ───► │                                            │     or the same one,
//!   peer               │                                            │     which others find now
//!                      └────────────────────────────────────────────┘
//! ```
//!
//! The map holds weak references, which do not keep a chain alive. It is bounded, and it is used
//! only after a peer is authenticated. Anybody can present a public certificate, and the duration
//! of a lookup would reveal whether its owner is connected.

use core::fmt;

use self::interner::Interner;
use super::CacheStats;
use crate::certificates::peer_chain::PeerChain;

/// The default capacity of a map, in chains.
const DEFAULT_CAPACITY: usize = 8192;

/// Shares the certificates of a peer between its connections and sessions.
///
/// This saves memory on servers with many connections or sessions per client, and on clients with
/// many per server. The bytes and the parsed properties are shared. Sharing does not affect
/// verification.
///
/// By default, each configuration and its clones share one map. Set the same one to share it
/// between several configurations:
///
#[cfg_attr(all(feature = "aws_lc_rs", feature = "std"), doc = "```")]
#[cfg_attr(not(all(feature = "aws_lc_rs", feature = "std")), doc = "```ignore")]
/// use std::sync::Arc;
///
/// use rustls::ServerConfig;
/// use rustls::certificates::PeerChains;
///
/// fn share(configs: &mut [ServerConfig]) {
///     let chains = Arc::new(PeerChains::new(10_000));
///     for config in configs {
///         config.peer_chains = chains.clone();
///     }
/// }
/// ```
///
/// The map holds only weak references, so it does not keep unused chains in memory. Without the
/// crate feature `std`, a chain is shared at most between a connection, its sessions, and the
/// connections that resume them.
pub struct PeerChains {
    enabled: Option<Interner>,
}

impl PeerChains {
    /// The capacity of [`default`](Self::default). A full map takes about 1 MB, not counting the
    /// chains.
    #[cfg(feature = "std")]
    pub const DEFAULT_CAPACITY: usize = DEFAULT_CAPACITY;

    /// Creates a map for up to `capacity` chains. Beyond that, the oldest entry is evicted and no
    /// longer shared. With 0 it is [`disabled`](Self::disabled).
    #[cfg(feature = "std")]
    pub fn new(capacity: usize) -> Self {
        Self::with_capacity(capacity)
    }

    fn with_capacity(capacity: usize) -> Self {
        Self {
            enabled: Interner::with_capacity(capacity),
        }
    }

    /// Creates a map that shares nothing. Each full handshake makes its own copy, and so does a
    /// server for each resumption of an encoded session.
    pub fn disabled() -> Self {
        Self { enabled: None }
    }

    /// Returns the statistics.
    ///
    /// `entries` counts the known chains, including freed ones that have not been removed yet.
    /// `bytes` is the total length of those that are alive. A hit is a chain for which an equal
    /// live one was found.
    pub fn stats(&self) -> CacheStats {
        let enabled = self.enabled.as_ref();
        enabled.map_or_else(CacheStats::default, Interner::stats)
    }

    /// Returns an equal chain from the map, or `chain` itself if there is none. The peer must be
    /// authenticated.
    pub(crate) fn share(&self, chain: PeerChain) -> PeerChain {
        match &self.enabled {
            Some(interner) => interner.share(chain),
            None => chain,
        }
    }
}

impl Default for PeerChains {
    /// Creates a map of [`DEFAULT_CAPACITY`](Self::DEFAULT_CAPACITY) with `std`,
    /// [`disabled`](Self::disabled) without.
    fn default() -> Self {
        Self::with_capacity(DEFAULT_CAPACITY)
    }
}

impl fmt::Debug for PeerChains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerChains")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "std")]
mod interner;
/// A stub for builds without `std`: no map is created, because it would need a lock.
#[cfg(not(feature = "std"))]
mod interner {
    use super::*;

    pub(super) enum Interner {}

    impl Interner {
        pub(super) fn with_capacity(_capacity: usize) -> Option<Self> {
            None
        }

        pub(super) fn share(&self, _: PeerChain) -> PeerChain {
            match *self {}
        }

        pub(super) fn stats(&self) -> CacheStats {
            match *self {}
        }
    }
}
