//! Certificate verification by rustls-webpki.
//!
//! [`RootCertStore`] holds the trust anchors. [`WebPkiServerVerifier`] and [`WebPkiClientVerifier`]
//! build a path from a certificate to one of them. Both use `chain`, which applies a `policy`;
//! `rules` identifies verifiers that accept the same chains; `signature` verifies handshake
//! signatures.
//!
//! webpki parses and verifies certificates. Other code of this crate parses only their validity
//! periods.

mod anchors;
mod chain;
mod client_verifier;
mod policy;
#[cfg(feature = "std")]
mod rules;
mod server_verifier;
mod signature;
#[cfg(all(test, feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]
pub(crate) mod tests;

use core::fmt;

pub use anchors::RootCertStore;
pub use chain::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
pub use client_verifier::{ClientCertVerifierBuilder, WebPkiClientVerifier};
pub use server_verifier::{ServerCertVerifierBuilder, WebPkiServerVerifier};
#[cfg(feature = "tls12")]
pub(crate) use signature::is_supported_in_tls12;
pub use signature::{
    verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};

pub use crate::certificates::parsed::ParsedCertificate;
use crate::error::CertRevocationListError;

/// The reason why a certificate verifier could not be built.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum VerifierBuilderError {
    /// The root store is empty, so no certificate could be trusted.
    NoRootAnchors,
    /// A certificate revocation list cannot be used, or `with_shared_crls` was called without
    /// lists.
    InvalidCrl(CertRevocationListError),
}

impl From<CertRevocationListError> for VerifierBuilderError {
    fn from(cause: CertRevocationListError) -> Self {
        Self::InvalidCrl(cause)
    }
}

impl fmt::Display for VerifierBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRootAnchors => f.write_str("no root trust anchors were provided"),
            Self::InvalidCrl(cause) => {
                write!(f, "provided CRL could not be parsed: {cause:?}")
            }
        }
    }
}

impl core::error::Error for VerifierBuilderError {}
