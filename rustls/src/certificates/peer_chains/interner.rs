//! The map of [`PeerChains`](super::PeerChains): by hash, weak, bounded.

use core::hash::{BuildHasher, BuildHasherDefault, Hasher};
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

/// How many bytes of the end entity's certificate are hashed, or of the raw public key: what it ends in is its
/// signature, or the key itself, so that all of it would tell no more chains apart.
const HASHED: usize = 8;

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
    ) -> Found {
        let hash = self.hash(kind, certificates.clone());
        let alive = self.alive(hash);
        if let Some(chain) = alive.filter(|chain| chain.is(kind, certificates.clone())) {
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
        let weak = chain.downgrade();
        let Some(mut chains) = self.chains() else {
            return chain;
        };
        match chains.get_mut(&hash) {
            Some(known) => match known.upgrade() {
                Some(present) => {
                    drop(chains);
                    // another connection was faster, or another chain has this hash
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

    /// The chain of this hash, if it is alive. It is let go of outside of the lock: it may be the last reference.
    fn alive(&self, hash: u64) -> Option<PeerChain> {
        self.chains()?.get(&hash)?.upgrade()
    }

    /// Of the kind, all lengths, and the end of the first certificate.
    fn hash<'a>(&self, kind: ChainKind, mut certificates: impl Iterator<Item = &'a [u8]>) -> u64 {
        let first = certificates.next().unwrap_or_default();
        let form = certificates.fold(first.len() as u64, |form, certificate| {
            // of the usual lengths, none hides another
            form.rotate_left(16) ^ certificate.len() as u64
        });
        let mut hashed = [0; 8 + HASHED];
        let (start, end) = hashed.split_at_mut(8);
        start.copy_from_slice(&(form << 1 ^ kind as u64).to_ne_bytes());
        for (to, from) in end.iter_mut().zip(first.iter().rev()) {
            *to = *from;
        }
        // in one piece, as each takes its time
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

    /// The map is consistent between calls, so a poisoned lock can be used.
    fn chains(&self) -> Option<MutexGuard<'_, Chains>> {
        self.chains.lock_even_poisoned()
    }
}

/// Passes on what is a hash already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    /// Not called: a key is one number.
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
