//! Ed25519 signatures (RFC 8032).

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer, alg_id};
use rustls_core::enums::{SignatureAlgorithm, SignatureScheme};
use rustls_core::error::Error;
use rustls_core::sign::{Signer, SigningKey, public_key_to_spki};

use crate::backend::signature::{Ed25519KeyPair, KeyPair};

/// An Ed25519 key, which is its own signer: it knows one scheme only.
#[derive(Clone)]
pub(super) struct Ed25519SigningKey(Arc<Ed25519KeyPair>);

impl Ed25519SigningKey {
    pub(super) fn new(der: &PrivatePkcs8KeyDer<'_>) -> Result<Self, Error> {
        // "Maybe unchecked": keys as OpenSSL writes them have no public key to check against.
        match Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der()) {
            Ok(key_pair) => Ok(Self(Arc::new(key_pair))),
            Err(rejected) => Err(Error::General(format!(
                "Ed25519 private key rejected: {rejected}"
            ))),
        }
    }
}

impl SigningKey for Ed25519SigningKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered
            .contains(&self.scheme())
            .then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(public_key_to_spki(&alg_id::ED25519, self.0.public_key()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for Ed25519SigningKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.0.sign(message).as_ref().to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}

impl fmt::Debug for Ed25519SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ed25519SigningKey").finish_non_exhaustive()
    }
}
