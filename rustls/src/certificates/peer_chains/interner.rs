//! The map of [`PeerChains`](super::PeerChains): weak references by hash, bounded.

use core::hash::{BuildHasher, BuildHasherDefault, Hasher};
use core::sync::atomic::{AtomicUsize, Ordering};
use std::vec::Vec;

use super::UnauthenticatedChain;
use crate::bounded_map::BoundedMap;
use crate::certificates::CacheStats;
use crate::certificates::peer_chain::{ChainKind, PeerChain, WeakChain};
use crate::lock::{Mutex, MutexGuard};

/// The number of entries checked for freed chains at each insertion, in turn. With one, freed
/// chains could outnumber live ones; a larger number clears them sooner.
const SWEPT_PER_ENTRY: usize = 2;

/// The number of bytes hashed, from the end of the end-entity certificate or raw public key. They
/// belong to a signature or key, so more bytes would not distinguish more chains.
const HASHED: usize = 8;

/// Chains by their hash. If hashes collide, only the first live chain is shared.
///
/// `S` is keyed, so that peers cannot choose the hashes of their certificates. No lock is held
/// while a chain is hashed, compared, copied or freed.
pub(super) struct Interner<S> {
    state: S,
    chains: Mutex<Chains>,
    hits: AtomicUsize,
    misses: AtomicUsize,
    evictions: AtomicUsize,
}

type Chains = BoundedMap<u64, WeakChain, BuildHasherDefault<Hashed>>;

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
    ) -> UnauthenticatedChain {
        let hash = self.hash(kind, certificates.clone());
        let alive = self.alive(hash);
        if let Some(chain) = alive.filter(|chain| chain.is(kind, certificates.clone())) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return UnauthenticatedChain::alone(chain);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        UnauthenticatedChain {
            chain: PeerChain::copy(kind, certificates),
            hash: Some(hash),
        }
    }

    /// `hash` must be the hash of `chain`.
    pub(super) fn keep(&self, hash: u64, chain: PeerChain) -> PeerChain {
        let weak = chain.downgrade();
        let Some(mut chains) = self.chains() else {
            return chain;
        };
        match chains.get_mut(&hash) {
            Some(known) => match known.upgrade() {
                Some(present) => {
                    drop(chains);
                    // another connection was faster, or another chain has the same hash
                    if present == chain { present } else { chain }
                }
                None => {
                    *known = weak;
                    chain
                }
            },
            None => {
                chains.sweep(SWEPT_PER_ENTRY, WeakChain::is_gone);
                if chains.insert(hash, weak).is_some() {
                    self.evictions.fetch_add(1, Ordering::Relaxed);
                }
                chain
            }
        }
    }

    /// Returns the live chain with this hash. The caller drops it without the lock: it may be the
    /// last reference.
    fn alive(&self, hash: u64) -> Option<PeerChain> {
        self.chains()?.get(&hash)?.upgrade()
    }

    /// Hashes the kind, all lengths, and the end of the first certificate.
    fn hash<'a>(&self, kind: ChainKind, mut certificates: impl Iterator<Item = &'a [u8]>) -> u64 {
        let first = certificates.next().unwrap_or_default();
        let form = certificates.fold(first.len() as u64, |form, certificate| {
            // rotate by 16 bits, so that usual lengths do not overlap
            form.rotate_left(16) ^ certificate.len() as u64
        });
        let mut hashed = [0; 8 + HASHED];
        let (start, end) = hashed.split_at_mut(8);
        start.copy_from_slice(&(form << 1 ^ kind as u64).to_ne_bytes());
        for (to, from) in end.iter_mut().zip(first.iter().rev()) {
            *to = *from;
        }
        // one call, because each has a fixed cost
        let mut hasher = self.state.build_hasher();
        hasher.write(&hashed);
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

    /// Recovers from a poisoned lock: the map is consistent between calls.
    fn chains(&self) -> Option<MutexGuard<'_, Chains>> {
        self.chains.lock_even_poisoned()
    }
}

/// Passes on a key that is a hash already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    /// Not called: a key is one `u64`.
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests;
