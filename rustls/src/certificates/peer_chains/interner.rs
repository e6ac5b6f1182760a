//! The map in [`PeerChains`](super::PeerChains): a bounded map of weak references, keyed by hash.

use core::hash::{BuildHasher, BuildHasherDefault};
use core::sync::atomic::{AtomicUsize, Ordering};
use std::hash::RandomState;
use std::vec::Vec;

use crate::bounded_map::BoundedMap;
use crate::certificates::CacheStats;
use crate::certificates::chain_hash::{Hashed, hash_chain};
use crate::certificates::peer_chain::{PeerChain, WeakChain};
use crate::lock::{Mutex, MutexGuard};

/// The number of entries checked for freed chains at each insertion. If it were one, freed chains
/// could outnumber live ones; a larger number clears them sooner.
const SWEPT_PER_ENTRY: usize = 2;

/// Chains, keyed by their hash. If hashes collide, only the first live chain is shared.
///
/// `S` is keyed, so that peers cannot choose the hashes of their certificates. No lock is held
/// while a chain is hashed, compared or freed.
pub(super) struct Interner<S = RandomState> {
    state: S,
    chains: Mutex<Chains>,
    hits: AtomicUsize,
    misses: AtomicUsize,
    evictions: AtomicUsize,
}

type Chains = BoundedMap<u64, WeakChain, BuildHasherDefault<Hashed>>;

impl Interner {
    /// Creates a map for up to `capacity` chains, or none for 0.
    pub(super) fn with_capacity(capacity: usize) -> Option<Self> {
        (capacity > 0).then(|| Self::new(capacity, RandomState::new()))
    }
}

impl<S: BuildHasher> Interner<S> {
    fn new(capacity: usize, state: S) -> Self {
        Self {
            state,
            chains: Mutex::new(BoundedMap::new(capacity)),
            hits: AtomicUsize::new(0),
            misses: AtomicUsize::new(0),
            evictions: AtomicUsize::new(0),
        }
    }

    pub(super) fn share(&self, chain: PeerChain) -> PeerChain {
        let hash = hash_chain(&self.state, &chain);
        let present = self.find_or_insert(hash, &chain);
        // compared without the lock. Another chain may have the same hash
        match present.filter(|present| *present == chain) {
            Some(present) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                present
            }
            None => {
                self.misses.fetch_add(1, Ordering::Relaxed);
                chain
            }
        }
    }

    /// Returns the live chain with this hash, which may differ from `chain`. If there is none,
    /// inserts `chain`.
    fn find_or_insert(&self, hash: u64, chain: &PeerChain) -> Option<PeerChain> {
        let mut chains = self.chains()?;
        match chains.get_mut(&hash) {
            Some(known) => {
                let present = known.upgrade();
                if present.is_none() {
                    *known = chain.downgrade();
                }
                // the caller drops it without the lock: it may be the last reference
                present
            }
            None => {
                chains.sweep(SWEPT_PER_ENTRY, WeakChain::is_gone);
                if chains.insert(hash, chain.downgrade()).is_some() {
                    self.evictions.fetch_add(1, Ordering::Relaxed);
                }
                None
            }
        }
    }

    pub(super) fn stats(&self) -> CacheStats {
        let known: Vec<WeakChain> = self
            .chains()
            .map_or_else(Vec::new, |chains| chains.values().cloned().collect());
        let alive = known.iter().filter_map(WeakChain::upgrade);
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed) as u64;
        CacheStats {
            entries: known.len(),
            bytes: Some(
                alive
                    .map(|chain| chain.der().map(<[u8]>::len).sum::<usize>())
                    .sum(),
            ),
            hits: count(&self.hits),
            misses: count(&self.misses),
            evictions: count(&self.evictions),
            ..CacheStats::default()
        }
    }

    /// Locks the map, even if the lock is poisoned: a panic leaves the map consistent.
    fn chains(&self) -> Option<MutexGuard<'_, Chains>> {
        self.chains.lock_even_poisoned()
    }
}

#[cfg(test)]
mod tests;
