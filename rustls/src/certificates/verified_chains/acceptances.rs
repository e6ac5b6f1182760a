//! The map in [`VerifiedChains`](super::VerifiedChains): a bounded map of chains and their
//! acceptances, keyed by hash.

use core::hash::{BuildHasher, BuildHasherDefault};
use core::sync::atomic::{AtomicU64, Ordering};
use std::hash::RandomState;
use std::vec::Vec;

use pki_types::UnixTime;

use super::has_room_for;
use crate::bounded_map::BoundedMap;
use crate::certificates::CacheStats;
use crate::certificates::acceptance::{Acceptance, Basis};
use crate::certificates::chain_hash::{Hashed, hash_end_entity};
use crate::certificates::peer_chain::PeerChain;
use crate::lock::{Mutex, MutexGuard};

/// Accepted chains, keyed by a hash for each verifier and end entity. On a collision, the newer
/// chain replaces the older.
///
/// `S` is a keyed hasher, so that peers cannot choose the hashes of their certificates. No lock is
/// held while a chain is hashed, compared or freed.
pub(super) struct Acceptances<S = RandomState> {
    state: S,
    accepted: Mutex<Accepted>,
    capacity: usize,
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
}

type Accepted = BoundedMap<u64, Entry, BuildHasherDefault<Hashed>>;

#[derive(Clone)]
struct Entry {
    chain: PeerChain,
    acceptance: Acceptance,
}

impl Acceptances {
    /// Creates a map for up to `capacity` chains, or none for 0.
    pub(super) fn with_capacity(capacity: usize) -> Option<Self> {
        (capacity > 0).then(|| Self::new(capacity, RandomState::new()))
    }
}

impl<S: BuildHasher> Acceptances<S> {
    fn new(capacity: usize, state: S) -> Self {
        Self {
            state,
            accepted: Mutex::new(BoundedMap::new(capacity)),
            capacity,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        }
    }

    pub(super) fn find(
        &self,
        basis: Basis,
        chain: &PeerChain,
        now: UnixTime,
    ) -> Option<Acceptance> {
        let known = self.entry(self.hash(basis, chain));
        // compared without the lock
        let holds = |acceptance: &Acceptance| acceptance.holds_in_full_handshake(basis, now);
        let found = known.filter(|known| holds(&known.acceptance) && known.chain == *chain);
        let count = match &found {
            Some(_) => &self.hits,
            None => &self.misses,
        };
        count.fetch_add(1, Ordering::Relaxed);
        found.map(|entry| entry.acceptance)
    }

    /// Stores `acceptance`, unless the chain takes too much memory.
    pub(super) fn keep(&self, chain: &PeerChain, acceptance: Acceptance) {
        if !has_room_for(chain.der()) {
            return;
        }
        let hash = self.hash(acceptance.basis(), chain);
        let new = Entry {
            chain: chain.clone(),
            acceptance,
        };
        let Some(mut accepted) = self.accepted() else {
            return;
        };
        let replaced = match accepted.get_mut(&hash) {
            Some(known) => Some(core::mem::replace(known, new)),
            None => {
                let evicted = accepted.insert(hash, new);
                if evicted.is_some() {
                    self.evictions.fetch_add(1, Ordering::Relaxed);
                }
                evicted
            }
        };
        drop(accepted);
        // drop it without the lock, because it may be the last reference to the chain
        drop(replaced);
    }

    pub(super) fn clear(&self) {
        let Some(mut accepted) = self.accepted() else {
            return;
        };
        let removed = core::mem::replace(&mut *accepted, BoundedMap::new(self.capacity));
        drop(accepted);
        drop(removed);
    }

    pub(super) fn stats(&self) -> CacheStats {
        let chains: Vec<PeerChain> = self.accepted().map_or_else(Vec::new, |accepted| {
            accepted.values().map(|entry| entry.chain.clone()).collect()
        });
        let lens = chains.iter().flat_map(PeerChain::der).map(<[u8]>::len);
        CacheStats {
            entries: chains.len(),
            bytes: Some(lens.sum()),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
            ..CacheStats::default()
        }
    }

    /// Returns the key of `chain` for the verifier of `basis`. All chains with the same end entity
    /// have the same key, so that a peer with one certificate cannot evict other peers' chains by
    /// adding intermediates.
    fn hash(&self, basis: Basis, chain: &PeerChain) -> u64 {
        hash_end_entity(&self.state, chain, basis.prefix())
    }

    fn entry(&self, hash: u64) -> Option<Entry> {
        self.accepted()?.get(&hash).cloned()
    }

    /// Locks the map, even if the lock is poisoned: a panic leaves the map consistent.
    fn accepted(&self) -> Option<MutexGuard<'_, Accepted>> {
        self.accepted.lock_even_poisoned()
    }
}

#[cfg(test)]
mod tests;
