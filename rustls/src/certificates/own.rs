//! One [`Certificate`] per certificate of this side, shared across the process.
//!
//! A [`CertifiedKey`] has only public fields, so it has no room for parsed properties. They are
//! stored in a separate map, whose key is a hash of the certificate's length and end. The map holds
//! weak references. Strong references are held by some resolvers ([`ParsedEndEntity`]) and by
//! callers.
//!
//! [`CertifiedKey`]: crate::sign::CertifiedKey

use alloc::sync::Arc;
#[cfg(feature = "std")]
use alloc::sync::Weak;
#[cfg(feature = "std")]
use core::hash::BuildHasher;
#[cfg(feature = "std")]
use std::hash::RandomState;
#[cfg(feature = "std")]
use std::sync::LazyLock;

use pki_types::CertificateDer;

use super::Certificate;
#[cfg(feature = "std")]
use crate::bounded_map::BoundedMap;
#[cfg(feature = "std")]
use crate::lock::Mutex;

/// The maximum number of certificates in the map. Beyond it, the oldest entry is evicted and no
/// longer shared. An entry takes about a hundred bytes. After its certificate was dropped, it also
/// keeps about 50 bytes of the object until it is removed.
#[cfg(feature = "std")]
const CAPACITY: usize = 4096;

/// The number of entries checked for dropped certificates at each insertion.
#[cfg(feature = "std")]
const SWEPT_PER_ENTRY: usize = 2;

/// The number of bytes hashed, from the end of a certificate. They usually belong to its signature,
/// which is unique. Hashing the whole certificate would take longer than parsing a property.
#[cfg(feature = "std")]
const HASHED: usize = 64;

/// Returns the shared object for `der`, with its parsed properties, or a new one.
pub(crate) fn shared(der: &CertificateDer<'static>) -> Arc<Certificate> {
    #[cfg(feature = "std")]
    return process_wide().find(der);
    #[cfg(not(feature = "std"))]
    return Arc::new(Certificate::new(der.clone()));
}

/// A reference that keeps the parsed end entity of a key alive, for resolvers that have the key.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParsedEndEntity {
    /// The shared object for the first certificate; `None` if the key has no certificate.
    #[cfg(feature = "std")]
    _certificate: Option<Arc<Certificate>>,
}

impl ParsedEndEntity {
    /// Creates a reference to the shared object for the first certificate of a key's `chain`.
    /// Without `std`, there are no shared objects and nothing is referenced.
    pub(crate) fn of(chain: &[CertificateDer<'static>]) -> Self {
        let _ = chain;
        Self {
            #[cfg(feature = "std")]
            _certificate: chain.first().map(shared),
        }
    }
}

#[cfg(feature = "std")]
fn process_wide() -> &'static OwnCertificates {
    static CERTIFICATES: LazyLock<OwnCertificates> =
        LazyLock::new(|| OwnCertificates::new(CAPACITY));
    &CERTIFICATES
}

/// Certificates, keyed by a hash of their length and last bytes. If hashes collide, only the first
/// live certificate is shared.
#[cfg(feature = "std")]
struct OwnCertificates {
    state: RandomState,
    known: Mutex<BoundedMap<u64, Weak<Certificate>>>,
}

#[cfg(feature = "std")]
impl OwnCertificates {
    fn new(capacity: usize) -> Self {
        Self {
            state: RandomState::new(),
            known: Mutex::new(BoundedMap::new(capacity)),
        }
    }

    fn find(&self, der: &CertificateDer<'static>) -> Arc<Certificate> {
        let end = der.len().saturating_sub(HASHED);
        self.find_by(self.state.hash_one((der.len(), &der[end..])), der)
    }

    /// Returns the shared object for `der`, or a new one. Holds no lock while it compares or copies
    /// certificates.
    fn find_by(&self, hash: u64, der: &CertificateDer<'static>) -> Arc<Certificate> {
        if let Some(found) = self.alive(hash).filter(|found| found.der() == der) {
            return found;
        }
        let new = Arc::new(Certificate::new(der.clone()));
        // the map is consistent between calls, so recover from poisoning
        let Some(mut known) = self.known.lock_even_poisoned() else {
            return new;
        };
        if let Some(present) = known.get(&hash).and_then(Weak::upgrade) {
            drop(known);
            // another thread was faster, or another certificate has the same hash
            return if present == new { present } else { new };
        }
        // a dropped certificate would leave its entry among the oldest
        known.remove(&hash);
        known.sweep(SWEPT_PER_ENTRY, |weak| weak.strong_count() == 0);
        let evicted = known.insert(hash, Arc::downgrade(&new));
        drop(known);
        drop(evicted);
        new
    }

    fn alive(&self, hash: u64) -> Option<Arc<Certificate>> {
        self.known.lock_even_poisoned()?.get(&hash)?.upgrade()
    }
}

#[cfg(all(test, feature = "std"))]
mod tests;
