//! One copy of each peer's certificates, for all connections and sessions that have them.
//!
//! ```text
//!                      ┌─────────────── PeerChains ────────────────┐
//!   a Certificate  ──► │ find: hash, look up, compare every byte   │ ──► an equal chain that is alive,
//!   or a ticket        │                                           │     or a copy of its own
//!                      │ keep: once the peer is authenticated      │ ──► the one that others find
//!                      └───────────────────────────────────────────┘
//! ```
//!
//! The map holds weak references: a chain lives as long as a connection or a session that has it. It is bounded, and
//! nothing enters it on the word of a peer that is not authenticated. Nothing but memory depends on it: that an
//! equal chain was seen before spares no check of it.

use core::fmt;

use super::CacheStats;
use crate::session::chain::{ChainKind, PeerChain};

/// Lets connections and sessions of one peer share its certificates, in place of a copy each.
///
/// A server that has many connections or sessions of the same clients, and a client with those of the same
/// servers, hold each chain of certificates once. What is shared is bytes, and what is read out of them; each
/// handshake verifies them anew.
///
/// Each configuration has one of its own, which its clones share. Several configurations share one where they are
/// given it:
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
/// It holds weak references only: a chain is freed with the last connection or session that has it. Without the crate
/// feature `std`, only a connection and its own sessions share.
pub struct PeerChains {
    #[cfg(feature = "std")]
    enabled: Option<interner::Interner<std::hash::RandomState>>,
}

impl PeerChains {
    /// How many chains [`default`](Self::default) knows at most: with all of them, the map takes about a megabyte,
    /// beside the chains.
    #[cfg(feature = "std")]
    pub const DEFAULT_CAPACITY: usize = 8192;

    /// One that knows up to `capacity` chains; the oldest makes room for the next, and is not found any longer. With
    /// 0 it is [`disabled`](Self::disabled).
    #[cfg(feature = "std")]
    pub fn new(capacity: usize) -> Self {
        let enabled = (capacity > 0).then(|| interner::Interner::new(capacity, Default::default()));
        Self { enabled }
    }

    /// One by which nothing is shared: each full handshake and each resumption of a server makes a copy.
    pub fn disabled() -> Self {
        Self {
            #[cfg(feature = "std")]
            enabled: None,
        }
    }

    /// What it holds, and how much it helped.
    ///
    /// `entries` counts the chains that are known, including some that were freed and are not cleared away yet. `bytes`
    /// is the length of the certificates of those that are alive, which connections and sessions hold. A hit is a chain
    /// that did not have to be copied.
    pub fn stats(&self) -> CacheStats {
        #[cfg(feature = "std")]
        if let Some(interner) = &self.enabled {
            return interner.stats();
        }
        CacheStats::default()
    }

    /// The chain of these certificates, each in DER: one that is alive, or a copy.
    ///
    /// A peer that is not authenticated yet may have sent them; nobody else finds a copy before [`Found::keep`].
    pub(crate) fn find<'a>(
        &self,
        kind: ChainKind,
        certificates: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Found {
        #[cfg(feature = "std")]
        if let Some(interner) = &self.enabled {
            return interner.find(kind, certificates);
        }
        Found::alone(PeerChain::copy(kind, certificates))
    }

    /// The same for certificates that a peer was authenticated with. Later calls find what is returned.
    pub(crate) fn share<'a>(
        &self,
        kind: ChainKind,
        certificates: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> PeerChain {
        self.find(kind, certificates).keep(self)
    }
}

impl Default for PeerChains {
    /// One of [`DEFAULT_CAPACITY`](Self::DEFAULT_CAPACITY) with `std`, [`disabled`](Self::disabled) without.
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

/// A chain that may be used, but not be found, while its peer is not authenticated.
pub(crate) struct Found {
    chain: PeerChain,
    /// What it is to be kept under, unless others have it already.
    #[cfg(feature = "std")]
    hash: Option<u64>,
}

impl Found {
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

    /// The peer is authenticated by this chain: from now on others share it. If one of them was faster, this returns
    /// its copy. `chains` are those it was looked for in.
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
