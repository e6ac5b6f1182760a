//! Verification of signatures: the entries of `SUPPORTED_SIG_ALGS` that are the same over both
//! libraries.
//!
//! The algorithms themselves are rustls-webpki's, which offers them once for each library.

use pki_types::SignatureVerificationAlgorithm;
use rustls_core::enums::SignatureScheme;

use crate::backend::webpki_algs;

/// What verifies one signature scheme of TLS.
pub(crate) type Entry = (
    SignatureScheme,
    &'static [&'static dyn SignatureVerificationAlgorithm],
);

pub(crate) static ED25519: Entry = (SignatureScheme::ED25519, &[webpki_algs::ED25519]);

pub(crate) static RSA_PSS_SHA512: Entry = (
    SignatureScheme::RSA_PSS_SHA512,
    &[webpki_algs::RSA_PSS_2048_8192_SHA512_LEGACY_KEY],
);

pub(crate) static RSA_PSS_SHA384: Entry = (
    SignatureScheme::RSA_PSS_SHA384,
    &[webpki_algs::RSA_PSS_2048_8192_SHA384_LEGACY_KEY],
);

pub(crate) static RSA_PSS_SHA256: Entry = (
    SignatureScheme::RSA_PSS_SHA256,
    &[webpki_algs::RSA_PSS_2048_8192_SHA256_LEGACY_KEY],
);

pub(crate) static RSA_PKCS1_SHA512: Entry = (
    SignatureScheme::RSA_PKCS1_SHA512,
    &[webpki_algs::RSA_PKCS1_2048_8192_SHA512],
);

pub(crate) static RSA_PKCS1_SHA384: Entry = (
    SignatureScheme::RSA_PKCS1_SHA384,
    &[webpki_algs::RSA_PKCS1_2048_8192_SHA384],
);

pub(crate) static RSA_PKCS1_SHA256: Entry = (
    SignatureScheme::RSA_PKCS1_SHA256,
    &[webpki_algs::RSA_PKCS1_2048_8192_SHA256],
);
