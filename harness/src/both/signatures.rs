//! Ed25519 with caches of signatures and of successful verifications. If equal connections are
//! repeated, only the first one pays for them; changed inputs miss the caches. Also keys that sign
//! with zeros.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock};

use pki_types::{
    AlgorithmIdentifier, InvalidSignature, PrivateKeyDer, SignatureVerificationAlgorithm,
    SubjectPublicKeyInfoDer,
};

use super::constant::Key;
use super::ring;
use super::tls::crypto::{CryptoProvider, KeyProvider, WebPkiSupportedAlgorithms};
use super::tls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use super::tls::{Error, SignatureAlgorithm, SignatureScheme};
use crate::peers::configs::Identity;
use crate::providers::leak;

/// The maximum length of a cache: more than genuine connections need. A full cache is not changed.
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

/// Loads keys whose Ed25519 signatures, which are deterministic, are made once for each message.
#[derive(Debug)]
struct Keys(&'static dyn KeyProvider);

impl KeyProvider for Keys {
    fn load_private_key(&self, der: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        Ok(Arc::new(Remembering {
            inner: self.0.load_private_key(der)?,
            signatures: Arc::default(),
        }))
    }
}

/// A key, or its signer, with the signatures of the key by message.
#[derive(Debug)]
struct Remembering<T> {
    inner: T,
    signatures: Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>>,
}

impl SigningKey for Remembering<Arc<dyn SigningKey>> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let inner = self.inner.choose_scheme(offered)?;
        if inner.scheme() != SignatureScheme::ED25519 {
            return Some(inner);
        }
        let signatures = self.signatures.clone();
        Some(Box::new(Remembering { inner, signatures }))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        self.inner.public_key()
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.inner.algorithm()
    }
}

impl Signer for Remembering<Box<dyn Signer>> {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut signatures = self.signatures.lock().unwrap();
        if let Some(signature) = signatures.get(message) {
            return Ok(signature.clone());
        }
        let signature = self.inner.sign(message)?;
        if signatures.len() < CACHE_LEN {
            signatures.insert(message.to_vec(), signature.clone());
        }
        Ok(signature)
    }

    fn scheme(&self) -> SignatureScheme {
        self.inner.scheme()
    }
}

/// Returns the underlying provider, with cached signatures and verifications.
pub(crate) fn provider() -> CryptoProvider {
    static MADE: OnceLock<WebPkiSupportedAlgorithms> = OnceLock::new();
    let mut provider = ring();
    let algorithms = provider.signature_verification_algorithms;
    provider.signature_verification_algorithms = *MADE.get_or_init(|| caching(algorithms));
    provider.key_provider = leak(Keys(provider.key_provider));
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
