//! Ed25519 with a cache of successful verifications. If equal connections are repeated, only the
//! first one pays for verification; changed inputs miss the cache. Also keys that sign with zeros.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock};

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};

use super::constant::Key;
use super::ring;
use super::tls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use super::tls::sign::{CertifiedKey, SingleCertAndKey};
use super::tls::{SignatureAlgorithm, SignatureScheme};
use crate::peers::configs::Identity;

/// The maximum length of the cache: more than genuine connections need. A full cache is not
/// changed.
const CACHE_LEN: usize = 1024;

type Algorithm = &'static dyn SignatureVerificationAlgorithm;

/// An algorithm and the public keys, signatures and messages that it has verified.
#[derive(Debug)]
struct Cached {
    algorithm: Algorithm,
    verified: Mutex<HashSet<Vec<u8>>>,
}

impl SignatureVerificationAlgorithm for Cached {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let input = [public_key, signature, message].concat();
        // fixed lengths make the concatenation unambiguous
        let may_be_cached = (public_key.len(), signature.len()) == (32, 64);
        if may_be_cached && self.verified.lock().unwrap().contains(&input) {
            return Ok(());
        }
        self.algorithm
            .verify_signature(public_key, message, signature)?;
        let mut verified = self.verified.lock().unwrap();
        if may_be_cached && verified.len() < CACHE_LEN {
            verified.insert(input);
        }
        Ok(())
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }
}

/// Returns `algorithms`, with `cached` in place of the algorithm that it wraps.
fn with_cached(algorithms: &[Algorithm], cached: &'static Cached) -> &'static [Algorithm] {
    let choose = |algorithm: &Algorithm| -> Algorithm {
        if algorithm.signature_alg_id() == cached.signature_alg_id() {
            cached
        } else {
            *algorithm
        }
    };
    Vec::leak(algorithms.iter().map(choose).collect())
}

/// Returns the underlying provider, with cached verifications.
pub(crate) fn provider() -> CryptoProvider {
    static MADE: OnceLock<WebPkiSupportedAlgorithms> = OnceLock::new();
    let mut provider = ring();
    let algorithms = provider.signature_verification_algorithms;
    provider.signature_verification_algorithms = *MADE.get_or_init(|| caching(algorithms));
    provider
}

fn caching(of: WebPkiSupportedAlgorithms) -> WebPkiSupportedAlgorithms {
    let is_ed25519 = |scheme| scheme == SignatureScheme::ED25519;
    let (_, ed25519) = of.mapping.iter().find(|(s, _)| is_ed25519(*s)).unwrap();
    let cached = Box::leak(Box::new(Cached {
        algorithm: ed25519[0],
        verified: Mutex::default(),
    }));
    let mapping = of.mapping.iter();
    let mapping = mapping.map(|(scheme, all)| (*scheme, with_cached(all, cached)));
    WebPkiSupportedAlgorithms {
        all: with_cached(of.all, cached),
        mapping: Vec::leak(mapping.collect()),
    }
}

/// Returns the certificate of `identity` with an OCSP response and a key that signs with zeros.
pub(crate) fn unsigned(identity: &Identity) -> Arc<SingleCertAndKey> {
    let key = Key {
        algorithm: SignatureAlgorithm::ED25519,
        scheme: SignatureScheme::ED25519,
        signature: vec![0; 64],
    };
    let mut key = CertifiedKey::new(identity.chain.clone(), Arc::new(key));
    key.ocsp = Some(b"an OCSP response".to_vec());
    Arc::new(SingleCertAndKey::from(key))
}
