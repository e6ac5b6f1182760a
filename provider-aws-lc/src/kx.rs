//! Key exchange: elliptic curves, ML-KEM, and hybrids of both.

use aws_lc_rs::{agreement, kem};
use rustls_core::blocks::{Curve, EcdhGroup, HybridGroup, KemGroup, KemParameters};
use rustls_core::crypto::SupportedKxGroup;

use self::ecdh::AwsLcCurve;
use self::mlkem::AwsLcKem;

mod ecdh;
mod mlkem;

/// X25519 (RFC 7748).
pub static X25519: &dyn SupportedKxGroup = &X25519_GROUP;

/// The NIST curve P-256.
pub static SECP256R1: &dyn SupportedKxGroup = &SECP256R1_GROUP;

/// The NIST curve P-384.
pub static SECP384R1: &dyn SupportedKxGroup = &SECP384R1_GROUP;

/// ML-KEM-768 alone (draft-ietf-tls-mlkem).
pub static MLKEM768: &dyn SupportedKxGroup = &MLKEM768_GROUP;

/// ML-KEM-1024 alone (draft-ietf-tls-mlkem).
pub static MLKEM1024: &dyn SupportedKxGroup =
    &KemGroup(AwsLcKem(KemParameters::MlKem1024, &kem::ML_KEM_1024));

/// X25519 together with ML-KEM-768 (draft-ietf-tls-ecdhe-mlkem).
pub static X25519MLKEM768: &dyn SupportedKxGroup =
    &HybridGroup::x25519_mlkem768(X25519_GROUP, MLKEM768_GROUP);

/// P-256 together with ML-KEM-768 (draft-ietf-tls-ecdhe-mlkem).
pub static SECP256R1MLKEM768: &dyn SupportedKxGroup =
    &HybridGroup::secp256r1_mlkem768(SECP256R1_GROUP, MLKEM768_GROUP);

const X25519_GROUP: EcdhGroup<AwsLcCurve> =
    EcdhGroup(AwsLcCurve(Curve::X25519, &agreement::X25519));

const SECP256R1_GROUP: EcdhGroup<AwsLcCurve> =
    EcdhGroup(AwsLcCurve(Curve::Secp256r1, &agreement::ECDH_P256));

const SECP384R1_GROUP: EcdhGroup<AwsLcCurve> =
    EcdhGroup(AwsLcCurve(Curve::Secp384r1, &agreement::ECDH_P384));

const MLKEM768_GROUP: KemGroup<AwsLcKem> =
    KemGroup(AwsLcKem(KemParameters::MlKem768, &kem::ML_KEM_768));
