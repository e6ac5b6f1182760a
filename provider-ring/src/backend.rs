//! ring as the shared code sees it: its modules, and all that it does differently from aws-lc-rs.

use alloc::vec::Vec;

use pki_types::PrivateKeyDer;
use ring::aead::{Aad, LessSafeKey, Nonce};
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::signature::{EcdsaKeyPair, RsaKeyPair};
pub(crate) use ring::{aead, agreement, digest, hmac, rand, signature};
use rustls_core::crypto::SharedSecret;
use rustls_core::crypto::aead::{AeadError, TAG_LEN};
use rustls_core::der::{INTEGER, OCTET_STRING, SEQUENCE, der};
pub(crate) use webpki::ring as webpki_algs;
use zeroize::Zeroizing;

use crate::shared::sign::ecdsa::{EcdsaCurve, P256, P384};

/// What protects records and packets in AES-GCM suites.
pub(crate) mod records {
    #[cfg(feature = "tls12")]
    pub(crate) mod tls12 {
        pub(crate) use rustls_core::record::framing::Tls12GcmFraming as GcmFraming;

        pub(crate) use crate::shared::aead::{Aes128Gcm, Aes256Gcm};
    }

    pub(crate) use crate::shared::aead as tls13;
}

/// Seals as [`Aead::seal`](rustls_core::crypto::aead::Aead::seal) asks for.
///
/// ring seals in place only, so there is one copy.
#[inline]
pub(crate) fn seal(
    key: &LessSafeKey,
    nonce: Nonce,
    aad: &[u8],
    plain: &[u8],
    trailer: &[u8],
    out: &mut [u8],
) -> Result<(), AeadError> {
    if out.len() != plain.len() + trailer.len() + TAG_LEN {
        return Err(AeadError);
    }
    out[..plain.len()].copy_from_slice(plain);
    seal_in_place(key, nonce, aad, plain.len(), trailer, out)
}

/// Seals as [`Aead::seal_in_place`](rustls_core::crypto::aead::Aead::seal_in_place) asks for.
#[inline]
pub(crate) fn seal_in_place(
    key: &LessSafeKey,
    nonce: Nonce,
    aad: &[u8],
    plain_len: usize,
    trailer: &[u8],
    out: &mut [u8],
) -> Result<(), AeadError> {
    let text_len = plain_len + trailer.len();
    if out.len() != text_len + TAG_LEN {
        return Err(AeadError);
    }
    let (text, tag_place) = out.split_at_mut(text_len);
    text[plain_len..].copy_from_slice(trailer);
    let tag = key
        .seal_in_place_separate_tag(nonce, Aad::from(aad), text)
        .map_err(|_| AeadError)?;
    tag_place.copy_from_slice(tag.as_ref());
    Ok(())
}

/// The shared secret, or `None` when `peer` is no valid public key.
pub(crate) fn agree(
    private_key: EphemeralPrivateKey,
    peer: UnparsedPublicKey<&[u8]>,
) -> Option<SharedSecret> {
    agree_ephemeral(private_key, &peer, |secret| secret.into()).ok()
}

/// The curves that ring can sign with.
pub(crate) static ECDSA_CURVES: &[&EcdsaCurve] = &[&P256, &P384];

/// The key in `der`, if it is one of `curve`.
pub(crate) fn ecdsa_key_pair(curve: &EcdsaCurve, der: &PrivateKeyDer<'_>) -> Option<EcdsaKeyPair> {
    let from_pkcs8 = |der: &[u8]| {
        EcdsaKeyPair::from_pkcs8(curve.algorithm, der, &rand::SystemRandom::new()).ok()
    };
    match der {
        PrivateKeyDer::Pkcs8(der) => from_pkcs8(der.secret_pkcs8_der()),
        PrivateKeyDer::Sec1(der) => from_pkcs8(&sec1_to_pkcs8(curve, der.secret_sec1_der())),
        _ => None,
    }
}

/// ring reads PKCS#8 only, so this puts a SEC1 key into it (RFC 5958 §2):
///
/// ```text
///   SEQUENCE { INTEGER 0, SEQUENCE { algorithm of curve }, OCTET STRING { sec1 } }
/// ```
fn sec1_to_pkcs8(curve: &EcdsaCurve, sec1: &[u8]) -> Zeroizing<Vec<u8>> {
    let version = der(INTEGER, &[&[0]]);
    let algorithm = der(SEQUENCE, &[curve.public_key_id.as_ref()]);
    let private_key = Zeroizing::new(der(OCTET_STRING, &[sec1]));
    Zeroizing::new(der(SEQUENCE, &[&version, &algorithm, &private_key]))
}

/// Length in bytes of the modulus, and so of signatures.
pub(crate) fn rsa_modulus_len(key_pair: &RsaKeyPair) -> usize {
    key_pair.public().modulus_len()
}

/// ring has no FIPS validation.
pub(crate) fn fips() -> bool {
    false
}
