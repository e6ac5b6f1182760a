//! Private keys.

use p256::ecdsa::signature::Signer;
use p256::pkcs8::DecodePrivateKey;
use rustls::SignatureScheme;
use rustls::crypto::blocks::{self, KeyKind, KeyRejected};

pub(crate) enum KeyPair {
    P256(p256::ecdsa::SigningKey),
    P384(p384::ecdsa::SigningKey),
    Ed25519(ed25519_dalek::SigningKey),
}

impl blocks::KeyPair for KeyPair {
    fn from_pkcs8(kind: KeyKind, der: &[u8]) -> Result<Self, KeyRejected> {
        Ok(match kind {
            KeyKind::EcdsaP256 => Self::P256(DecodePrivateKey::from_pkcs8_der(der)?),
            KeyKind::EcdsaP384 => Self::P384(DecodePrivateKey::from_pkcs8_der(der)?),
            KeyKind::Ed25519 => Self::Ed25519(DecodePrivateKey::from_pkcs8_der(der)?),
            _ => return Err("not supported".into()),
        })
    }

    fn public_key(&self) -> impl AsRef<[u8]> {
        match self {
            Self::P256(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            Self::P384(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            Self::Ed25519(key) => key.verifying_key().to_bytes().to_vec(),
        }
    }

    fn sign(&self, _scheme: SignatureScheme, message: &[u8]) -> Option<Vec<u8>> {
        Some(match self {
            Self::P256(key) => {
                let signature: p256::ecdsa::DerSignature = key.try_sign(message).ok()?;
                signature.as_bytes().to_vec()
            }
            Self::P384(key) => {
                let signature: p384::ecdsa::DerSignature = key.try_sign(message).ok()?;
                signature.as_bytes().to_vec()
            }
            Self::Ed25519(key) => key.try_sign(message).ok()?.to_bytes().to_vec(),
        })
    }
}
