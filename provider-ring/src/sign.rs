//! Private keys: loads encoded keys as signing keys.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use ring::rand::SystemRandom;
use ring::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RsaEncoding,
    RsaKeyPair,
};
use rustls_core::blocks::{self, KeyKind, KeyRejected};
use rustls_core::enums::{SignatureAlgorithm, SignatureScheme};
use rustls_core::error::Error;
use rustls_core::sign::{Signer, SigningKey};

/// Creates a signing key from an RSA, ECDSA or Ed25519 key.
///
/// # Errors
///
/// Returns [`Error::General`] if the key is malformed or of a different kind, or if ring rejects
/// it.
pub fn any_supported_type(der: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    blocks::any_supported_type::<KeyPair>(der)
}

/// Creates a signing key from an ECDSA key over P-256 or P-384, in PKCS#8 (RFC 5958) or SEC1 (RFC
/// 5915) encoding.
///
/// # Errors
///
/// Returns [`Error::General`] if `der` is not such a key, or if ring rejects it.
pub fn any_ecdsa_type(der: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    blocks::any_ecdsa_type::<KeyPair>(der)
}

/// Creates a signing key from an Ed25519 key in PKCS#8 encoding (RFC 8410), with or without its
/// public key.
///
/// # Errors
///
/// Returns [`Error::General`] if `der` is not such a key, or if ring rejects it.
pub fn any_eddsa_type(der: &PrivatePkcs8KeyDer<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    blocks::any_eddsa_type::<KeyPair>(der)
}

/// An RSA signing key, for programs that name this type. New programs should use
/// [`any_supported_type`].
#[doc(hidden)]
#[derive(Debug)]
pub struct RsaSigningKey(Arc<dyn SigningKey>);

impl RsaSigningKey {
    /// Creates a signing key from an RSA key in PKCS#8 or PKCS#1 encoding.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if `der` is not such a key, or if ring rejects it.
    pub fn new(der: &PrivateKeyDer<'_>) -> Result<Self, Error> {
        blocks::any_rsa_type::<KeyPair>(der).map(Self)
    }
}

impl SigningKey for RsaSigningKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        self.0.choose_scheme(offered)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        self.0.public_key()
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.algorithm()
    }
}

pub(crate) enum KeyPair {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl blocks::KeyPair for KeyPair {
    fn from_pkcs8(kind: KeyKind, der: &[u8]) -> Result<Self, KeyRejected> {
        Ok(match kind {
            KeyKind::Rsa => Self::Rsa(RsaKeyPair::from_pkcs8(der)?),
            // "maybe unchecked": keys written by OpenSSL have no public key to check against
            KeyKind::Ed25519 => Self::Ed25519(Ed25519KeyPair::from_pkcs8_maybe_unchecked(der)?),
            _ => Self::Ecdsa(EcdsaKeyPair::from_pkcs8(
                curve(kind)?,
                der,
                &SystemRandom::new(),
            )?),
        })
    }

    fn from_pkcs1(der: &[u8]) -> Result<Self, KeyRejected> {
        Ok(Self::Rsa(RsaKeyPair::from_der(der)?))
    }

    fn public_key(&self) -> impl AsRef<[u8]> {
        match self {
            Self::Rsa(key_pair) => key_pair.public_key().as_ref(),
            Self::Ecdsa(key_pair) => key_pair.public_key().as_ref(),
            Self::Ed25519(key_pair) => key_pair.public_key().as_ref(),
        }
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(key_pair) => {
                let mut signature = vec![0; key_pair.public().modulus_len()];
                key_pair
                    .sign(rsa_encoding(scheme)?, &random, message, &mut signature)
                    .ok()?;
                Some(signature)
            }
            Self::Ecdsa(key_pair) => {
                let signature = key_pair.sign(&random, message).ok()?;
                Some(signature.as_ref().to_vec())
            }
            Self::Ed25519(key_pair) => Some(key_pair.sign(message).as_ref().to_vec()),
        }
    }
}

fn curve(kind: KeyKind) -> Result<&'static EcdsaSigningAlgorithm, KeyRejected> {
    match kind {
        KeyKind::EcdsaP256 => Ok(&signature::ECDSA_P256_SHA256_ASN1_SIGNING),
        KeyKind::EcdsaP384 => Ok(&signature::ECDSA_P384_SHA384_ASN1_SIGNING),
        _ => Err("unsupported curve".into()),
    }
}

fn rsa_encoding(scheme: SignatureScheme) -> Option<&'static dyn RsaEncoding> {
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
