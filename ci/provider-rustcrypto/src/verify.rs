//! Verification of signatures.

use std::fmt;

use ed25519_dalek::Verifier;
use rustls::SignatureScheme;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id,
};

/// The supported signature algorithms.
pub(crate) static SUPPORTED_SIG_ALGS: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[&ECDSA_P256_SHA256, &ECDSA_P384_SHA384, &ED25519],
    mapping: &[
        (
            SignatureScheme::ECDSA_NISTP384_SHA384,
            &[&ECDSA_P384_SHA384],
        ),
        (
            SignatureScheme::ECDSA_NISTP256_SHA256,
            &[&ECDSA_P256_SHA256],
        ),
        (SignatureScheme::ED25519, &[&ED25519]),
    ],
};

static ECDSA_P256_SHA256: Algorithm = Algorithm {
    public_key: alg_id::ECDSA_P256,
    signature: alg_id::ECDSA_SHA256,
    verify: |public_key, message, signature| {
        let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(public_key).ok()?;
        let signature = p256::ecdsa::DerSignature::try_from(signature).ok()?;
        key.verify(message, &signature).ok()
    },
};

static ECDSA_P384_SHA384: Algorithm = Algorithm {
    public_key: alg_id::ECDSA_P384,
    signature: alg_id::ECDSA_SHA384,
    verify: |public_key, message, signature| {
        let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(public_key).ok()?;
        let signature = p384::ecdsa::DerSignature::try_from(signature).ok()?;
        key.verify(message, &signature).ok()
    },
};

static ED25519: Algorithm = Algorithm {
    public_key: alg_id::ED25519,
    signature: alg_id::ED25519,
    verify: |public_key, message, signature| {
        let key = ed25519_dalek::VerifyingKey::try_from(public_key).ok()?;
        let signature = ed25519_dalek::Signature::try_from(signature).ok()?;
        key.verify_strict(message, &signature).ok()
    },
};

/// Verifies public key, message and signature, in this order. Returns `None` if the signature is
/// not valid.
type Verify = fn(&[u8], &[u8], &[u8]) -> Option<()>;

struct Algorithm {
    public_key: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
    verify: Verify,
}

impl SignatureVerificationAlgorithm for Algorithm {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        (self.verify)(public_key, message, signature).ok_or(InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.public_key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.signature.fmt(f)
    }
}
