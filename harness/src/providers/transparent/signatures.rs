//! Ed25519 with a cache of signatures and of successful verifications. Of equal connections only
//! the first one pays for them. Cached results are real, and changed inputs miss the cache. Also
//! keys that sign with zeros.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};

use crate::peers::configs::Identity;

/// More than genuine connections need.
const REMEMBERED: usize = 1024;

/// Results by input. A full cache stays unchanged.
#[derive(Default)]
struct Memory(Mutex<HashMap<Vec<u8>, Vec<u8>>>);

impl Memory {
    fn get_or_try<E>(
        &self,
        of: Vec<u8>,
        make: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        if let Some(known) = self.0.lock().unwrap().get(&of) {
            return Ok(known.clone());
        }
        let made = make()?;
        let mut all = self.0.lock().unwrap();
        if all.len() < REMEMBERED {
            all.insert(of, made.clone());
        }
        Ok(made)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

/// Verifies with the underlying algorithm.
#[derive(Debug)]
struct Verifying {
    algorithm: &'static dyn SignatureVerificationAlgorithm,
    right: Memory,
}

impl SignatureVerificationAlgorithm for Verifying {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let verify = || {
            self.algorithm
                .verify_signature(public_key, message, signature)
        };
        // fixed lengths make the concatenation unambiguous
        if (public_key.len(), signature.len()) != (32, 64) {
            return verify();
        }
        let of = [public_key, signature, message].concat();
        let right = self.right.get_or_try(of, || verify().map(|()| Vec::new()));
        right.map(drop)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }
}

macro_rules! signatures {
    ($module:ident, $tls:ident, $provider:path) => {
        pub(super) mod $module {
            use $tls::crypto::{CryptoProvider, KeyProvider, WebPkiSupportedAlgorithms};
            use $tls::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
            use $tls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
            use $tls::{Error, SignatureAlgorithm, SignatureScheme};

            use super::*;

            /// The underlying provider, with cached signatures.
            pub(crate) fn provider() -> CryptoProvider {
                static MADE: OnceLock<WebPkiSupportedAlgorithms> = OnceLock::new();
                let mut provider = $provider();
                let algorithms = provider.signature_verification_algorithms;
                provider.signature_verification_algorithms =
                    *MADE.get_or_init(|| remembering(algorithms));
                provider.key_provider = &Keys;
                provider
            }

            fn remembering(of: WebPkiSupportedAlgorithms) -> WebPkiSupportedAlgorithms {
                let is_ed25519 = |scheme| scheme == SignatureScheme::ED25519;
                let (_, ed25519) = of.mapping.iter().find(|(s, _)| is_ed25519(*s)).unwrap();
                let verifying: &'static dyn SignatureVerificationAlgorithm =
                    Box::leak(Box::new(Verifying {
                        algorithm: ed25519[0],
                        right: Memory::default(),
                    }));
                let of_ed25519 = ed25519[0].signature_alg_id();
                let all = of.all.iter().map(|&algorithm| {
                    if algorithm.signature_alg_id() == of_ed25519 {
                        verifying
                    } else {
                        algorithm
                    }
                });
                let mapping = of.mapping.iter().map(|&(scheme, algorithms)| {
                    if is_ed25519(scheme) {
                        (scheme, &*Box::leak(Box::new([verifying])) as &'static [_])
                    } else {
                        (scheme, algorithms)
                    }
                });
                WebPkiSupportedAlgorithms {
                    all: Vec::leak(all.collect()),
                    mapping: Vec::leak(mapping.collect()),
                }
            }

            #[derive(Debug)]
            struct Keys;

            impl KeyProvider for Keys {
                fn load_private_key(
                    &self,
                    key: PrivateKeyDer<'static>,
                ) -> Result<Arc<dyn SigningKey>, Error> {
                    let key = $provider().key_provider.load_private_key(key)?;
                    let signed = Arc::default();
                    Ok(Arc::new(Key { key, signed }))
                }
            }

            #[derive(Debug)]
            struct Key {
                key: Arc<dyn SigningKey>,
                signed: Arc<Memory>,
            }

            impl SigningKey for Key {
                fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
                    let signer = self.key.choose_scheme(offered)?;
                    if signer.scheme() != SignatureScheme::ED25519 {
                        return Some(signer);
                    }
                    let signed = self.signed.clone();
                    Some(Box::new(Signing { signer, signed }))
                }

                fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
                    self.key.public_key()
                }

                fn algorithm(&self) -> SignatureAlgorithm {
                    self.key.algorithm()
                }
            }

            #[derive(Debug)]
            struct Signing {
                signer: Box<dyn Signer>,
                signed: Arc<Memory>,
            }

            impl Signer for Signing {
                fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
                    let of = message.to_vec();
                    self.signed.get_or_try(of, || self.signer.sign(message))
                }

                fn scheme(&self) -> SignatureScheme {
                    self.signer.scheme()
                }
            }

            /// The certificate of `identity` with an OCSP response and a key that signs with zeros.
            pub(crate) fn unsigned(identity: &Identity) -> Arc<SingleCertAndKey> {
                let mut key = CertifiedKey::new(identity.chain.clone(), Arc::new(NoKey));
                key.ocsp = Some(b"an OCSP response".to_vec());
                Arc::new(SingleCertAndKey::from(key))
            }

            #[derive(Debug)]
            struct NoKey;

            impl SigningKey for NoKey {
                fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
                    let signer: Box<dyn Signer> = Box::new(Self);
                    offered.contains(&self.scheme()).then_some(signer)
                }

                fn algorithm(&self) -> SignatureAlgorithm {
                    SignatureAlgorithm::ED25519
                }
            }

            impl Signer for NoKey {
                fn sign(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
                    Ok(vec![0; 64])
                }

                fn scheme(&self) -> SignatureScheme {
                    SignatureScheme::ED25519
                }
            }
        }
    };
}

signatures!(this, rustls, rustls_provider_ring::default_provider);
signatures!(
    upstream,
    rustls_upstream,
    rustls_upstream::crypto::ring::default_provider
);
