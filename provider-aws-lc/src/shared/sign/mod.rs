//! Private keys: encoded ones made into keys that sign.

use alloc::sync::Arc;

use pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls_core::error::Error;
use rustls_core::sign::SigningKey;

use self::ecdsa::EcdsaSigningKey;
use self::ed25519::Ed25519SigningKey;
use self::rsa::RsaSigningKey;

pub(crate) mod ecdsa;
mod ed25519;
pub(crate) mod rsa;

/// Makes a signing key of an RSA, ECDSA or Ed25519 key, whichever `der` is.
///
/// # Errors
///
/// [`Error::General`] when it is none of them, or malformed.
pub fn any_supported_type(der: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    if let Ok(key) = RsaSigningKey::new(der) {
        return Ok(Arc::new(key));
    }
    if let Ok(key) = any_ecdsa_type(der) {
        return Ok(key);
    }
    if let PrivateKeyDer::Pkcs8(der) = der
        && let Ok(key) = any_eddsa_type(der)
    {
        return Ok(key);
    }
    Err(Error::General(
        "private key is none that can be used here: neither RSA nor ECDSA nor Ed25519".into(),
    ))
}

/// Makes a signing key of an ECDSA key in PKCS#8 (RFC 5958) or SEC1 (RFC 5915) encoding.
///
/// The curves are those of this provider: P-256, P-384, and with aws-lc-rs P-521.
///
/// # Errors
///
/// [`Error::General`] when `der` is no such key.
pub fn any_ecdsa_type(der: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    Ok(Arc::new(EcdsaSigningKey::new(der)?))
}

/// Makes a signing key of an Ed25519 key in PKCS#8 encoding (RFC 8410), with the public key in it or
/// without.
///
/// # Errors
///
/// [`Error::General`] when `der` is no such key.
pub fn any_eddsa_type(der: &PrivatePkcs8KeyDer<'_>) -> Result<Arc<dyn SigningKey>, Error> {
    Ok(Arc::new(Ed25519SigningKey::new(der)?))
}
