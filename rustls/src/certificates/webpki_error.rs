//! Maps webpki's errors to this library's.

use alloc::sync::Arc;
use alloc::vec::Vec;

use webpki::{Error as WebPkiError, KeyUsage};

use crate::error::{
    CertRevocationListError, CertificateError, Error, ExtendedKeyPurpose, OtherError,
};

/// Maps an error from parsing or verifying a certificate, or a signature made with its key.
pub(crate) fn certificate_error(err: WebPkiError) -> Error {
    let cause = match err {
        WebPkiError::BadDer | WebPkiError::BadDerTime | WebPkiError::TrailingData(_) => {
            CertificateError::BadEncoding
        }
        WebPkiError::CertNotValidYet { time, not_before } => {
            CertificateError::NotValidYetContext { time, not_before }
        }
        WebPkiError::CertExpired { time, not_after } => {
            CertificateError::ExpiredContext { time, not_after }
        }
        WebPkiError::InvalidCertValidity => CertificateError::Expired,
        WebPkiError::UnknownIssuer => CertificateError::UnknownIssuer,
        WebPkiError::CertNotValidForName(context) => CertificateError::NotValidForNameContext {
            expected: context.expected,
            presented: context.presented,
        },
        WebPkiError::CertRevoked => CertificateError::Revoked,
        WebPkiError::UnknownRevocationStatus => CertificateError::UnknownRevocationStatus,
        WebPkiError::CrlExpired { time, next_update } => {
            CertificateError::ExpiredRevocationListContext { time, next_update }
        }
        WebPkiError::InvalidSignatureForPublicKey => CertificateError::BadSignature,
        WebPkiError::UnsupportedSignatureAlgorithmContext(context) => {
            CertificateError::UnsupportedSignatureAlgorithmContext {
                signature_algorithm_id: context.signature_algorithm_id,
                supported_algorithms: context.supported_algorithms,
            }
        }
        WebPkiError::UnsupportedSignatureAlgorithmForPublicKeyContext(context) => {
            CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
                signature_algorithm_id: context.signature_algorithm_id,
                public_key_algorithm_id: context.public_key_algorithm_id,
            }
        }
        WebPkiError::RequiredEkuNotFoundContext(context) => {
            CertificateError::InvalidPurposeContext {
                required: purpose(context.required.oid_values().collect()),
                presented: context.present.into_iter().map(purpose).collect(),
            }
        }
        // the revocation list is at fault, not the certificate
        WebPkiError::InvalidCrlSignatureForPublicKey
        | WebPkiError::IssuerNotCrlSigner
        | WebPkiError::UnsupportedCrlSignatureAlgorithmContext(_)
        | WebPkiError::UnsupportedCrlSignatureAlgorithmForPublicKeyContext(_) => {
            return crl_error(err).into();
        }
        _ => CertificateError::Other(other_error(err)),
    };
    cause.into()
}

/// Maps an error from parsing or using a revocation list.
pub(super) fn crl_error(err: WebPkiError) -> CertRevocationListError {
    match err {
        WebPkiError::BadDer | WebPkiError::BadDerTime | WebPkiError::MalformedExtensions => {
            CertRevocationListError::ParseError
        }
        WebPkiError::InvalidCrlSignatureForPublicKey => CertRevocationListError::BadSignature,
        WebPkiError::UnsupportedCrlSignatureAlgorithmContext(context) => {
            CertRevocationListError::UnsupportedSignatureAlgorithmContext {
                signature_algorithm_id: context.signature_algorithm_id,
                supported_algorithms: context.supported_algorithms,
            }
        }
        WebPkiError::UnsupportedCrlSignatureAlgorithmForPublicKeyContext(context) => {
            CertRevocationListError::UnsupportedSignatureAlgorithmForPublicKeyContext {
                signature_algorithm_id: context.signature_algorithm_id,
                public_key_algorithm_id: context.public_key_algorithm_id,
            }
        }
        WebPkiError::InvalidCrlNumber => CertRevocationListError::InvalidCrlNumber,
        WebPkiError::InvalidSerialNumber => CertRevocationListError::InvalidRevokedCertSerialNumber,
        WebPkiError::IssuerNotCrlSigner => CertRevocationListError::IssuerInvalidForCrl,
        WebPkiError::UnsupportedCriticalExtension => {
            CertRevocationListError::UnsupportedCriticalExtension
        }
        WebPkiError::UnsupportedCrlVersion => CertRevocationListError::UnsupportedCrlVersion,
        WebPkiError::UnsupportedDeltaCrl => CertRevocationListError::UnsupportedDeltaCrl,
        WebPkiError::UnsupportedIndirectCrl => CertRevocationListError::UnsupportedIndirectCrl,
        WebPkiError::UnsupportedRevocationReason => {
            CertRevocationListError::UnsupportedRevocationReason
        }
        _ => CertRevocationListError::Other(other_error(err)),
    }
}

/// Wraps an error of webpki that has no counterpart in this library.
#[cfg(feature = "std")]
fn other_error(err: WebPkiError) -> OtherError {
    OtherError(Arc::new(err))
}

/// Wraps an error of webpki that has no counterpart in this library. Without `std`, webpki's type
/// does not implement [`core::error::Error`].
#[cfg(not(feature = "std"))]
fn other_error(err: WebPkiError) -> OtherError {
    use core::fmt;

    #[derive(Debug)]
    struct Wrapper(WebPkiError);

    impl fmt::Display for Wrapper {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
    }

    impl core::error::Error for Wrapper {}

    OtherError(Arc::new(Wrapper(err)))
}

/// Returns the purpose with the object identifier `oid`.
fn purpose(oid: Vec<usize>) -> ExtendedKeyPurpose {
    match oid.as_slice() {
        KeyUsage::CLIENT_AUTH_REPR => ExtendedKeyPurpose::ClientAuth,
        KeyUsage::SERVER_AUTH_REPR => ExtendedKeyPurpose::ServerAuth,
        _ => ExtendedKeyPurpose::Other(oid),
    }
}
