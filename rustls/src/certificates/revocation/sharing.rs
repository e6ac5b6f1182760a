//! Shares one list object between all users of the same bytes in the process.
//!
//! The map holds weak references and removes unused ones. Lists are hashed, compared and parsed
//! without its lock.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::hash::BuildHasher;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use pki_types::CertificateRevocationListDer;

use super::super::CacheStats;
use super::RevocationList;
use crate::error::CertRevocationListError;

/// The maximum number of lists in the map. Lists beyond it are not shared.
const CAPACITY: usize = 16_384;

/// Returns the map of the whole process.
pub(super) fn process_wide() -> &'static SharedLists {
    static LISTS: LazyLock<SharedLists> = LazyLock::new(|| SharedLists::new(CAPACITY));
    &LISTS
}

/// The lists in use, by a hash of their DER encoding.
pub(super) struct SharedLists {
    /// Keyed randomly, so that an attacker cannot create lists that collide.
    hasher: RandomState,
    known: Mutex<KnownLists>,
    capacity: usize,
    hits: AtomicU64,
    misses: AtomicU64,
    failures: AtomicU64,
}

impl SharedLists {
    /// Creates a map for up to `capacity` lists. Lists beyond it are parsed separately.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            known: Mutex::default(),
            capacity,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    /// Returns the list encoded in `der`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`RevocationList::from_der`]. They are not cached.
    pub(super) fn list(
        &self,
        der: CertificateRevocationListDer<'static>,
    ) -> Result<Arc<RevocationList>, CertRevocationListError> {
        let hash = self.hasher.hash_one(der.as_ref());
        self.list_with_hash(hash, der)
    }

    /// Returns the list encoded in `der`, whose hash is `hash`.
    fn list_with_hash(
        &self,
        hash: u64,
        der: CertificateRevocationListDer<'static>,
    ) -> Result<Arc<RevocationList>, CertRevocationListError> {
        match self.find_or_start(hash, der) {
            InUse::Parsed(list) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                Ok(list)
            }
            InUse::Parsing(parsing) => self.finish(hash, &parsing),
        }
    }

    /// Returns the known list for `der`, or a new one. Adds the new one to the map, where other
    /// threads find it, unless the map is full.
    fn find_or_start(&self, hash: u64, der: CertificateRevocationListDer<'static>) -> InUse {
        let new = Arc::new(Parsing {
            der: Arc::new(der),
            outcome: OnceLock::new(),
        });
        // kept alive so that their addresses are not reused
        let mut others = Vec::<InUse>::new();
        loop {
            let mut candidates = Vec::new();
            {
                let mut known = self.lock();
                let bucket = known.by_hash.get(&hash).map(Vec::as_slice);
                candidates.extend(
                    bucket
                        .unwrap_or_default()
                        .iter()
                        .filter_map(Known::upgrade)
                        .filter(|found| !others.iter().any(|other| other.is(found))),
                );
                if candidates.is_empty() {
                    known.insert(hash, Known::Parsing(Arc::downgrade(&new)), self.capacity);
                    return InUse::Parsing(new);
                }
            }
            for found in candidates {
                if found.der() == &new.der {
                    return found;
                }
                others.push(found);
            }
        }
    }

    /// Parses the list, or waits for the thread that is parsing it.
    fn finish(
        &self,
        hash: u64,
        parsing: &Arc<Parsing>,
    ) -> Result<Arc<RevocationList>, CertRevocationListError> {
        let mut parsed_here = false;
        let outcome = parsing.outcome.get_or_init(|| {
            parsed_here = true;
            RevocationList::parse(parsing.der.clone()).map(Arc::new)
        });

        let count = match (parsed_here, outcome) {
            (false, Ok(_)) => &self.hits,
            _ => &self.misses,
        };
        count.fetch_add(1, Ordering::Relaxed);
        if parsed_here {
            if outcome.is_err() {
                self.failures.fetch_add(1, Ordering::Relaxed);
            }
            let list = outcome.as_ref().ok();
            self.lock().finish_parsing(hash, parsing, list);
        }
        outcome.clone()
    }

    pub(super) fn stats(&self) -> CacheStats {
        let (mut entries, mut bytes) = (0, 0);
        for list in self.lock().by_hash.values().flatten() {
            // do not upgrade: counting must not become the last owner of a list, which is slow to
            // drop
            if let Known::Parsed { list, len } = list {
                if list.strong_count() > 0 {
                    entries += 1;
                    bytes += len;
                }
            }
        }
        CacheStats {
            entries,
            bytes: Some(bytes),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            ..CacheStats::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, KnownLists> {
        // recover from poisoning: the map is consistent after each of its methods
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The known lists, behind the lock of [`SharedLists`].
#[derive(Default)]
struct KnownLists {
    by_hash: HashMap<u64, Vec<Known>>,
    /// The number of entries in all buckets, including dead ones.
    len: usize,
    /// Twice the number of entries that the last removal of dead ones left.
    prune_at: usize,
}

impl KnownLists {
    /// Adds `new`, unless `capacity` other lists are in use.
    fn insert(&mut self, hash: u64, new: Known, capacity: usize) {
        /// The number of entries below which dead ones are not searched for.
        const FEW: usize = 16;

        if self.len >= self.prune_at.max(FEW).min(capacity) {
            self.by_hash.retain(|_, bucket| {
                bucket.retain(Known::in_use);
                !bucket.is_empty()
            });
            self.len = self.by_hash.values().map(Vec::len).sum();
            self.prune_at = self.len * 2;
        }
        if self.len < capacity {
            self.by_hash.entry(hash).or_default().push(new);
            self.len += 1;
        }
    }

    /// Replaces the finished `parsing` with its `list`, or removes it if parsing failed.
    fn finish_parsing(
        &mut self,
        hash: u64,
        parsing: &Arc<Parsing>,
        list: Option<&Arc<RevocationList>>,
    ) {
        let Some(bucket) = self.by_hash.get_mut(&hash) else {
            return;
        };
        let Some(at) = bucket.iter().position(
            |known| matches!(known, Known::Parsing(weak) if weak.as_ptr() == Arc::as_ptr(parsing)),
        ) else {
            return;
        };
        if let Some(list) = list {
            bucket[at] = Known::Parsed {
                list: Arc::downgrade(list),
                len: list.der().len(),
            };
            return;
        }
        bucket.swap_remove(at);
        self.len -= 1;
        if bucket.is_empty() {
            self.by_hash.remove(&hash);
        }
    }
}

/// A list that is being parsed. Threads that need it wait for the result.
struct Parsing {
    der: Arc<CertificateRevocationListDer<'static>>,
    outcome: OnceLock<Result<Arc<RevocationList>, CertRevocationListError>>,
}

/// A weak reference to a list that is parsed or being parsed.
enum Known {
    Parsing(Weak<Parsing>),
    Parsed {
        list: Weak<RevocationList>,
        /// The length of the list's DER encoding, in bytes.
        len: usize,
    },
}

impl Known {
    fn upgrade(&self) -> Option<InUse> {
        match self {
            Self::Parsing(parsing) => parsing.upgrade().map(InUse::Parsing),
            Self::Parsed { list, .. } => list.upgrade().map(InUse::Parsed),
        }
    }

    fn in_use(&self) -> bool {
        match self {
            Self::Parsing(parsing) => parsing.strong_count() > 0,
            Self::Parsed { list, .. } => list.strong_count() > 0,
        }
    }
}

/// A strong reference to a list that is parsed or being parsed.
enum InUse {
    Parsing(Arc<Parsing>),
    Parsed(Arc<RevocationList>),
}

impl InUse {
    fn der(&self) -> &Arc<CertificateRevocationListDer<'static>> {
        match self {
            Self::Parsing(parsing) => &parsing.der,
            Self::Parsed(list) => list.shared_der(),
        }
    }

    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Parsing(one), Self::Parsing(two)) => Arc::ptr_eq(one, two),
            (Self::Parsed(one), Self::Parsed(two)) => Arc::ptr_eq(one, two),
            _ => false,
        }
    }
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
