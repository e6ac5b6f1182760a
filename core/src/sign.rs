//! Private keys and their signatures, implemented by a provider or an application.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;

use pki_types::SubjectPublicKeyInfoDer;
use pki_types::alg_id::AlgorithmIdentifier;

use crate::der::{BIT_STRING, SEQUENCE, der};
use crate::enums::{SignatureAlgorithm, SignatureScheme};
use crate::error::Error;
use crate::operation::BoxFuture;

/// A private key that can sign with one or more schemes.
pub trait SigningKey: Debug + Send + Sync {
    /// Picks this key's preferred scheme among those `offered` by the peer.
    ///
    /// Returns `None` if this key does not support any of them.
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>>;

    /// Returns the public key as a SubjectPublicKeyInfo (RFC 5280 §4.1).
    ///
    /// The result is used to check a key against its certificate. If it is `None`, the default,
    /// they cannot be compared.
    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        None
    }

    /// Returns the kind of this key. A TLS 1.2 server chooses cipher suites by it.
    fn algorithm(&self) -> SignatureAlgorithm;
}

impl<K: SigningKey + ?Sized> SigningKey for Arc<K> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        (**self).choose_scheme(offered)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        (**self).public_key()
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        (**self).algorithm()
    }
}

/// A private key together with a signature scheme.
pub trait Signer: Debug + Send + Sync {
    /// Signs `message`, which has not been hashed.
    ///
    /// The result is in wire format: ECDSA signatures as DER (RFC 9846 §4.3.3).
    ///
    /// # Errors
    ///
    /// Fails if the cryptography, or a key store behind it, fails.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error>;

    /// The asynchronous counterpart of [`sign`](Self::sign). Return `None` (the default) to fall
    /// back to `sign`.
    ///
    /// Implement this if signing takes long, for example in a hardware module or over the network.
    /// Called only on connections that the application polls. Other connections call `sign`, which
    /// may block.
    ///
    /// # Errors
    ///
    /// The future returns the errors of [`sign`](Self::sign).
    fn sign_async(&self, message: &[u8]) -> Option<BoxFuture<Result<Vec<u8>, Error>>> {
        let _ = message;
        None
    }

    /// Returns the signature scheme.
    fn scheme(&self) -> SignatureScheme;
}

/// Encodes a public key as a SubjectPublicKeyInfo (RFC 5280 §4.1):
///
/// ```text
///   SEQUENCE { SEQUENCE { alg_id }, BIT STRING { public_key } }
/// ```
///
/// `alg_id` is the content of the AlgorithmIdentifier, without the SEQUENCE header. `public_key` is
/// the key in the encoding of its algorithm, such as a curve point or an RSAPublicKey.
pub fn public_key_to_spki(
    alg_id: &AlgorithmIdentifier,
    public_key: impl AsRef<[u8]>,
) -> SubjectPublicKeyInfoDer<'static> {
    // a BIT STRING starts with the number of unused bits in its last byte (X.690 §8.6.2)
    const NO_UNUSED_BITS: &[u8] = &[0];

    let algorithm = der(SEQUENCE, &[alg_id.as_ref()]);
    let key = der(BIT_STRING, &[NO_UNUSED_BITS, public_key.as_ref()]);
    der(SEQUENCE, &[&algorithm, &key]).into()
}

#[cfg(test)]
mod tests {
    use pki_types::alg_id;

    use super::*;

    #[test]
    fn ed25519_spki_matches_rfc8410() {
        // RFC 8410 §10.1: the header of every Ed25519 public key
        let header = [
            0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
        ];
        let spki = public_key_to_spki(&alg_id::ED25519, [0x19; 32]);
        assert_eq!(spki[..12], header);
        assert_eq!(spki[12..], [0x19; 32]);
    }
}
