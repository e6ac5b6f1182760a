//! The properties of a certificate, each parsed once, on demand.
//!
//! - [`Certificate`], here: the properties, their positions and their cache.
//! - [`frame`]: the boundaries of fields and extensions; [`element`]: those of any element;
//!   [`span`]: a range of bytes.
//! - [`name`], [`alt_name`], [`public_key`], [`serial_number`], [`usage`], [`validity`], [`oid`]:
//!   the types of the properties.
//! - [`error`]: the error of a property that cannot be parsed.
//!
//! The crate `der`, re-exported by x509-cert, parses most of the DER; its types are not in the
//! public API. Nothing here decides whether a certificate can be trusted: that is the task of a
//! verifier.

mod alt_name;
mod element;
mod error;
mod frame;
mod name;
mod oid;
mod public_key;
mod serial_number;
mod span;
mod usage;
mod validity;

use alloc::boxed::Box;
use core::fmt;
#[cfg(test)]
use core::sync::atomic::{AtomicUsize, Ordering};

pub use alt_name::GeneralName;
use error::Malformed;
pub use error::{CertificateField, PropertyError};
use frame::{ExtensionIndex, Frame};
pub use name::{Attribute, Name};
pub use oid::{InvalidOid, Oid};
use once_cell::race::OnceBox;
use pki_types::CertificateDer;
pub use public_key::{AlgorithmIdentifier, PublicKey};
use rustls_core::crypto::hash::Hash;
use rustls_core::provider::CryptoProvider;
pub use serial_number::SerialNumber;
use span::Span;
pub use usage::{BasicConstraints, ExtendedKeyUsages, KeyUsages};
pub use validity::{Time, Validity};

use super::fingerprint::{Fingerprint, sha256};
use super::once::Once;
use crate::error::Error;

/// An X.509 certificate (RFC 5280) with its properties.
///
/// Creating one parses nothing. Each property is parsed on first use, and the value or the error is
/// cached. A property that cannot be parsed does not affect the others. In a list of names, an
/// entry with a malformed value does not affect the others. It is a [`GeneralName::Other`], or an
/// attribute without [text](Attribute::text). An extension that occurs twice is an error. Many
/// threads may query a certificate at once.
///
/// A property that can be parsed is not necessarily true. The certificate in
/// [`peer_identity`](crate::CommonState::peer_identity) has been verified; other certificates may
/// not have been.
///
/// ```
/// use rustls::certificates::{Certificate, PropertyError};
/// use rustls::pki_types::CertificateDer;
///
/// /// Describes a certificate in one line.
/// fn describe(certificate: CertificateDer<'static>) -> Result<String, PropertyError> {
///     let certificate = Certificate::new(certificate);
///     let until = certificate.validity()?.not_after;
///     Ok(format!("{}, until {until}", certificate.subject()?))
/// }
///
/// let error = describe(CertificateDer::from(vec![1, 2, 3])).unwrap_err();
/// assert!(error.to_string().starts_with("malformed certificate"));
/// ```
pub struct Certificate {
    der: CertificateDer<'static>,
    /// Boxed on first use, so that a certificate occupies little memory while its properties are
    /// not needed, or only weak references are left.
    properties: OnceBox<Properties>,
}

/// The properties of a certificate.
#[derive(Default)]
struct Properties {
    frame: Parsed<Frame>,
    extensions: Parsed<ExtensionIndex>,
    serial_number: Parsed<SerialNumber>,
    signature_algorithm: Parsed<AlgorithmIdentifier>,
    issuer: Parsed<Name>,
    validity: Parsed<Validity>,
    subject: Parsed<Name>,
    public_key: Parsed<PublicKey>,
    subject_alt_names: Parsed<Box<[GeneralName]>>,
    key_usages: Parsed<Option<KeyUsages>>,
    extended_key_usages: Parsed<Option<ExtendedKeyUsages>>,
    basic_constraints: Parsed<Option<BasicConstraints>>,
    fingerprint: Fingerprint,
    /// The number of calls that parsed something.
    #[cfg(test)]
    reads: AtomicUsize,
}

/// A property or its error, once parsed.
type Parsed<T> = Once<Result<T, PropertyError>>;

impl Certificate {
    /// Wraps a certificate without parsing it.
    pub fn new(der: CertificateDer<'static>) -> Self {
        Self {
            der,
            properties: OnceBox::new(),
        }
    }

    /// Returns the whole certificate.
    pub fn der(&self) -> &CertificateDer<'static> {
        &self.der
    }

    /// Returns the subject of the certificate. It may be [empty](Name::is_empty) if the names are
    /// in [`subject_alt_names`](Self::subject_alt_names).
    ///
    /// # Errors
    ///
    /// Returns [`PropertyError`] if the subject is not a list of attributes, or if the certificate
    /// as a whole cannot be parsed. The contents of an attribute's value are never an error.
    #[inline]
    pub fn subject(&self) -> Result<&Name, PropertyError> {
        let field = CertificateField::Subject;
        self.field(
            &self.properties().subject,
            field,
            |frame| frame.subject,
            Name::read,
        )
    }

    /// Returns the issuer of the certificate.
    ///
    /// # Errors
    ///
    /// Returns [`PropertyError`] if the issuer is not a list of attributes, or if the certificate
    /// as a whole cannot be parsed. The contents of an attribute's value are never an error.
    #[inline]
    pub fn issuer(&self) -> Result<&Name, PropertyError> {
        let field = CertificateField::Issuer;
        self.field(
            &self.properties().issuer,
            field,
            |frame| frame.issuer,
            Name::read,
        )
    }

    /// Returns the number that the issuer assigned.
    ///
    /// # Errors
    ///
    /// Returns [`PropertyError`] if the number, or the certificate as a whole, cannot be parsed.
    #[inline]
    pub fn serial_number(&self) -> Result<&SerialNumber, PropertyError> {
        self.field(
            &self.properties().serial_number,
            CertificateField::SerialNumber,
            |frame| frame.serial_number,
            SerialNumber::read,
        )
    }

    /// Returns the period in which the certificate is valid.
    ///
    /// # Errors
    ///
    /// Returns [`PropertyError`] if one of the times, or the certificate as a whole, cannot be
    /// parsed.
    #[inline]
    pub fn validity(&self) -> Result<Validity, PropertyError> {
        self.field(
            &self.properties().validity,
            CertificateField::Validity,
            |frame| frame.validity,
            Validity::read,
        )
        .copied()
    }

    /// Returns the certified public key.
    ///
    /// # Errors
    ///
    /// Returns [`PropertyError`] if the key, or the certificate as a whole, cannot be parsed.
    #[inline]
    pub fn public_key(&self) -> Result<&PublicKey, PropertyError> {
        self.field(
            &self.properties().public_key,
            CertificateField::SubjectPublicKeyInfo,
            |frame| frame.subject_public_key_info,
            PublicKey::read,
        )
    }

    /// Returns the algorithm of the issuer's signature.
    ///
    /// # Errors
    ///
    /// Returns [`PropertyError`] if the algorithm, or the certificate as a whole, cannot be parsed,
    /// or if the signed part names a different algorithm.
    #[inline]
    pub fn signature_algorithm(&self) -> Result<&AlgorithmIdentifier, PropertyError> {
        self.keep(
            &self.properties().signature_algorithm,
            CertificateField::SignatureAlgorithm,
            || {
                let frame = self.frame()?;
                let [inner, outer] =
                    [frame.signature, frame.signature_algorithm].map(|span| span.of(&self.der));
                // RFC 5280 §4.1.1.2: both must be equal
                if inner != outer {
                    let rule = Malformed::Rule("another within the signed part");
                    return Err(rule.into());
                }
                Ok(AlgorithmIdentifier::read(outer)?)
            },
        )
    }

    /// Returns the names in the extension subjectAltName, in order. The list is empty if the
    /// certificate does not have the extension. A name that fits no other variant is a
    /// [`GeneralName::Other`].
    ///
    /// # Errors
    ///
    /// Returns [`PropertyError`] if the extension occurs twice or is not a list of one name or
    /// more, if the list of extensions or the certificate as a whole cannot be parsed, or if the
    /// certificate has extensions but is not of version 3.
    #[inline]
    pub fn subject_alt_names(&self) -> Result<&[GeneralName], PropertyError> {
        let field = CertificateField::SubjectAltName;
        let names = self.keep(&self.properties().subject_alt_names, field, || {
            let names = self.read_extension(SUBJECT_ALT_NAME, GeneralName::read_all)?;
            Ok(names.unwrap_or_default())
        })?;
        Ok(names)
    }

    /// Returns the permitted uses of the key. Returns `None`, which means no restriction, if the
    /// certificate does not have the extension.
    ///
    /// # Errors
    ///
    /// Returns [`PropertyError`] if the extension occurs twice, if the extension, the list of
    /// extensions or the certificate as a whole cannot be parsed, or if the certificate has
    /// extensions but is not of version 3.
    #[inline]
    pub fn key_usages(&self) -> Result<Option<KeyUsages>, PropertyError> {
        let field = CertificateField::KeyUsage;
        let read = || self.read_extension(KEY_USAGE, KeyUsages::read);
        self.keep(&self.properties().key_usages, field, read)
            .copied()
    }

    /// Returns the permitted purposes of the certificate. Returns `None`, which means no
    /// restriction, if the certificate does not have the extension.
    ///
    /// # Errors
    ///
    /// Returns [`PropertyError`] if the extension occurs twice, if the extension, the list of
    /// extensions or the certificate as a whole cannot be parsed, or if the certificate has
    /// extensions but is not of version 3.
    #[inline]
    pub fn extended_key_usages(&self) -> Result<Option<&ExtendedKeyUsages>, PropertyError> {
        let field = CertificateField::ExtendedKeyUsage;
        let read = || self.read_extension(EXTENDED_KEY_USAGE, ExtendedKeyUsages::read);
        let usages = self.keep(&self.properties().extended_key_usages, field, read)?;
        Ok(usages.as_ref())
    }

    /// Returns the basic constraints, which state whether the certificate belongs to a CA. Returns
    /// `None` if the certificate does not have the extension: it does not belong to a CA, or is not
    /// of version 3.
    ///
    /// # Errors
    ///
    /// Returns [`PropertyError`] if the extension occurs twice, if the extension, the list of
    /// extensions or the certificate as a whole cannot be parsed, or if the certificate has
    /// extensions but is not of version 3.
    #[inline]
    pub fn basic_constraints(&self) -> Result<Option<BasicConstraints>, PropertyError> {
        let field = CertificateField::BasicConstraints;
        let read = || self.read_extension(BASIC_CONSTRAINTS, BasicConstraints::read);
        self.keep(&self.properties().basic_constraints, field, read)
            .copied()
    }

    /// Returns the extension with this object identifier. Use it for extensions without a method of
    /// their own. The value is not parsed. Returns `None` if the certificate does not have the
    /// extension.
    ///
    /// The result is not cached: each call searches the list of extensions.
    ///
    /// # Errors
    ///
    /// Returns [`PropertyError`] if the extension occurs twice, if the list of extensions or the
    /// certificate as a whole cannot be parsed, or if the certificate has extensions but is not of
    /// version 3.
    pub fn extension(&self, oid: &Oid) -> Result<Option<Extension<'_>>, PropertyError> {
        let (index, der) = self.extensions()?;
        match index.find(oid.as_bytes(), der) {
            Ok(found) => Ok(found.map(|(is_critical, value)| Extension { is_critical, value })),
            Err(cause) => Err(PropertyError::new(CertificateField::Extension, cause)),
        }
    }

    /// Returns the SHA-256 of the whole certificate, like `openssl x509 -fingerprint -sha256`.
    ///
    /// If it is not cached, computes it with `provider`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if it is not cached, and `provider` cannot compute it: no cipher
    /// suite uses SHA-256, or the provider's SHA-256 returns wrong results.
    pub fn sha256_fingerprint(&self, provider: &CryptoProvider) -> Result<&[u8; 32], Error> {
        self.fingerprint(|| sha256(provider))
    }

    /// Returns the SHA-256 of the whole certificate. If it is not cached, computes it with the
    /// function that `hash` returns.
    pub(in crate::certificates) fn fingerprint(
        &self,
        hash: impl FnOnce() -> Option<&'static dyn Hash>,
    ) -> Result<&[u8; 32], Error> {
        self.properties().fingerprint.of(&self.der, hash)
    }

    /// Returns the field at `span`, parsed by `read`.
    #[inline]
    fn field<'a, T>(
        &'a self,
        property: &'a Parsed<T>,
        field: CertificateField,
        span: impl FnOnce(&Frame) -> Span,
        read: impl FnOnce(&[u8]) -> Result<T, Malformed>,
    ) -> Result<&'a T, PropertyError> {
        self.keep(property, field, || {
            let frame = self.frame()?;
            Ok(read(span(frame).of(&self.der))?)
        })
    }

    /// Returns the value of an extension, parsed by `read`, or `None` if the certificate does not
    /// have it.
    fn read_extension<T>(
        &self,
        oid: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Unreadable> {
        let (index, der) = self.extensions()?;
        let found = index.find(oid, der)?;
        Ok(found.map(|(_, value)| read(value)).transpose()?)
    }

    /// Returns the index of all extensions, and their DER.
    fn extensions(&self) -> Result<(&ExtensionIndex, &[u8]), PropertyError> {
        let frame = self.frame()?;
        let Some(span) = frame.extensions else {
            let extensions = &self.properties().extensions;
            let empty = extensions.get_or_init(|| Ok(ExtensionIndex::empty()));
            return Ok((empty.as_ref().map_err(Clone::clone)?, &[]));
        };
        let der = span.of(&self.der);
        let index = self.keep(
            &self.properties().extensions,
            CertificateField::Extensions,
            || {
                // RFC 5280 §4.1.2.9: only in version 3
                match frame.version.map(|version| version.of(&self.der)) {
                    Some(VERSION_3) => Ok(ExtensionIndex::read(der)?),
                    _ => Err(Unreadable::Within(PropertyError::new(
                        CertificateField::Version,
                        Malformed::Rule("extensions in a certificate that is not of version 3"),
                    ))),
                }
            },
        )?;
        Ok((index, der))
    }

    /// Returns the properties that have been parsed so far.
    #[inline]
    fn properties(&self) -> &Properties {
        self.properties.get_or_init(Box::default)
    }

    fn frame(&self) -> Result<&Frame, PropertyError> {
        let field = CertificateField::Certificate;
        self.keep(&self.properties().frame, field, || {
            Ok(Frame::read(&self.der)?)
        })
    }

    /// Returns the value in `property`, which `read` parses if necessary.
    #[inline]
    fn keep<'a, T>(
        &'a self,
        property: &'a Parsed<T>,
        field: CertificateField,
        read: impl FnOnce() -> Result<T, Unreadable>,
    ) -> Result<&'a T, PropertyError> {
        match property.get() {
            Some(Ok(value)) => Ok(value),
            _ => self.make(property, field, read),
        }
    }

    /// Implements the slow path of `keep`, separate so that the fast path stays small.
    #[cold]
    #[inline(never)]
    fn make<'a, T>(
        &'a self,
        property: &'a Parsed<T>,
        field: CertificateField,
        read: impl FnOnce() -> Result<T, Unreadable>,
    ) -> Result<&'a T, PropertyError> {
        let made = property.get_or_init(|| {
            #[cfg(test)]
            {
                self.properties().reads.fetch_add(1, Ordering::Relaxed);
                super::reads::count_one();
            }
            read().map_err(|unreadable| match unreadable {
                Unreadable::Malformed(cause) => PropertyError::new(field, cause),
                Unreadable::Within(error) => error,
            })
        });
        made.as_ref().map_err(Clone::clone)
    }
}

/// The reason why a property cannot be parsed.
enum Unreadable {
    /// The property itself is malformed.
    Malformed(Malformed),
    /// The structure around it is malformed.
    Within(PropertyError),
}

impl From<Malformed> for Unreadable {
    fn from(cause: Malformed) -> Self {
        Self::Malformed(cause)
    }
}

impl From<PropertyError> for Unreadable {
    fn from(error: PropertyError) -> Self {
        Self::Within(error)
    }
}

impl fmt::Debug for Certificate {
    /// Prints only the length, so that nothing is parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("der_len", &self.der.len())
            .finish_non_exhaustive()
    }
}

impl PartialEq for Certificate {
    fn eq(&self, other: &Self) -> bool {
        self.der == other.der
    }
}

impl Eq for Certificate {}

/// An extension of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extension<'a> {
    /// True if software must reject the certificate when it does not know this extension.
    pub is_critical: bool,
    /// The value, usually in DER.
    pub value: &'a [u8],
}

/// The DER of the version number of version 3: the INTEGER 2.
const VERSION_3: &[u8] = &[2, 1, 2];

/// The contents of the object identifier 2.5.29.15.
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
/// The contents of the object identifier 2.5.29.17.
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
/// The contents of the object identifier 2.5.29.19.
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
/// The contents of the object identifier 2.5.29.37.
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];

#[cfg(test)]
mod tests;
