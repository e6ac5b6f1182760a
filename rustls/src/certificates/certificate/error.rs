//! The error of a property that cannot be parsed.

use alloc::sync::Arc;
use core::fmt;

use x509_cert::der;

use crate::error::{CertificateError, Error, OtherError};

/// The error returned if a property of a certificate cannot be parsed.
///
/// Other properties are not affected, unless [`field`](Self::field) contains them or determines
/// them: the certificate itself, the list of extensions, or the version, which must be 3 if there
/// are extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyError {
    field: CertificateField,
    cause: Malformed,
}

impl PropertyError {
    pub(super) fn new(field: CertificateField, cause: Malformed) -> Self {
        Self { field, cause }
    }

    /// Returns the malformed field.
    pub fn field(&self) -> CertificateField {
        self.field
    }
}

impl fmt::Display for PropertyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed {}: {}", self.field, self.cause)
    }
}

impl core::error::Error for PropertyError {}

/// Converts to [`Error::InvalidCertificate`] with a [`CertificateError::Other`].
impl From<PropertyError> for Error {
    fn from(error: PropertyError) -> Self {
        Self::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(error))))
    }
}

/// A part of a certificate, named as in RFC 5280 §4.1 and §4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CertificateField {
    /// The certificate as a whole: the boundaries of its fields.
    Certificate,
    /// The field `version`.
    Version,
    /// The field `serialNumber`.
    SerialNumber,
    /// `signatureAlgorithm`, and `signature` in the signed part, which must be equal.
    SignatureAlgorithm,
    /// The field `issuer`.
    Issuer,
    /// The field `validity`.
    Validity,
    /// The field `subject`.
    Subject,
    /// The field `subjectPublicKeyInfo`.
    SubjectPublicKeyInfo,
    /// `extensions`: the whole list.
    Extensions,
    /// The extension `subjectAltName`.
    SubjectAltName,
    /// The extension `keyUsage`.
    KeyUsage,
    /// The extension `extKeyUsage`.
    ExtendedKeyUsage,
    /// The extension `basicConstraints`.
    BasicConstraints,
    /// An extension requested by object identifier.
    Extension,
}

impl fmt::Display for CertificateField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificate => "certificate",
            Self::Version => "version",
            Self::SerialNumber => "serial number",
            Self::SignatureAlgorithm => "signature algorithm",
            Self::Issuer => "issuer",
            Self::Validity => "validity",
            Self::Subject => "subject",
            Self::SubjectPublicKeyInfo => "subject public key info",
            Self::Extensions => "list of extensions",
            Self::SubjectAltName => "subject alternative name",
            Self::KeyUsage => "key usage",
            Self::ExtendedKeyUsage => "extended key usage",
            Self::BasicConstraints => "basic constraints",
            Self::Extension => "extension",
        })
    }
}

/// The reason why bytes are malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// The bytes are not the expected DER. Positions count from the start of the field.
    Der(der::Error),
    /// The bytes violate this rule.
    Rule(&'static str),
}

impl From<der::Error> for Malformed {
    fn from(error: der::Error) -> Self {
        Self::Der(error)
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Der(error) => error.fmt(f),
            Self::Rule(rule) => f.write_str(rule),
        }
    }
}
