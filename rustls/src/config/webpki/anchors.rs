//! The trust anchors, where every certificate path must end.

use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use pki_types::{CertificateDer, TrustAnchor};

use crate::certificates::certificate_error;
use crate::error::Error;
use crate::logging::debug;
use crate::msgs::certificate_request::DistinguishedName;

/// The root certificates that are trusted to issue other certificates.
///
/// Only the name, the public key and the name constraints of each certificate are stored. Nothing
/// checks whether it is self-signed, expired or allowed to issue certificates (RFC 5280 §6.2).
#[derive(Clone)]
pub struct RootCertStore {
    /// The roots. Nothing but memory limits their number.
    pub roots: Vec<TrustAnchor<'static>>,
}

impl RootCertStore {
    /// Creates an empty store, which trusts nobody.
    pub fn empty() -> Self {
        Self { roots: Vec::new() }
    }

    /// Trusts `der` as a root.
    ///
    /// Prefer [`add_parsable_certificates`](Self::add_parsable_certificates) for the certificates
    /// in a system's trust store, because some of them may be unsupported.
    ///
    /// # Errors
    ///
    /// Returns [`Error::InvalidCertificate`] if `der` cannot be parsed.
    pub fn add(&mut self, der: CertificateDer<'_>) -> Result<(), Error> {
        let anchor = webpki::anchor_from_trusted_cert(&der).map_err(certificate_error)?;
        self.roots.push(anchor.to_owned());
        Ok(())
    }

    /// Trusts each certificate in `der_certs` that can be parsed, and skips the others.
    ///
    /// Returns the number of certificates added and the number skipped.
    pub fn add_parsable_certificates<'a>(
        &mut self,
        der_certs: impl IntoIterator<Item = CertificateDer<'a>>,
    ) -> (usize, usize) {
        let (mut added, mut ignored) = (0, 0);
        for der in der_certs {
            match self.add(der) {
                Ok(()) => added += 1,
                Err(_) => ignored += 1,
            }
        }

        debug!("root certificates: {added} added, {ignored} ignored");
        (added, ignored)
    }

    /// Returns the names of the roots, in the order of [`roots`](Self::roots).
    ///
    /// A server sends them as hints.
    pub fn subjects(&self) -> Vec<DistinguishedName> {
        self.roots
            .iter()
            .map(|root| DistinguishedName::in_sequence(root.subject.as_ref()))
            .collect()
    }

    /// True if the store has no roots, and so trusts nobody.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// Returns the number of roots.
    pub fn len(&self) -> usize {
        self.roots.len()
    }
}

impl FromIterator<TrustAnchor<'static>> for RootCertStore {
    fn from_iter<T: IntoIterator<Item = TrustAnchor<'static>>>(roots: T) -> Self {
        Self {
            roots: roots.into_iter().collect(),
        }
    }
}

impl Extend<TrustAnchor<'static>> for RootCertStore {
    fn extend<T: IntoIterator<Item = TrustAnchor<'static>>>(&mut self, roots: T) {
        self.roots.extend(roots);
    }
}

impl fmt::Debug for RootCertStore {
    /// Prints only the number of roots, because a system's trust store has over a hundred.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // a string, as applications know it from rustls 0.23
        let roots = format!("({} roots)", self.len());
        let mut fields = f.debug_struct("RootCertStore");
        fields.field("roots", &roots).finish()
    }
}
