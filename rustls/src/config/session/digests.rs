//! Cached digests of the long values that a server's sessions are bound to.
//!
//! With `std`, each configuration caches the digests of its certificates and of its verifier's
//! authorities.

use alloc::sync::Arc;
use core::fmt;

use rustls_core::crypto::hash::{Hash, Output};
use rustls_core::provider::CryptoProvider;

use self::cache::Cache;
use crate::certificates::sha256;
use crate::config::sign::CertifiedKey;
use crate::config::verify::ClientCertVerifier;
use crate::msgs::certificate_request::DistinguishedName;

/// The length of a [`Digest`] in bytes.
pub(crate) const DIGEST_LEN: usize = 32;

/// A SHA-256 hash, or another hash that is cut or padded to this length. Zero if there is no hash.
pub(crate) type Digest = [u8; DIGEST_LEN];

/// The digests cached by one configuration and its clones. Without `std` nothing is cached.
#[derive(Default)]
pub(crate) struct SessionDigests(Cache);

impl SessionDigests {
    /// Returns the digest of the end-entity certificate of `certified_key`.
    pub(super) fn of_certificate(
        &self,
        certified_key: &Arc<CertifiedKey>,
        provider: &CryptoProvider,
    ) -> Digest {
        self.0.of_certificate(certified_key, || {
            let end_entity = certified_key.cert.first().map_or(&[][..], AsRef::as_ref);
            hash(provider).map_or([0; DIGEST_LEN], |hash| truncated(&hash.hash(end_entity)))
        })
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
        self.0
            .of_authorities(verifier, names, || of_names(names, provider))
    }
}

impl fmt::Debug for SessionDigests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionDigests").finish_non_exhaustive()
    }
}

/// Returns the hash function for session bindings: SHA-256 if a cipher suite uses it, even if other
/// suites come first, because machines may list their suites in a different order. Otherwise, the
/// hash function of the first suite.
pub(super) fn hash(provider: &CryptoProvider) -> Option<&'static dyn Hash> {
    let first = || provider.cipher_suites.first();
    sha256(provider).or_else(|| Some(first()?.common().hash_provider))
}

/// Truncates a hash to the length of a digest, or pads it with zeros.
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

#[cfg(feature = "std")]
mod cache;
/// Without `std` there is no lock, and each digest is computed again.
#[cfg(not(feature = "std"))]
mod cache {
    use super::*;

    #[derive(Default)]
    pub(super) struct Cache;

    impl Cache {
        pub(super) fn of_certificate(
            &self,
            _: &Arc<CertifiedKey>,
            compute: impl FnOnce() -> Digest,
        ) -> Digest {
            compute()
        }

        pub(super) fn of_authorities(
            &self,
            _: &Arc<dyn ClientCertVerifier>,
            _: &[DistinguishedName],
            compute: impl FnOnce() -> Digest,
        ) -> Digest {
            compute()
        }
    }
}
