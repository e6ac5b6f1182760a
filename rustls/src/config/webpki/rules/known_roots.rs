//! Digests of roots and algorithms, keyed by the objects that hold them.
//!
//! Some programs create a configuration for each connection, with the same roots. Hashing the roots
//! each time would cost as much as a few signatures.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::vec::Vec;

use rustls_core::crypto::hash::HashAlgorithm;

use super::Algorithms;
use crate::config::webpki::RootCertStore;

/// The maximum number of digests that are remembered.
const CAPACITY: usize = 16;

static KNOWN: Mutex<KnownRoots> = Mutex::new(KnownRoots::new());

struct KnownRoots {
    entries: Vec<Known>,
    /// The index of the entry that is replaced next if none is free.
    next: usize,
}

struct Known {
    /// A weak reference. While it exists, no other store gets this address, and the store cannot be
    /// modified.
    roots: Weak<RootCertStore>,
    key: Key,
    digest: [u8; 32],
}

/// The inputs of a digest other than the roots.
#[derive(Clone, Copy, PartialEq)]
struct Key {
    /// The address and length of the algorithm list. The list is static, so its address is never
    /// reused.
    algorithms: (usize, usize),
    /// The hash function that computed the digest.
    hash: HashAlgorithm,
}

/// Returns the digest of `roots` and `algorithms` by `hash`, calculated by `compute` if it is not
/// known.
pub(super) fn digest(
    roots: &Arc<RootCertStore>,
    algorithms: Algorithms,
    hash: HashAlgorithm,
    compute: impl FnOnce() -> Option<[u8; 32]>,
) -> Option<[u8; 32]> {
    let key = Key {
        algorithms: (algorithms.as_ptr().addr(), algorithms.len()),
        hash,
    };
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(digest) = known().find(roots, key) {
        return Some(digest);
    }
    // compute it without holding the lock
    let digest = compute()?;
    known().insert(Known {
        roots: Arc::downgrade(roots),
        key,
        digest,
    });
    Some(digest)
}

impl KnownRoots {
    const fn new() -> Self {
        Self {
            entries: Vec::new(),
            next: 0,
        }
    }

    fn find(&self, roots: &Arc<RootCertStore>, key: Key) -> Option<[u8; 32]> {
        let is_same =
            |known: &&Known| known.roots.as_ptr() == Arc::as_ptr(roots) && known.key == key;
        Some(self.entries.iter().find(is_same)?.digest)
    }

    /// Inserts an entry, and replaces a dead one if there is any. If there is none and the map is
    /// full, replaces the entries in turn.
    fn insert(&mut self, new: Known) {
        let is_dead = |known: &Known| known.roots.strong_count() == 0;
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
    use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};

    use super::*;

    fn store() -> Arc<RootCertStore> {
        Arc::new(RootCertStore::empty())
    }

    const SHA256: HashAlgorithm = HashAlgorithm::SHA256;

    const KEY: Key = Key {
        algorithms: (1, 2),
        hash: SHA256,
    };

    fn known(roots: &Arc<RootCertStore>, digest: u8) -> Known {
        Known {
            roots: Arc::downgrade(roots),
            key: KEY,
            digest: [digest; 32],
        }
    }

    #[test]
    fn a_digest_is_found_only_by_all_its_inputs() {
        let mut all = KnownRoots::new();
        let (one, other) = (store(), store());
        all.insert(known(&one, 7));
        assert_eq!(all.find(&one, KEY), Some([7; 32]));
        assert_eq!(all.find(&one.clone(), KEY), Some([7; 32]));
        assert_eq!(all.find(&other, KEY), None);
        for algorithms in [(1, 3), (2, 2)] {
            assert_eq!(all.find(&one, Key { algorithms, ..KEY }), None);
        }
        let hash = HashAlgorithm::SHA384;
        assert_eq!(all.find(&one, Key { hash, ..KEY }), None);
    }

    #[test]
    fn dead_entries_are_replaced_first_and_then_the_oldest() {
        let mut all = KnownRoots::new();
        let stores: Vec<_> = (0..CAPACITY).map(|_| store()).collect();
        for (number, roots) in stores.iter().enumerate() {
            all.insert(known(roots, number as u8));
        }
        let (first, second) = (store(), store());
        all.insert(known(&first, 100));
        all.insert(known(&second, 101));
        assert_eq!(all.entries.len(), CAPACITY);
        assert_eq!(all.find(&stores[0], KEY), None);
        assert_eq!(all.find(&stores[1], KEY), None);
        assert_eq!(all.find(&stores[2], KEY), Some([2; 32]));
        drop(second);
        let third = store();
        all.insert(known(&third, 102));
        assert_eq!(all.find(&first, KEY), Some([100; 32]));
        assert_eq!(all.find(&stores[2], KEY), Some([2; 32]));
        assert_eq!(all.find(&third, KEY), Some([102; 32]));
        // each place is used again and again
        let stores: Vec<_> = (0..3 * CAPACITY).map(|_| store()).collect();
        for roots in &stores {
            all.insert(known(roots, 1));
        }
        for (number, roots) in stores.iter().enumerate() {
            let found = all.find(roots, KEY);
            assert_eq!(found.is_some(), number >= 2 * CAPACITY, "{number}");
        }
    }

    #[derive(Debug)]
    struct Unused;

    impl SignatureVerificationAlgorithm for Unused {
        fn verify_signature(&self, _: &[u8], _: &[u8], _: &[u8]) -> Result<(), InvalidSignature> {
            Err(InvalidSignature)
        }

        fn public_key_alg_id(&self) -> AlgorithmIdentifier {
            AlgorithmIdentifier::from_slice(&[])
        }

        fn signature_alg_id(&self) -> AlgorithmIdentifier {
            AlgorithmIdentifier::from_slice(&[])
        }
    }

    /// Two of the lists have the same address, and two the same length.
    #[test]
    fn different_lists_of_algorithms_have_different_digests() {
        static ALL: [&dyn SignatureVerificationAlgorithm; 2] = [&Unused, &Unused];
        let roots = store();
        let lists = [(1, &ALL[..]), (2, &ALL[..1]), (3, &ALL[1..])];
        let digests = lists.map(|(n, list)| digest(&roots, list, SHA256, || Some([n; 32])));
        assert_eq!(digests, [1, 2, 3].map(|n| Some([n; 32])));
    }

    #[test]
    fn a_digest_is_computed_once() {
        let (one, other) = (store(), store());
        let mut computed = 0;
        for roots in [&one, &one, &other, &one, &other] {
            let digest = digest(roots, &[], SHA256, || {
                computed += 1;
                Some([9; 32])
            });
            assert_eq!(digest, Some([9; 32]));
        }
        assert_eq!(computed, 2);
        // a failure is not remembered
        let third = store();
        assert_eq!(digest(&third, &[], SHA256, || None), None);
        let digest = digest(&third, &[], SHA256, || Some([1; 32]));
        assert_eq!(digest, Some([1; 32]));
    }
}
