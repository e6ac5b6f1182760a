//! Signing keys over a library's key pairs: loading by kind and format, choosing a scheme, and
//! SubjectPublicKeyInfo.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use pki_types::alg_id::{self, AlgorithmIdentifier};
use pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use zeroize::Zeroizing;

use crate::crypto::KeyProvider;
use crate::der::{INTEGER, OCTET_STRING, SEQUENCE, der};
use crate::enums::{SignatureAlgorithm, SignatureScheme};
use crate::error::Error;
use crate::sign::{Signer, SigningKey, public_key_to_spki};

#[cfg(test)]
mod tests;

/// A library's key pair: a private key and its public key.
pub trait KeyPair: Sized + Send + Sync + 'static {
    /// Decodes a key of kind `kind` in PKCS#8 (RFC 5958) encoding.
    ///
    /// # Errors
    ///
    /// Returns [`KeyRejected`] with the library's reason if the key is malformed or invalid, or if
    /// the library does not support its kind or size.
    fn from_pkcs8(kind: KeyKind, der: &[u8]) -> Result<Self, KeyRejected>;

    /// Decodes an RSA key in PKCS#1 (RFC 8017 §A.1.2) encoding.
    ///
    /// The default wraps it in PKCS#8.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`from_pkcs8`](Self::from_pkcs8).
    fn from_pkcs1(der: &[u8]) -> Result<Self, KeyRejected> {
        Self::from_pkcs8(KeyKind::Rsa, &into_pkcs8(KeyKind::Rsa, der))
    }

    /// Decodes an ECDSA key of kind `kind` in SEC1 (RFC 5915) encoding.
    ///
    /// The default wraps it in PKCS#8.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`from_pkcs8`](Self::from_pkcs8).
    fn from_sec1(kind: KeyKind, der: &[u8]) -> Result<Self, KeyRejected> {
        Self::from_pkcs8(kind, &into_pkcs8(kind, der))
    }

    /// Returns the public key in the encoding of its algorithm: a curve point, or an RSAPublicKey.
    fn public_key(&self) -> impl AsRef<[u8]>;

    /// Signs `message`, which has not been hashed. Returns the signature as TLS encodes it: ECDSA
    /// signatures as DER.
    ///
    /// `scheme` is one of [`KeyKind::schemes`]. Returns `None` if the library fails or does not
    /// support the scheme.
    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Option<Vec<u8>>;

    /// True if every key signs in FIPS-approved mode.
    fn fips() -> bool {
        false
    }
}

/// The kind of a private key, which determines its algorithm identifier and its schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyKind {
    /// RSA, for PSS and PKCS#1 v1.5.
    Rsa,
    /// ECDSA over P-256.
    EcdsaP256,
    /// ECDSA over P-384.
    EcdsaP384,
    /// ECDSA over P-521.
    EcdsaP521,
    /// Ed25519.
    Ed25519,
}

impl KeyKind {
    const ALL: [Self; 5] = [
        Self::Rsa,
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::EcdsaP521,
        Self::Ed25519,
    ];

    /// Returns the schemes that this library uses with keys of this kind, most preferred first.
    pub const fn schemes(self) -> &'static [SignatureScheme] {
        match self {
            Self::Rsa => &[
                SignatureScheme::RSA_PSS_SHA512,
                SignatureScheme::RSA_PSS_SHA384,
                SignatureScheme::RSA_PSS_SHA256,
                SignatureScheme::RSA_PKCS1_SHA512,
                SignatureScheme::RSA_PKCS1_SHA384,
                SignatureScheme::RSA_PKCS1_SHA256,
            ],
            // RFC 9846 §4.3.3: each curve has one hash function
            Self::EcdsaP256 => &[SignatureScheme::ECDSA_NISTP256_SHA256],
            Self::EcdsaP384 => &[SignatureScheme::ECDSA_NISTP384_SHA384],
            Self::EcdsaP521 => &[SignatureScheme::ECDSA_NISTP521_SHA512],
            Self::Ed25519 => &[SignatureScheme::ED25519],
        }
    }

    /// Returns the signature algorithm. A TLS 1.2 server chooses cipher suites by it.
    pub const fn algorithm(self) -> SignatureAlgorithm {
        match self {
            Self::Rsa => SignatureAlgorithm::RSA,
            Self::EcdsaP256 | Self::EcdsaP384 | Self::EcdsaP521 => SignatureAlgorithm::ECDSA,
            Self::Ed25519 => SignatureAlgorithm::ED25519,
        }
    }

    /// Returns the AlgorithmIdentifier of public and private keys.
    pub const fn algorithm_id(self) -> AlgorithmIdentifier {
        match self {
            Self::Rsa => alg_id::RSA_ENCRYPTION,
            Self::EcdsaP256 => alg_id::ECDSA_P256,
            Self::EcdsaP384 => alg_id::ECDSA_P384,
            Self::EcdsaP521 => alg_id::ECDSA_P521,
            Self::Ed25519 => alg_id::ED25519,
        }
    }
}

/// Wraps a PKCS#1 or SEC1 key in PKCS#8 (RFC 5958 §2):
///
/// ```text
///   SEQUENCE { INTEGER 0, SEQUENCE { algorithm_id }, OCTET STRING { key } }
/// ```
fn into_pkcs8(kind: KeyKind, key: &[u8]) -> Zeroizing<Vec<u8>> {
    let version = der(INTEGER, &[&[0]]);
    let algorithm = der(SEQUENCE, &[kind.algorithm_id().as_ref()]);
    let private_key = Zeroizing::new(der(OCTET_STRING, &[key]));
    Zeroizing::new(der(SEQUENCE, &[&version, &algorithm, &private_key]))
}

/// The reason why a key is rejected.
#[derive(Debug)]
pub struct KeyRejected(String);

impl<E: fmt::Display> From<E> for KeyRejected {
    fn from(reason: E) -> Self {
        Self(reason.to_string())
    }
}

/// Creates a signing key from an RSA, ECDSA or Ed25519 key.
///
/// # Errors
///
/// Returns [`Error::General`] if the key is malformed or of a different kind, or if the library
/// rejects it.
pub fn any_supported_type<K: KeyPair>(
    der: &PrivateKeyDer<'_>,
) -> Result<Arc<dyn SigningKey>, Error> {
    load::<K>(der, |_| true).map_err(|rejections| {
        Error::General(format!(
            "failed to parse private key as RSA, ECDSA, or EdDSA ({rejections})"
        ))
    })
}

/// Creates a signing key from an RSA key in PKCS#8 (RFC 5958) or PKCS#1 (RFC 8017) encoding.
///
/// # Errors
///
/// Returns [`Error::General`] if `der` is not such a key, or if the library rejects it.
pub fn any_rsa_type<K: KeyPair>(der: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    if !matches!(der, PrivateKeyDer::Pkcs1(_) | PrivateKeyDer::Pkcs8(_)) {
        return Err(Error::General(
            "failed to parse RSA private key as either PKCS#1 or PKCS#8".into(),
        ));
    }
    match load_as::<K>(KeyKind::Rsa, der) {
        Ok(key_pair) => Ok(LibraryKey::new(key_pair, KeyKind::Rsa)),
        Err(KeyRejected(reason)) => Err(Error::General(format!(
            "failed to parse RSA private key: {reason}"
        ))),
    }
}

/// Creates a signing key from an ECDSA key in PKCS#8 (RFC 5958) or SEC1 (RFC 5915) encoding.
///
/// # Errors
///
/// Returns [`Error::General`] if `der` is not such a key, or if the library rejects it.
pub fn any_ecdsa_type<K: KeyPair>(der: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    load::<K>(der, |kind| kind.algorithm() == SignatureAlgorithm::ECDSA).map_err(|rejections| {
        Error::General(format!(
            "failed to parse ECDSA private key as PKCS#8 or SEC1 ({rejections})"
        ))
    })
}

/// Creates a signing key from an Ed25519 key in PKCS#8 encoding (RFC 8410).
///
/// # Errors
///
/// Returns [`Error::General`] if `der` is not such a key, or if the library rejects it.
pub fn any_eddsa_type<K: KeyPair>(
    der: &PrivatePkcs8KeyDer<'_>,
) -> Result<Arc<dyn SigningKey>, Error> {
    let kind = KeyKind::Ed25519;
    match K::from_pkcs8(kind, der.secret_pkcs8_der()) {
        Ok(key_pair) => Ok(LibraryKey::new(key_pair, kind)),
        Err(KeyRejected(reason)) => Err(Error::General(format!(
            "failed to parse Ed25519 private key: {reason}"
        ))),
    }
}

/// Loads the key in `der` as the first of the `wanted` kinds that the library accepts.
///
/// # Errors
///
/// Returns the reason why each kind was rejected.
fn load<K: KeyPair>(
    der: &PrivateKeyDer<'_>,
    wanted: fn(KeyKind) -> bool,
) -> Result<Arc<dyn SigningKey>, String> {
    let mut rejections = Vec::new();
    for kind in KeyKind::ALL.into_iter().filter(|kind| wanted(*kind)) {
        match load_as::<K>(kind, der) {
            Ok(key_pair) => return Ok(LibraryKey::new(key_pair, kind)),
            Err(KeyRejected(reason)) => rejections.push(format!("as {kind:?}: {reason}")),
        }
    }
    Err(rejections.join("; "))
}

fn load_as<K: KeyPair>(kind: KeyKind, der: &PrivateKeyDer<'_>) -> Result<K, KeyRejected> {
    match (der, kind.algorithm()) {
        (PrivateKeyDer::Pkcs8(der), _) => K::from_pkcs8(kind, der.secret_pkcs8_der()),
        (PrivateKeyDer::Pkcs1(der), SignatureAlgorithm::RSA) => {
            K::from_pkcs1(der.secret_pkcs1_der())
        }
        (PrivateKeyDer::Sec1(der), SignatureAlgorithm::ECDSA) => {
            K::from_sec1(kind, der.secret_sec1_der())
        }
        _ => Err("not in this encoding".into()),
    }
}

/// The [`KeyProvider`] over a library's key pairs.
pub struct KeyLoader<K>(PhantomData<K>);

impl<K> KeyLoader<K> {
    /// The only value of this type.
    pub const NEW: Self = Self(PhantomData);
}

impl<K: KeyPair> KeyProvider for KeyLoader<K> {
    fn load_private_key(
        &self,
        key_der: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn SigningKey>, Error> {
        // zeroize this copy: the library keeps its own
        let key_der = Zeroizing::new(key_der);
        any_supported_type::<K>(&key_der)
    }

    fn fips(&self) -> bool {
        K::fips()
    }
}

impl<K> fmt::Debug for KeyLoader<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyLoader")
    }
}

struct LibraryKey<K> {
    key_pair: Arc<K>,
    kind: KeyKind,
}

impl<K: KeyPair> LibraryKey<K> {
    fn new(key_pair: K, kind: KeyKind) -> Arc<Self> {
        Arc::new(Self {
            key_pair: Arc::new(key_pair),
            kind,
        })
    }
}

impl<K: KeyPair> SigningKey for LibraryKey<K> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let mut schemes = self.kind.schemes().iter();
        let scheme = *schemes.find(|scheme| offered.contains(scheme))?;
        Some(Box::new(LibrarySigner {
            key_pair: Arc::clone(&self.key_pair),
            scheme,
        }))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        let public_key = self.key_pair.public_key();
        Some(public_key_to_spki(&self.kind.algorithm_id(), public_key))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.kind.algorithm()
    }
}

impl<K> fmt::Debug for LibraryKey<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

struct LibrarySigner<K> {
    key_pair: Arc<K>,
    scheme: SignatureScheme,
}

impl<K: KeyPair> Signer for LibrarySigner<K> {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.key_pair
            .sign(self.scheme, message)
            .ok_or_else(|| Error::General(format!("signing with {:?} failed", self.scheme)))
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}

impl<K> fmt::Debug for LibrarySigner<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}
