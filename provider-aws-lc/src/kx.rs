//! Key exchange: elliptic curves, ML-KEM, and hybrids of both.

use aws_lc_rs::agreement;
use rustls_core::blocks::{Curve, EcdhGroup};
use rustls_core::crypto::SupportedKxGroup;
use rustls_core::enums::NamedGroup;

use self::ecdh::AwsLcCurve;
use self::hybrid::{First, Hybrid};
use self::mlkem::MlKem;

mod ecdh;
mod hybrid;
mod mlkem;

/// X25519 (RFC 7748).
pub static X25519: &dyn SupportedKxGroup = &X25519_GROUP;

/// The NIST curve P-256.
pub static SECP256R1: &dyn SupportedKxGroup = &SECP256R1_GROUP;

/// The NIST curve P-384.
pub static SECP384R1: &dyn SupportedKxGroup = &SECP384R1_GROUP;

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

const X25519_GROUP: EcdhGroup<AwsLcCurve> =
    EcdhGroup(AwsLcCurve(Curve::X25519, &agreement::X25519));

const SECP256R1_GROUP: EcdhGroup<AwsLcCurve> =
    EcdhGroup(AwsLcCurve(Curve::Secp256r1, &agreement::ECDH_P256));

const SECP384R1_GROUP: EcdhGroup<AwsLcCurve> =
    EcdhGroup(AwsLcCurve(Curve::Secp384r1, &agreement::ECDH_P384));
