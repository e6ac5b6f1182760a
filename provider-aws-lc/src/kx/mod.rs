//! Post-quantum key exchange: ML-KEM, and its hybrids with an elliptic curve.

use rustls_core::crypto::SupportedKxGroup;
use rustls_core::enums::NamedGroup;

use self::hybrid::{First, Hybrid};
use self::mlkem::MlKem;
use crate::shared::kx::{SECP256R1_GROUP, X25519_GROUP};

mod hybrid;
mod mlkem;

/// ML-KEM-768 alone (draft-ietf-tls-mlkem).
pub static MLKEM768: &dyn SupportedKxGroup = &MlKem::MLKEM768;

/// ML-KEM-1024 alone (draft-ietf-tls-mlkem).
pub static MLKEM1024: &dyn SupportedKxGroup = &MlKem::MLKEM1024;

/// X25519 together with ML-KEM-768 (draft-ietf-tls-ecdhe-mlkem).
pub static X25519MLKEM768: &dyn SupportedKxGroup = &Hybrid {
    name: NamedGroup::X25519MLKEM768,
    classical: X25519_GROUP,
    post_quantum: MlKem::MLKEM768,
    first: First::PostQuantum,
};

/// P-256 together with ML-KEM-768 (draft-ietf-tls-ecdhe-mlkem).
pub static SECP256R1MLKEM768: &dyn SupportedKxGroup = &Hybrid {
    name: NamedGroup::secp256r1MLKEM768,
    classical: SECP256R1_GROUP,
    post_quantum: MlKem::MLKEM768,
    first: First::Classical,
};
