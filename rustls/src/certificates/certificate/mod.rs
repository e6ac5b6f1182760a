//! What is in a certificate, read when it is asked for, and once.
//!
//! - [`Certificate`], here: which property lies where, and is kept how.
//! - [`frame`]: where fields and extensions begin and end.
//! - [`name`], [`alt_name`], [`public_key`], [`serial_number`], [`usage`], [`validity`], [`oid`]: the properties.
//! - [`error`]: what is said of one that cannot be read.
//!
//! The crate x509-cert, and der in it, reads the DER; its types are nowhere in the public API. Nothing here says
//! whether a certificate may be trusted: that is for a verifier to find out.

mod alt_name;
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
use pki_types::CertificateDer;
pub use public_key::{AlgorithmIdentifier, PublicKey};
pub use serial_number::SerialNumber;
use span::Span;
pub use usage::{BasicConstraints, ExtendedKeyUsages, KeyUsages};
pub use validity::{Time, Validity};

use super::fingerprint::{Fingerprint, sha256};
use super::once::Once;
use crate::crypto::CryptoProvider;
use crate::crypto::hash::Hash;
use crate::error::Error;

/// An X.509 certificate (RFC 5280), whose properties can be asked for.
///
/// To make one costs nothing but memory: each property is read when it is first asked for, and kept, whether it can
/// be read or not. A property that cannot be read leaves the others readable, and what asks for it gets the same
/// error each time. An extension that occurs twice cannot be read. A certificate can be asked from many threads.
///
/// That a property can be read does not say that it is true. The certificate of a peer was verified before
/// [`peer_identity`](crate::CommonState::peer_identity) offers it; of any other certificate, nothing is known.
///
/// ```
/// use rustls::certificates::{Certificate, PropertyError};
/// use rustls::pki_types::CertificateDer;
///
/// /// Whom a certificate is for, in one line.
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
    frame: Kept<Frame>,
    extensions: Kept<ExtensionIndex>,
    serial_number: Kept<SerialNumber>,
    signature_algorithm: Kept<AlgorithmIdentifier>,
    issuer: Kept<Name>,
    validity: Kept<Validity>,
    subject: Kept<Name>,
    public_key: Kept<PublicKey>,
    subject_alt_names: Kept<Box<[GeneralName]>>,
    key_usages: Kept<Option<KeyUsages>>,
    extended_key_usages: Kept<Option<ExtendedKeyUsages>>,
    basic_constraints: Kept<Option<BasicConstraints>>,
    fingerprint: Fingerprint,
    /// How often anything was read.
    #[cfg(test)]
    reads: AtomicUsize,
}

/// A property, or what is wrong with it, once it was asked for.
type Kept<T> = Once<Result<T, PropertyError>>;

impl Certificate {
    /// Takes a certificate as it is; nothing is read yet.
    pub fn new(der: CertificateDer<'static>) -> Self {
        Self {
            der,
            frame: Once::new(),
            extensions: Once::new(),
            serial_number: Once::new(),
            signature_algorithm: Once::new(),
            issuer: Once::new(),
            validity: Once::new(),
            subject: Once::new(),
            public_key: Once::new(),
            subject_alt_names: Once::new(),
            key_usages: Once::new(),
            extended_key_usages: Once::new(),
            basic_constraints: Once::new(),
            fingerprint: Fingerprint::default(),
            #[cfg(test)]
            reads: AtomicUsize::new(0),
        }
    }

    /// The whole certificate.
    pub fn der(&self) -> &CertificateDer<'static> {
        &self.der
    }

    /// Whom the certificate is for. It may be [empty](Name::is_empty); then
    /// [`subject_alt_names`](Self::subject_alt_names) tells.
    ///
    /// # Errors
    ///
    /// [`PropertyError`] when it, or the certificate as a whole, cannot be read.
    #[inline]
    pub fn subject(&self) -> Result<&Name, PropertyError> {
        let field = CertificateField::Subject;
        self.field(&self.subject, field, |frame| frame.subject, Name::read)
    }

    /// Who issued the certificate.
    ///
    /// # Errors
    ///
    /// [`PropertyError`] when it, or the certificate as a whole, cannot be read.
    #[inline]
    pub fn issuer(&self) -> Result<&Name, PropertyError> {
        let field = CertificateField::Issuer;
        self.field(&self.issuer, field, |frame| frame.issuer, Name::read)
    }

    /// The number that the issuer gave it.
    ///
    /// # Errors
    ///
    /// [`PropertyError`] when it, or the certificate as a whole, cannot be read.
    #[inline]
    pub fn serial_number(&self) -> Result<&SerialNumber, PropertyError> {
        self.field(
            &self.serial_number,
            CertificateField::SerialNumber,
            |frame| frame.serial_number,
            SerialNumber::read,
        )
    }

    /// From when to when it may be used.
    ///
    /// # Errors
    ///
    /// [`PropertyError`] when one of the times, or the certificate as a whole, cannot be read.
    #[inline]
    pub fn validity(&self) -> Result<Validity, PropertyError> {
        self.field(
            &self.validity,
            CertificateField::Validity,
            |frame| frame.validity,
            Validity::read,
        )
        .copied()
    }

    /// The public key that it certifies.
    ///
    /// # Errors
    ///
    /// [`PropertyError`] when it, or the certificate as a whole, cannot be read.
    #[inline]
    pub fn public_key(&self) -> Result<&PublicKey, PropertyError> {
        self.field(
            &self.public_key,
            CertificateField::SubjectPublicKeyInfo,
            |frame| frame.subject_public_key_info,
            PublicKey::read,
        )
    }

    /// The algorithm of the issuer's signature.
    ///
    /// # Errors
    ///
    /// [`PropertyError`] when it cannot be read, when the signed part names another one than stands beside the
    /// signature, or when the certificate as a whole cannot be read.
    #[inline]
    pub fn signature_algorithm(&self) -> Result<&AlgorithmIdentifier, PropertyError> {
        self.keep(
            &self.signature_algorithm,
            CertificateField::SignatureAlgorithm,
            || {
                let frame = self.frame()?;
                let [inner, outer] =
                    [frame.signature, frame.signature_algorithm].map(|span| span.of(&self.der));
                // RFC 5280 §4.1.1.2: both the same
                if inner != outer {
                    let rule = Malformed::Rule("another within the signed part");
                    return Err(rule.into());
                }
                Ok(AlgorithmIdentifier::read(outer)?)
            },
        )
    }

    /// The names in the extension subjectAltName, in its order. None when the certificate does not have it.
    ///
    /// # Errors
    ///
    /// [`PropertyError`] when a name, the list of extensions, or the certificate as a whole cannot be read.
    #[inline]
    pub fn subject_alt_names(&self) -> Result<&[GeneralName], PropertyError> {
        let field = CertificateField::SubjectAltName;
        let names = self.keep(&self.subject_alt_names, field, || {
            let names = self.read_extension(SUBJECT_ALT_NAME, GeneralName::read_all)?;
            Ok(names.unwrap_or_default())
        })?;
        Ok(names)
    }

    /// What its key may be used for. `None` when the certificate does not say, which restricts nothing.
    ///
    /// # Errors
    ///
    /// [`PropertyError`] when they, the list of extensions, or the certificate as a whole cannot be read.
    #[inline]
    pub fn key_usages(&self) -> Result<Option<KeyUsages>, PropertyError> {
        let field = CertificateField::KeyUsage;
        let read = || self.read_extension(KEY_USAGE, KeyUsages::read);
        self.keep(&self.key_usages, field, read).copied()
    }

    /// The purposes that it is for. `None` when the certificate does not say, which restricts nothing.
    ///
    /// # Errors
    ///
    /// [`PropertyError`] when they, the list of extensions, or the certificate as a whole cannot be read.
    #[inline]
    pub fn extended_key_usages(&self) -> Result<Option<&ExtendedKeyUsages>, PropertyError> {
        let field = CertificateField::ExtendedKeyUsage;
        let read = || self.read_extension(EXTENDED_KEY_USAGE, ExtendedKeyUsages::read);
        let usages = self.keep(&self.extended_key_usages, field, read)?;
        Ok(usages.as_ref())
    }

    /// Whether it is the certificate of an authority. `None` when it does not say: then it is not.
    ///
    /// # Errors
    ///
    /// [`PropertyError`] when they, the list of extensions, or the certificate as a whole cannot be read.
    #[inline]
    pub fn basic_constraints(&self) -> Result<Option<BasicConstraints>, PropertyError> {
        let field = CertificateField::BasicConstraints;
        let read = || self.read_extension(BASIC_CONSTRAINTS, BasicConstraints::read);
        self.keep(&self.basic_constraints, field, read).copied()
    }

    /// An extension by its object identifier, such as one that this type has no method for. Its value is for the
    /// caller to read. `None` when the certificate does not have it.
    ///
    /// It is not kept: each call searches the list of extensions.
    ///
    /// # Errors
    ///
    /// [`PropertyError`] when it occurs twice, or the list of extensions or the certificate as a whole cannot be
    /// read.
    pub fn extension(&self, oid: &Oid) -> Result<Option<Extension<'_>>, PropertyError> {
        let (index, der) = self.extensions()?;
        match index.find(oid.as_bytes(), der) {
            Ok(found) => Ok(found.map(|(is_critical, value)| Extension { is_critical, value })),
            Err(cause) => Err(PropertyError::new(CertificateField::Extension, cause)),
        }
    }

    /// The SHA-256 of the whole certificate, as `openssl x509 -fingerprint -sha256` shows it.
    ///
    /// The first time, `provider` makes it; from then on, it is kept.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when none of `provider`'s cipher suites uses SHA-256, which is where the hash comes from.
    pub fn sha256_fingerprint(&self, provider: &CryptoProvider) -> Result<&[u8; 32], Error> {
        self.fingerprint(|| sha256(provider))
    }

    /// The same, with the hash itself.
    pub(in crate::certificates) fn fingerprint(
        &self,
        hash: impl FnOnce() -> Option<&'static dyn Hash>,
    ) -> Result<&[u8; 32], Error> {
        self.fingerprint.of(&self.der, hash)
    }

    /// A field of the certificate, which is where `span` says, and is read by `read`.
    #[inline]
    fn field<'a, T>(
        &'a self,
        kept: &'a Kept<T>,
        field: CertificateField,
        span: impl FnOnce(&Frame) -> Span,
        read: impl FnOnce(&[u8]) -> Result<T, Malformed>,
    ) -> Result<&'a T, PropertyError> {
        self.keep(kept, field, || {
            let frame = self.frame()?;
            Ok(read(span(frame).of(&self.der))?)
        })
    }

    /// The value of an extension, read by `read`. `None` when the certificate does not have it.
    fn read_extension<T>(
        &self,
        oid: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Unreadable> {
        let (index, der) = self.extensions()?;
        let found = index.find(oid, der)?;
        Ok(found.map(|(_, value)| read(value)).transpose()?)
    }

    /// The index of all extensions, and the DER that it is one of.
    fn extensions(&self) -> Result<(&ExtensionIndex, &[u8]), PropertyError> {
        let frame = self.frame()?;
        let Some(span) = frame.extensions else {
            let empty = self.extensions.get_or_init(|| Ok(ExtensionIndex::empty()));
            return Ok((empty.as_ref().map_err(Clone::clone)?, &[]));
        };
        let der = span.of(&self.der);
        let index = self.keep(&self.extensions, CertificateField::Extensions, || {
            // RFC 5280 §4.1.2.9: only in version 3
            match frame.version.map(|version| version.of(&self.der)) {
                Some(VERSION_3) => Ok(ExtensionIndex::read(der)?),
                _ => Err(Unreadable::Within(PropertyError::new(
                    CertificateField::Version,
                    Malformed::Rule("extensions in a certificate that is not of version 3"),
                ))),
            }
        })?;
        Ok((index, der))
    }

    fn frame(&self) -> Result<&Frame, PropertyError> {
        let field = CertificateField::Certificate;
        self.keep(&self.frame, field, || Ok(Frame::read(&self.der)?))
    }

    /// What `kept` holds; if that is nothing, what `read` makes of the certificate.
    #[inline]
    fn keep<'a, T>(
        &'a self,
        kept: &'a Kept<T>,
        field: CertificateField,
        read: impl FnOnce() -> Result<T, Unreadable>,
    ) -> Result<&'a T, PropertyError> {
        match kept.get() {
            Some(Ok(value)) => Ok(value),
            _ => self.make(kept, field, read),
        }
    }

    /// The same, apart from it: so that what is held already takes no longer than it must.
    #[cold]
    #[inline(never)]
    fn make<'a, T>(
        &'a self,
        kept: &'a Kept<T>,
        field: CertificateField,
        read: impl FnOnce() -> Result<T, Unreadable>,
    ) -> Result<&'a T, PropertyError> {
        let made = kept.get_or_init(|| {
            #[cfg(test)]
            {
                self.reads.fetch_add(1, Ordering::Relaxed);
                super::reads::note();
            }
            read().map_err(|unreadable| match unreadable {
                Unreadable::Malformed(cause) => PropertyError::new(field, cause),
                Unreadable::Within(error) => error,
            })
        });
        made.as_ref().map_err(Clone::clone)
    }
}

/// Why a property cannot be read.
enum Unreadable {
    /// It is malformed.
    Malformed(Malformed),
    /// What it lies in is.
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
    /// Nothing is read for it: it tells the length.
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
    /// Whoever does not know it must refuse the certificate.
    pub is_critical: bool,
    /// Its value: usually DER.
    pub value: &'a [u8],
}

/// The INTEGER 2
const VERSION_3: &[u8] = &[2, 1, 2];

/// 2.5.29.15
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
/// 2.5.29.17
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
/// 2.5.29.19
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
/// 2.5.29.37
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];

#[cfg(test)]
mod tests;
