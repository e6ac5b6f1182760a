//! ECDSA signatures (RFC 9846 §4.3.3): one curve and one hash function for each scheme.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::alg_id::{self, AlgorithmIdentifier};
use pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use rustls_core::enums::{SignatureAlgorithm, SignatureScheme};
use rustls_core::error::Error;
use rustls_core::sign::{Signer, SigningKey, public_key_to_spki};

use crate::backend;
use crate::backend::rand::SystemRandom;
use crate::backend::signature::{self, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair};

/// P-256 with SHA-256.
pub(crate) static P256: EcdsaCurve = EcdsaCurve {
    scheme: SignatureScheme::ECDSA_NISTP256_SHA256,
    algorithm: &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
    public_key_id: alg_id::ECDSA_P256,
};

/// P-384 with SHA-384.
pub(crate) static P384: EcdsaCurve = EcdsaCurve {
    scheme: SignatureScheme::ECDSA_NISTP384_SHA384,
    algorithm: &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
    public_key_id: alg_id::ECDSA_P384,
};

/// A curve with the hash function that TLS 1.3 binds to it.
pub(crate) struct EcdsaCurve {
    pub(crate) scheme: SignatureScheme,
    pub(crate) algorithm: &'static EcdsaSigningAlgorithm,
    /// The AlgorithmIdentifier of public and private keys.
    pub(crate) public_key_id: AlgorithmIdentifier,
}

/// An ECDSA key.
pub(super) struct EcdsaSigningKey {
    key_pair: Arc<EcdsaKeyPair>,
    curve: &'static EcdsaCurve,
}

impl EcdsaSigningKey {
    /// Takes PKCS#8 and SEC1, a key of any of the library's curves.
    pub(super) fn new(der: &PrivateKeyDer<'_>) -> Result<Self, Error> {
        backend::ECDSA_CURVES
            .iter()
            .find_map(|curve| {
                Some(Self {
                    key_pair: Arc::new(backend::ecdsa_key_pair(curve, der)?),
                    curve,
                })
            })
            .ok_or_else(|| {
                Error::General(
                    "no ECDSA private key in PKCS#8 or SEC1 encoding, or of an unsupported curve"
                        .into(),
                )
            })
    }
}

impl SigningKey for EcdsaSigningKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let signer = EcdsaSigner {
            key_pair: Arc::clone(&self.key_pair),
            scheme: self.curve.scheme,
        };
        offered
            .contains(&signer.scheme)
            .then(|| Box::new(signer) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(public_key_to_spki(
            &self.curve.public_key_id,
            self.key_pair.public_key(),
        ))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl fmt::Debug for EcdsaSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EcdsaSigningKey")
            .field("scheme", &self.curve.scheme)
            .finish_non_exhaustive()
    }
}

struct EcdsaSigner {
    key_pair: Arc<EcdsaKeyPair>,
    scheme: SignatureScheme,
}

impl Signer for EcdsaSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.key_pair
            .sign(&SystemRandom::new(), message)
            .map(|signature| signature.as_ref().to_vec())
            .map_err(|_| Error::General("ECDSA signing failed".into()))
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}

impl fmt::Debug for EcdsaSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EcdsaSigner")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}
