//! Cached digests of the long values that a server's sessions are bound to.
//!
//! Each configuration caches the digests of its certificates and of its verifier's authorities. A
//! digest is keyed by the address of the object that has the value. A weak reference is stored
//! next to the digest, so that no other object gets this address, and the object is not modified.

use alloc::sync::Arc;
#[cfg(feature = "std")]
use alloc::sync::Weak;
#[cfg(feature = "std")]
use alloc::vec::Vec;
use core::fmt;

use rustls_core::crypto::hash::{Hash, Output};
use rustls_core::provider::CryptoProvider;

use crate::certificates::sha256;
use crate::config::sign::CertifiedKey;
use crate::config::verify::ClientCertVerifier;
#[cfg(feature = "std")]
use crate::lock::Mutex;
use crate::msgs::certificate_request::DistinguishedName;

/// The length of a [`Digest`] in bytes.
pub(crate) const DIGEST_LEN: usize = 32;

/// A SHA-256 hash, or a longer hash cut to this length.
pub(crate) type Digest = [u8; DIGEST_LEN];

/// The number of slots for certificates beyond the first. A certificate's address selects its slot,
/// where it replaces the previous entry.
#[cfg(feature = "std")]
const MAX_CERTIFICATES: usize = 64;

/// The digests cached by one configuration and its clones. Without `std` nothing is cached.
pub(crate) struct SessionDigests {
    #[cfg(feature = "std")]
    certificates: Mutex<Certificates>,
    #[cfg(feature = "std")]
    authorities: Mutex<Option<AuthoritiesDigest>>,
}

/// The digests of certificates.
#[cfg(feature = "std")]
#[derive(Default)]
struct Certificates {
    /// The first certificate, outside the vector. Most servers have only one.
    first: Option<CertificateDigest>,
    /// Empty until there is a second certificate.
    others: Vec<Option<CertificateDigest>>,
}

#[cfg(feature = "std")]
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
#[cfg(feature = "std")]
fn slot_of(certified_key: &Arc<CertifiedKey>) -> usize {
    // the lowest bits are equal for all allocations
    (Arc::as_ptr(certified_key).addr() >> 4) % MAX_CERTIFICATES
}

/// The digest of an end-entity certificate, and the object that holds it.
#[cfg(feature = "std")]
#[derive(Clone)]
struct CertificateDigest {
    certified_key: Weak<CertifiedKey>,
    digest: Digest,
}

/// The digest of the names that a verifier sends to clients.
#[cfg(feature = "std")]
struct AuthoritiesDigest {
    verifier: Weak<dyn ClientCertVerifier>,
    /// Address and length of the list. The verifier may return another list later.
    names: (usize, usize),
    digest: Digest,
}

impl SessionDigests {
    pub(crate) fn new() -> Self {
        Self {
            #[cfg(feature = "std")]
            certificates: Mutex::new(Certificates::default()),
            #[cfg(feature = "std")]
            authorities: Mutex::new(None),
        }
    }

    /// Returns the digest of the end-entity certificate of `certified_key`.
    pub(super) fn of_certificate(
        &self,
        certified_key: &Arc<CertifiedKey>,
        provider: &CryptoProvider,
    ) -> Digest {
        #[cfg(feature = "std")]
        if let Some(known) = self.known_certificate(certified_key) {
            return known;
        }
        // no lock is held while the provider hashes
        let end_entity = certified_key.cert.first().map_or(&[][..], AsRef::as_ref);
        let digest =
            hash(provider).map_or([0; DIGEST_LEN], |hash| truncated(&hash.hash(end_entity)));
        #[cfg(feature = "std")]
        if let Some(mut certificates) = self.certificates.lock_even_poisoned() {
            let replaced = certificates.insert(certified_key, digest);
            drop(certificates);
            drop(replaced);
        }
        digest
    }

    /// Returns the digest of `names`, which `verifier` has just returned.
    pub(super) fn of_authorities(
        &self,
        verifier: &Arc<dyn ClientCertVerifier>,
        names: &[DistinguishedName],
        provider: &CryptoProvider,
    ) -> Digest {
        if names.is_empty() {
            return [0; DIGEST_LEN];
        }
        #[cfg(feature = "std")]
        let address = (names.as_ptr().addr(), names.len());
        #[cfg(feature = "std")]
        if let Some(known) = self.known_authorities(verifier, address) {
            return known;
        }
        let digest = of_names(names, provider);
        #[cfg(feature = "std")]
        if let Some(mut authorities) = self.authorities.lock_even_poisoned() {
            let replaced = authorities.replace(AuthoritiesDigest {
                verifier: Arc::downgrade(verifier),
                names: address,
                digest,
            });
            drop(authorities);
            drop(replaced);
        }
        #[cfg(not(feature = "std"))]
        let _ = verifier;
        digest
    }

    #[cfg(feature = "std")]
    fn known_certificate(&self, certified_key: &Arc<CertifiedKey>) -> Option<Digest> {
        self.certificates.lock_even_poisoned()?.find(certified_key)
    }

    #[cfg(feature = "std")]
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

impl fmt::Debug for SessionDigests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionDigests").finish_non_exhaustive()
    }
}

/// Returns the hash function for session bindings: SHA-256, or the hash of the first cipher suite
/// if no suite has SHA-256. So machines that list the same suites in another order use the same
/// hash.
pub(super) fn hash(provider: &CryptoProvider) -> Option<&'static dyn Hash> {
    let first = || provider.cipher_suites.first();
    sha256(provider).or_else(|| Some(first()?.common().hash_provider))
}

/// Truncates a hash to the length of a digest.
pub(super) fn truncated(hash: &Output) -> Digest {
    let mut digest = [0; DIGEST_LEN];
    for (byte, hashed) in digest.iter_mut().zip(hash.as_ref()) {
        *byte = *hashed;
    }
    digest
}

fn of_names(names: &[DistinguishedName], provider: &CryptoProvider) -> Digest {
    let Some(hash) = hash(provider) else {
        return [0; DIGEST_LEN];
    };
    let mut hash = hash.start();
    for name in names {
        let name: &[u8] = name.as_ref();
        hash.update(&(name.len() as u64).to_be_bytes());
        hash.update(name);
    }
    truncated(&hash.finish())
}
