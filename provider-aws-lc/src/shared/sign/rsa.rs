//! RSA signatures, PKCS#1 v1.5 and PSS (RFC 8017).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::fmt;

use pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer, alg_id};
use rustls_core::enums::{SignatureAlgorithm, SignatureScheme};
use rustls_core::error::Error;
use rustls_core::sign::{Signer, SigningKey, public_key_to_spki};

use crate::backend;
use crate::backend::rand::SystemRandom;
use crate::backend::signature::{self, KeyPair, RsaEncoding, RsaKeyPair};

/// The schemes of an RSA key, most preferred first.
pub(crate) const SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PKCS1_SHA512,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA256,
];

/// An RSA key.
pub(super) struct RsaSigningKey(Arc<RsaKeyPair>);

impl RsaSigningKey {
    /// Takes PKCS#8 and PKCS#1.
    pub(super) fn new(der: &PrivateKeyDer<'_>) -> Result<Self, Error> {
        let key_pair = match der {
            PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            _ => {
                return Err(Error::General(
                    "RSA private keys are encoded as PKCS#8 or PKCS#1".into(),
                ));
            }
        };
        match key_pair {
            Ok(key_pair) => Ok(Self(Arc::new(key_pair))),
            Err(rejected) => Err(Error::General(format!(
                "RSA private key rejected: {rejected}"
            ))),
        }
    }
}

impl SigningKey for RsaSigningKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let scheme = *SCHEMES.iter().find(|scheme| offered.contains(scheme))?;
        Some(Box::new(RsaSigner {
            key_pair: Arc::clone(&self.0),
            scheme,
            encoding: encoding(scheme)?,
        }))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(public_key_to_spki(
            &alg_id::RSA_ENCRYPTION,
            self.0.public_key(),
        ))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

impl fmt::Debug for RsaSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaSigningKey").finish_non_exhaustive()
    }
}

fn encoding(scheme: SignatureScheme) -> Option<&'static dyn RsaEncoding> {
    Some(match scheme {
        SignatureScheme::RSA_PSS_SHA512 => &signature::RSA_PSS_SHA512,
        SignatureScheme::RSA_PSS_SHA384 => &signature::RSA_PSS_SHA384,
        SignatureScheme::RSA_PSS_SHA256 => &signature::RSA_PSS_SHA256,
        SignatureScheme::RSA_PKCS1_SHA512 => &signature::RSA_PKCS1_SHA512,
        SignatureScheme::RSA_PKCS1_SHA384 => &signature::RSA_PKCS1_SHA384,
        SignatureScheme::RSA_PKCS1_SHA256 => &signature::RSA_PKCS1_SHA256,
        _ => return None,
    })
}

struct RsaSigner {
    key_pair: Arc<RsaKeyPair>,
    scheme: SignatureScheme,
    encoding: &'static dyn RsaEncoding,
}

impl Signer for RsaSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut signature = vec![0; backend::rsa_modulus_len(&self.key_pair)];
        self.key_pair
            .sign(self.encoding, &SystemRandom::new(), message, &mut signature)
            .map_err(|_| Error::General("RSA signing failed".into()))?;
        Ok(signature)
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}

impl fmt::Debug for RsaSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaSigner")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}
