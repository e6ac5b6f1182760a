//! One copy of each peer's certificates for all its connections and sessions.
//!
//! ```text
//!                      ┌─────────────── PeerChains ────────────────┐
//!   a Certificate  ──► │ find: hash, look up, compare every byte   │ ──► an equal live chain,
//!   or a ticket        │                                           │     or a new copy
//!                      │ keep: once the peer is authenticated      │ ──► the shared chain
//!                      └───────────────────────────────────────────┘
//! ```
//!
//! The map holds weak references: the connections and sessions keep a chain alive. It is bounded,
//! and only chains of authenticated peers enter it. It only saves memory: a shared chain is
//! verified like a new one.

use core::fmt;

use super::CacheStats;
use crate::certificates::peer_chain::{ChainKind, PeerChain};

/// Shares the certificates of a peer between its connections and sessions.
///
/// This saves memory on servers with many connections or sessions per client, and on clients with
/// many per server. The shared part is the bytes and the parsed properties. Each handshake verifies
/// them again.
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
/// The map holds weak references only: a chain is freed with its last connection or session.
/// Without the crate feature `std`, only a connection and its own sessions share.
pub struct PeerChains {
    #[cfg(feature = "std")]
    enabled: Option<interner::Interner<std::hash::RandomState>>,
}

impl PeerChains {
    /// The capacity of [`default`](Self::default). A full map takes about 1 MB, without the chains.
    #[cfg(feature = "std")]
    pub const DEFAULT_CAPACITY: usize = 8192;

    /// Creates a map for up to `capacity` chains. Beyond that, the oldest entry is evicted and no
    /// longer shared. With 0 it is [`disabled`](Self::disabled).
    #[cfg(feature = "std")]
    pub fn new(capacity: usize) -> Self {
        let enabled = (capacity > 0).then(|| interner::Interner::new(capacity, Default::default()));
        Self { enabled }
    }

    /// Creates a map that shares nothing. Each full handshake, and each resumption on a server,
    /// makes a copy.
    pub fn disabled() -> Self {
        Self {
            #[cfg(feature = "std")]
            enabled: None,
        }
    }

    /// Returns the statistics.
    ///
    /// `entries` counts the known chains, including freed ones that are not swept yet. `bytes` is
    /// the total length of the live certificates, which connections and sessions hold. A hit is a
    /// chain that was not copied.
    pub fn stats(&self) -> CacheStats {
        #[cfg(feature = "std")]
        if let Some(interner) = &self.enabled {
            return interner.stats();
        }
        CacheStats::default()
    }

    /// Returns the chain of these DER certificates: a live one, or a copy.
    ///
    /// The peer may not be authenticated yet. Nobody else finds a copy before
    /// [`UnauthenticatedChain::keep`].
    pub(crate) fn find<'a>(
        &self,
        kind: ChainKind,
        certificates: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> UnauthenticatedChain {
        #[cfg(feature = "std")]
        if let Some(interner) = &self.enabled {
            return interner.find(kind, certificates);
        }
        UnauthenticatedChain::alone(PeerChain::copy(kind, certificates))
    }

    /// Returns the shared chain of an authenticated peer, which later calls find.
    pub(crate) fn share<'a>(
        &self,
        kind: ChainKind,
        certificates: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> PeerChain {
        self.find(kind, certificates).keep(self)
    }
}

impl Default for PeerChains {
    /// A map of [`DEFAULT_CAPACITY`](Self::DEFAULT_CAPACITY) with `std`,
    /// [`disabled`](Self::disabled) without.
    fn default() -> Self {
        #[cfg(feature = "std")]
        return Self::new(Self::DEFAULT_CAPACITY);
        #[cfg(not(feature = "std"))]
        return Self::disabled();
    }
}

impl fmt::Debug for PeerChains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerChains")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// A chain of a peer that is not authenticated yet: usable, but not shared.
pub(crate) struct UnauthenticatedChain {
    chain: PeerChain,
    /// The hash to store it under; `None` if it is stored already.
    #[cfg(feature = "std")]
    hash: Option<u64>,
}

impl UnauthenticatedChain {
    fn alone(chain: PeerChain) -> Self {
        Self {
            chain,
            #[cfg(feature = "std")]
            hash: None,
        }
    }

    pub(crate) fn chain(&self) -> &PeerChain {
        &self.chain
    }

    /// Shares the chain in `chains`, because the peer is authenticated. Returns the copy of another
    /// connection if that was faster.
    pub(crate) fn keep(self, chains: &PeerChains) -> PeerChain {
        #[cfg(feature = "std")]
        if let (Some(hash), Some(interner)) = (self.hash, &chains.enabled) {
            return interner.keep(hash, self.chain);
        }
        let _ = chains;
        self.chain
    }
}

#[cfg(feature = "std")]
mod interner;
