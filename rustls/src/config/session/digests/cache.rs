//! The cache of [`SessionDigests`](super::SessionDigests).
//!
//! A digest is keyed by the address of the object that has the value. A weak reference is stored
//! next to the digest, so that no other object gets this address, and `Arc::get_mut` cannot modify
//! the object.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

use super::Digest;
use crate::config::sign::CertifiedKey;
use crate::config::verify::ClientCertVerifier;
use crate::lock::Mutex;
use crate::msgs::certificate_request::DistinguishedName;

/// The number of slots for certificates beyond the first. A certificate's address selects its slot,
/// where it replaces the previous entry.
const MAX_CERTIFICATES: usize = 64;

/// Digests of the certificates of a server, and of the authorities of its current verifier. No lock
/// is held while the provider hashes.
pub(super) struct Cache {
    certificates: Mutex<Certificates>,
    authorities: Mutex<Option<AuthoritiesDigest>>,
}

#[derive(Default)]
struct Certificates {
    /// The first certificate, outside the vector. Most servers have only one.
    first: Option<CertificateDigest>,
    /// The other certificates. Empty until there is a second one.
    others: Vec<Option<CertificateDigest>>,
}

/// The digest of an end-entity certificate, and the object that holds it.
#[derive(Clone)]
struct CertificateDigest {
    certified_key: Weak<CertifiedKey>,
    digest: Digest,
}

/// The digest of the names that a verifier sends to clients.
struct AuthoritiesDigest {
    verifier: Weak<dyn ClientCertVerifier>,
    /// The address and length of the list. The verifier may later return a different list.
    names: (usize, usize),
    digest: Digest,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            certificates: Mutex::new(Certificates::default()),
            authorities: Mutex::new(None),
        }
    }
}

impl Cache {
    /// Returns the digest of the end-entity certificate of `certified_key`. Calls `compute` if it
    /// is not cached.
    pub(super) fn of_certificate(
        &self,
        certified_key: &Arc<CertifiedKey>,
        compute: impl FnOnce() -> Digest,
    ) -> Digest {
        if let Some(known) = self.known_certificate(certified_key) {
            return known;
        }
        let digest = compute();
        if let Some(mut certificates) = self.certificates.lock_even_poisoned() {
            let replaced = certificates.insert(certified_key, digest);
            drop(certificates);
            drop(replaced);
        }
        digest
    }

    /// Returns the digest of `names`, which `verifier` has just returned. Calls `compute` if it is
    /// not cached.
    pub(super) fn of_authorities(
        &self,
        verifier: &Arc<dyn ClientCertVerifier>,
        names: &[DistinguishedName],
        compute: impl FnOnce() -> Digest,
    ) -> Digest {
        let names = (names.as_ptr().addr(), names.len());
        if let Some(known) = self.known_authorities(verifier, names) {
            return known;
        }
        let digest = compute();
        if let Some(mut authorities) = self.authorities.lock_even_poisoned() {
            let replaced = authorities.replace(AuthoritiesDigest {
                verifier: Arc::downgrade(verifier),
                names,
                digest,
            });
            drop(authorities);
            drop(replaced);
        }
        digest
    }

    fn known_certificate(&self, certified_key: &Arc<CertifiedKey>) -> Option<Digest> {
        self.certificates.lock_even_poisoned()?.find(certified_key)
    }

    fn known_authorities(
        &self,
        verifier: &Arc<dyn ClientCertVerifier>,
        names: (usize, usize),
    ) -> Option<Digest> {
        let authorities = self.authorities.lock_even_poisoned()?;
        let known = authorities.as_ref()?;
        let is_same = core::ptr::addr_eq(known.verifier.as_ptr(), Arc::as_ptr(verifier));
        (is_same && known.names == names).then_some(known.digest)
    }
}

impl Certificates {
    fn find(&self, certified_key: &Arc<CertifiedKey>) -> Option<Digest> {
        let is_of =
            |known: &&CertificateDigest| known.certified_key.as_ptr() == Arc::as_ptr(certified_key);
        let first = self.first.as_ref().filter(is_of);
        let known = first.or_else(|| {
            let other = self.others.get(slot_of(certified_key))?;
            other.as_ref().filter(is_of)
        })?;
        Some(known.digest)
    }

    /// Caches a digest. Returns the entry that was replaced.
    fn insert(
        &mut self,
        certified_key: &Arc<CertifiedKey>,
        digest: Digest,
    ) -> Option<CertificateDigest> {
        let first_lives = matches!(&self.first, Some(it) if it.certified_key.strong_count() != 0);
        let slot = if first_lives {
            self.others.resize(MAX_CERTIFICATES, None);
            &mut self.others[slot_of(certified_key)]
        } else {
            &mut self.first
        };
        slot.replace(CertificateDigest {
            certified_key: Arc::downgrade(certified_key),
            digest,
        })
    }
}

/// Returns the index in [`Certificates::others`].
fn slot_of(certified_key: &Arc<CertifiedKey>) -> usize {
    // the lowest bits are equal for all allocations
    (Arc::as_ptr(certified_key).addr() >> 4) % MAX_CERTIFICATES
}
