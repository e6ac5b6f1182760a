//! A certificate that webpki has parsed, but not yet verified.

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use webpki::EndEntityCert;

use super::webpki_error::certificate_error;
use crate::error::Error;

/// An end-entity certificate that was parsed, but not verified.
///
/// Custom verifiers pass it to `verify_server_name` and `verify_server_cert_signed_by_trust_anchor`
/// in [`rustls::client`](crate::client).
pub struct ParsedCertificate<'a>(EndEntityCert<'a>);

impl<'a> ParsedCertificate<'a> {
    /// Returns the public key, as a DER-encoded `SubjectPublicKeyInfo`.
    pub fn subject_public_key_info(&self) -> SubjectPublicKeyInfoDer<'static> {
        self.0.subject_public_key_info()
    }

    /// Returns the certificate as webpki uses it.
    pub(crate) fn webpki(&self) -> &EndEntityCert<'a> {
        &self.0
    }
}

impl<'a> TryFrom<&'a CertificateDer<'a>> for ParsedCertificate<'a> {
    type Error = Error;

    /// # Errors
    ///
    /// Returns [`Error::InvalidCertificate`] if the certificate cannot be parsed.
    fn try_from(cert: &'a CertificateDer<'a>) -> Result<Self, Self::Error> {
        #[cfg(test)]
        super::reads::count_one();
        EndEntityCert::try_from(cert)
            .map(Self)
            .map_err(certificate_error)
    }
}
