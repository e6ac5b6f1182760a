//! aws-lc-rs as the shared code sees it: its modules, and all that it does differently from ring.

use aws_lc_rs::aead::{Aad, LessSafeKey, Nonce};
use aws_lc_rs::agreement::{EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use aws_lc_rs::signature::{EcdsaKeyPair, RsaKeyPair};
pub(crate) use aws_lc_rs::{aead, agreement, digest, hmac, rand, signature};
use pki_types::{PrivateKeyDer, alg_id};
use rustls_core::crypto::SharedSecret;
use rustls_core::crypto::aead::AeadError;
use rustls_core::enums::SignatureScheme;
pub(crate) use webpki::aws_lc_rs as webpki_algs;

use crate::shared::sign::ecdsa::{EcdsaCurve, P256, P384};

/// What protects records and packets in AES-GCM suites.
#[cfg(not(feature = "fips"))]
pub(crate) mod records {
    #[cfg(feature = "tls12")]
    pub(crate) mod tls12 {
        pub(crate) use rustls_core::record::framing::Tls12GcmFraming as GcmFraming;

        pub(crate) use crate::shared::aead::{Aes128Gcm, Aes256Gcm};
    }

    pub(crate) use crate::shared::aead as tls13;
}

/// What protects records and packets in AES-GCM suites.
#[cfg(feature = "fips")]
pub(crate) use crate::fips as records;

/// Seals as [`Aead::seal`](rustls_core::crypto::aead::Aead::seal) asks for, without a copy.
#[inline]
pub(crate) fn seal(
    key: &LessSafeKey,
    nonce: Nonce,
    aad: &[u8],
    plain: &[u8],
    trailer: &[u8],
    out: &mut [u8],
) -> Result<(), AeadError> {
    let (ciphertext, trailer_and_tag) = out.split_at_mut_checked(plain.len()).ok_or(AeadError)?;
    key.seal_out_of_place_scatter(
        nonce,
        Aad::from(aad),
        plain,
        ciphertext,
        trailer,
        trailer_and_tag,
    )
    .map_err(|_| AeadError)
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
    let (text, trailer_and_tag) = out.split_at_mut_checked(plain_len).ok_or(AeadError)?;
    key.seal_in_place_scatter(nonce, Aad::from(aad), text, trailer, trailer_and_tag)
        .map_err(|_| AeadError)
}

/// The shared secret, or `None` when `peer` is no valid public key.
pub(crate) fn agree(
    private_key: EphemeralPrivateKey,
    peer: UnparsedPublicKey<&[u8]>,
) -> Option<SharedSecret> {
    agree_ephemeral(private_key, peer, (), |secret| Ok(secret.into())).ok()
}

/// The curves that aws-lc-rs can sign with.
pub(crate) static ECDSA_CURVES: &[&EcdsaCurve] = &[&P256, &P384, &P521];

static P521: EcdsaCurve = EcdsaCurve {
    scheme: SignatureScheme::ECDSA_NISTP521_SHA512,
    algorithm: &signature::ECDSA_P521_SHA512_ASN1_SIGNING,
    public_key_id: alg_id::ECDSA_P521,
};

/// The key in `der`, if it is one of `curve`.
pub(crate) fn ecdsa_key_pair(curve: &EcdsaCurve, der: &PrivateKeyDer<'_>) -> Option<EcdsaKeyPair> {
    match der {
        PrivateKeyDer::Pkcs8(der) => {
            EcdsaKeyPair::from_pkcs8(curve.algorithm, der.secret_pkcs8_der()).ok()
        }
        PrivateKeyDer::Sec1(der) => {
            EcdsaKeyPair::from_private_key_der(curve.algorithm, der.secret_sec1_der()).ok()
        }
        _ => None,
    }
}

/// Length in bytes of the modulus, and so of signatures.
pub(crate) fn rsa_modulus_len(key_pair: &RsaKeyPair) -> usize {
    key_pair.public_modulus_len()
}

/// Whether aws-lc-rs runs as a FIPS module, which is so with feature `fips` only.
pub(crate) fn fips() -> bool {
    cfg!(feature = "fips") && aws_lc_rs::try_fips_mode().is_ok()
}
