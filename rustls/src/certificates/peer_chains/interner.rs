//! The map of [`PeerChains`](super::PeerChains): by hash, weak, bounded.

use core::hash::{BuildHasher, Hash, Hasher};
use core::sync::atomic::{AtomicUsize, Ordering};
use std::vec::Vec;

use super::Found;
use crate::certificates::CacheStats;
use crate::lock::{Mutex, MutexGuard};
use crate::session::bounded_map::BoundedMap;
use crate::session::chain::{ChainKind, PeerChain, WeakChain};

/// How many entries each new one has looked at, in turn, for chains that are gone. With one the dead would never
/// be fewer than the living that came after them; each more clears them away sooner.
const SWEPT_PER_ENTRY: usize = 2;

/// Chains by their hash. Of those with the same hash the first one that is alive is found, and the others are not:
/// nothing but sharing is lost.
///
/// `S` is keyed, so that peers cannot choose what their certificates hash to. No lock is held while a chain is
/// hashed, compared, copied or freed.
pub(super) struct Interner<S> {
    state: S,
    chains: Mutex<Chains>,
    hits: AtomicUsize,
    misses: AtomicUsize,
    evictions: AtomicUsize,
}

type Chains = BoundedMap<u64, WeakChain>;

impl<S: BuildHasher> Interner<S> {
    pub(super) fn new(capacity: usize, state: S) -> Self {
        Self {
            state,
            chains: Mutex::new(BoundedMap::new(capacity)),
            hits: AtomicUsize::new(0),
            misses: AtomicUsize::new(0),
            evictions: AtomicUsize::new(0),
        }
    }

    pub(super) fn find<'a>(
        &self,
        kind: ChainKind,
        certificates: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Found {
        let hash = self.hash(kind, certificates.clone());
        let alive = self.alive(hash);
        if let Some(chain) = alive
            && chain.is(kind, certificates.clone())
        {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Found::alone(chain);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        Found {
            chain: PeerChain::copy(kind, certificates),
            hash: Some(hash),
        }
    }

    /// `hash` is that of `chain`.
    pub(super) fn keep(&self, hash: u64, chain: PeerChain) -> PeerChain {
        let Some(mut chains) = self.chains() else {
            return chain;
        };
        if let Some(present) = chains.get(&hash).and_then(WeakChain::upgrade) {
            drop(chains);
            // another connection was faster, or another chain has this hash
            return if present == chain { present } else { chain };
        }
        // what is gone leaves its place among the old ones
        chains.remove(&hash);
        chains.sweep(SWEPT_PER_ENTRY, WeakChain::is_gone);
        let evicted = chains.insert(hash, chain.downgrade());
        drop(chains);
        if evicted.is_some() {
            self.evictions.fetch_add(1, Ordering::Relaxed);
        }
        chain
    }

    /// The chain of this hash, if it is alive. It is let go of outside of the lock: it may be the last reference.
    fn alive(&self, hash: u64) -> Option<PeerChain> {
        self.chains()?.get(&hash)?.upgrade()
    }

    /// Lengths go with contents, so that no two chains are the same to the hash.
    fn hash<'a>(&self, kind: ChainKind, certificates: impl Iterator<Item = &'a [u8]>) -> u64 {
        let mut hasher = self.state.build_hasher();
        kind.hash(&mut hasher);
        let mut count = 0;
        for certificate in certificates {
            hasher.write_usize(certificate.len());
            hasher.write(certificate);
            count += 1;
        }
        hasher.write_usize(count);
        hasher.finish()
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

    /// The map is consistent between calls, so a poisoned lock can be used.
    fn chains(&self) -> Option<MutexGuard<'_, Chains>> {
        self.chains.lock_even_poisoned()
    }
}

#[cfg(test)]
mod tests;
