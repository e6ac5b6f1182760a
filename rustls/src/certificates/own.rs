//! One [`Certificate`] for each certificate that this side authenticates with, in the whole process.
//!
//! A [`CertifiedKey`] has public fields only, and users build it as they like: there is no room in it for what is read
//! of its certificate. So that lies in a map beside, found by the bytes of the certificate. The map holds it weakly;
//! what keeps it are the resolvers that have the key ([`Kept`]), and whoever asked for it.

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
use crate::lock::Mutex;
#[cfg(feature = "std")]
use crate::session::bounded_map::BoundedMap;
use crate::sign::CertifiedKey;

/// How many certificates the map knows at most; the oldest makes room for the next, and is shared no longer. With
/// each it takes some hundred bytes.
#[cfg(feature = "std")]
const CAPACITY: usize = 4096;

/// How many entries each new one has looked at for certificates that nobody has any longer.
#[cfg(feature = "std")]
const SWEPT_PER_ENTRY: usize = 2;

/// How much of the end of a certificate finds it. That is within its signature, which is not the same for any two;
/// to hash all of it would take longer than to read a property.
#[cfg(feature = "std")]
const HASHED: usize = 64;

/// The certificate `der`, with what was read of it before, if somebody still has that.
pub(crate) fn shared(der: &CertificateDer<'static>) -> Arc<Certificate> {
    #[cfg(feature = "std")]
    return process_wide().find(der);
    #[cfg(not(feature = "std"))]
    return Arc::new(Certificate::new(der.clone()));
}

/// Keeps what is read of the end entity of a key, for as long as whoever has the key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    /// `None` where there is no certificate.
    #[cfg(feature = "std")]
    _certificate: Option<Arc<Certificate>>,
}

impl Kept {
    pub(crate) fn of(key: &CertifiedKey) -> Self {
        let _ = key;
        Self {
            #[cfg(feature = "std")]
            _certificate: key.cert.first().map(shared),
        }
    }
}

#[cfg(feature = "std")]
fn process_wide() -> &'static OwnCertificates {
    static CERTIFICATES: LazyLock<OwnCertificates> =
        LazyLock::new(|| OwnCertificates::new(CAPACITY));
    &CERTIFICATES
}

/// Certificates by the hash of their ends. Of those with the same hash the first one that is alive is found, and the
/// others are not: nothing but sharing is lost.
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

    /// No lock is held while certificates are hashed, compared, copied or freed.
    fn find_by(&self, hash: u64, der: &CertificateDer<'static>) -> Arc<Certificate> {
        if let Some(found) = self.alive(hash).filter(|found| found.der() == der) {
            return found;
        }
        let new = Arc::new(Certificate::new(der.clone()));
        // the map is whole between calls, so a poisoned lock can be used
        let Some(mut known) = self.known.lock_even_poisoned() else {
            return new;
        };
        if let Some(present) = known.get(&hash).and_then(Weak::upgrade) {
            drop(known);
            // another thread was faster, or another certificate has this hash
            return if present == new { present } else { new };
        }
        // what is gone leaves its place among the old ones
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
