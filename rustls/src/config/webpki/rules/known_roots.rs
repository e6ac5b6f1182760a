//! Digests of roots and algorithms, by the objects that hold them.
//!
//! Some programs create a configuration for each connection, with the same roots. Hashing those
//! each time would cost as much as a signature.
//!
//! ```text
//!   verifier ──► KnownRoots ──► RootCertStore
//!                    ▲
//!   process-wide     ┊ weak
//!   list         ┄┄┄┄┘
//! ```
//!
//! The last verifier of the roots takes their digest along. Nothing refers to them then, so that
//! their owner may modify them with `Arc::get_mut`.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::vec::Vec;

use super::Algorithms;
use crate::config::webpki::RootCertStore;

/// The number of stores whose digests are remembered.
const CAPACITY: usize = 16;

static ALL: Mutex<AllRoots> = Mutex::new(AllRoots::new());

/// The digest of roots and algorithms. Each verifier that uses them holds it.
#[derive(Debug)]
pub(in crate::config::webpki) struct KnownRoots {
    /// As long as this is alive, nobody modifies the store, and no other one gets its address.
    _store: Arc<RootCertStore>,
    digest: [u8; 32],
}

struct AllRoots {
    entries: Vec<Entry>,
    /// The entry that is replaced next if none is free.
    next: usize,
}

struct Entry {
    key: Key,
    known: Weak<KnownRoots>,
}

/// The addresses of the inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    roots: usize,
    /// Address and length, which are never reused, because the list is static.
    algorithms: (usize, usize),
}

impl KnownRoots {
    /// Returns the digest of `roots` and `algorithms`, computed by `compute` if no verifier holds
    /// it.
    pub(super) fn get(
        roots: &Arc<RootCertStore>,
        algorithms: Algorithms,
        compute: impl FnOnce() -> Option<[u8; 32]>,
    ) -> Option<Arc<Self>> {
        let key = Key::new(roots, algorithms);
        let all = || ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all().find(key) {
            return Some(known);
        }
        // without the lock
        let known = Arc::new(Self {
            digest: compute()?,
            _store: roots.clone(),
        });
        all().insert(key, &known);
        Some(known)
    }

    pub(super) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

impl Key {
    fn new(roots: &Arc<RootCertStore>, algorithms: Algorithms) -> Self {
        Self {
            roots: Arc::as_ptr(roots).addr(),
            algorithms: (algorithms.as_ptr().addr(), algorithms.len()),
        }
    }
}

impl AllRoots {
    const fn new() -> Self {
        Self {
            entries: Vec::new(),
            next: 0,
        }
    }

    /// Returns what is known of the store and the algorithms with these addresses, which exist.
    fn find(&self, key: Key) -> Option<Arc<KnownRoots>> {
        // a dead entry may be of an earlier store with the same address
        let mut entries = self.entries.iter().filter(|entry| entry.key == key);
        entries.find_map(|entry| entry.known.upgrade())
    }

    /// Inserts an entry in place of a dead one, or of the oldest.
    fn insert(&mut self, key: Key, known: &Arc<KnownRoots>) {
        let new = Entry {
            key,
            known: Arc::downgrade(known),
        };
        let is_dead = |entry: &Entry| entry.known.strong_count() == 0;
        if let Some(dead) = self.entries.iter().position(is_dead) {
            self.entries[dead] = new;
        } else if self.entries.len() < CAPACITY {
            self.entries.push(new);
        } else {
            self.entries[self.next] = new;
            self.next = (self.next + 1) % CAPACITY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> Arc<RootCertStore> {
        Arc::new(RootCertStore::empty())
    }

    fn known(roots: &Arc<RootCertStore>, digest: u8) -> Arc<KnownRoots> {
        Arc::new(KnownRoots {
            _store: roots.clone(),
            digest: [digest; 32],
        })
    }

    fn key(roots: &Arc<RootCertStore>, algorithms: (usize, usize)) -> Key {
        Key {
            algorithms,
            ..Key::new(roots, &[])
        }
    }

    fn digest(known: Option<Arc<KnownRoots>>) -> Option<u8> {
        known.map(|known| known.digest()[0])
    }

    #[test]
    fn a_digest_is_found_by_both_objects() {
        let mut all = AllRoots::new();
        let (one, other) = (store(), store());
        let held = known(&one, 7);
        all.insert(key(&one, (1, 2)), &held);
        let find = |roots: &_, algorithms| digest(all.find(key(roots, algorithms)));
        assert_eq!(find(&one, (1, 2)), Some(7));
        assert_eq!(find(&one.clone(), (1, 2)), Some(7));
        assert_eq!(find(&other, (1, 2)), None);
        assert_eq!(find(&one, (1, 3)), None);
        assert_eq!(find(&one, (2, 2)), None);
    }

    #[test]
    fn dead_entries_are_replaced_first_and_then_the_oldest() {
        let mut all = AllRoots::new();
        let stores: Vec<_> = (0..CAPACITY + 3).map(|_| store()).collect();
        let mut held: Vec<_> = (0..)
            .zip(&stores)
            .map(|(n, roots)| known(roots, n))
            .collect();
        let algorithms = (1, 2);
        let find =
            |all: &AllRoots, number: usize| digest(all.find(key(&stores[number], algorithms)));
        for number in 0..CAPACITY + 2 {
            all.insert(key(&stores[number], algorithms), &held[number]);
        }
        assert_eq!(all.entries.len(), CAPACITY);
        assert_eq!([0, 1, 2].map(|n| find(&all, n)), [None, None, Some(2)]);
        drop(held.swap_remove(CAPACITY + 1));
        let last = &held[CAPACITY + 1]; // swapped
        all.insert(key(&stores[CAPACITY + 2], algorithms), last);
        assert_eq!(all.entries.len(), CAPACITY);
        let expected = [Some(2), Some(16), None, Some(18)];
        assert_eq!([2, 16, 17, 18].map(|n| find(&all, n)), expected);
    }

    #[test]
    fn a_digest_is_computed_once_while_a_verifier_holds_it() {
        let (one, other) = (store(), store());
        let mut computed = 0;
        let mut get = |roots: &Arc<RootCertStore>| {
            KnownRoots::get(roots, &[], || {
                computed += 1;
                Some([computed; 32])
            })
        };
        let held = [&one, &one, &other, &one, &other].map(&mut get);
        assert_eq!(held.map(digest), [1, 1, 2, 1, 2].map(Some));
        // the last one is dropped
        assert_eq!([&one, &one].map(&mut get).map(digest), [Some(3); 2]);
        // a failure is not remembered
        let third = store();
        assert!(KnownRoots::get(&third, &[], || None).is_none());
        assert_eq!(digest(get(&third)), Some(4));
    }

    /// Modified roots keep their address.
    #[test]
    fn the_owner_may_modify_roots_without_verifiers() {
        let mut roots = store();
        let held = [1, 2].map(|n| KnownRoots::get(&roots, &[], || Some([n; 32])));
        assert!(Arc::get_mut(&mut roots).is_none());
        assert_eq!(held.map(digest), [Some(1); 2]);
        Arc::get_mut(&mut roots).unwrap();
        let again = KnownRoots::get(&roots, &[], || Some([3; 32]));
        assert_eq!(digest(again), Some(3));
        Arc::get_mut(&mut roots).unwrap();
    }
}
