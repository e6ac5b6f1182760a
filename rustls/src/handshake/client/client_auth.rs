//! The choice of the client's certificate for a CertificateRequest (RFC 9846 §4.4.2, RFC 5246
//! §7.4.4), in either version.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::config::sign::{CertifiedKey, Signer};
use crate::enums::SignatureScheme;
use crate::logging::debug;

/// The certificate that the client sends after a CertificateRequest.
pub(crate) enum CertificateChoice {
    /// A certificate, and the signer with its key.
    Certificate(Arc<CertifiedKey>, Box<dyn Signer>),
    /// A Certificate message without a certificate.
    Empty,
}

impl CertificateChoice {
    /// Takes the certificate that the resolver returned, if its chain is not empty and its key can
    /// sign with one of the requested `schemes`. Otherwise, the client sends an empty Certificate.
    pub(crate) fn new(resolved: Option<Arc<CertifiedKey>>, schemes: &[SignatureScheme]) -> Self {
        // RFC 9846 §4.5.2: no CertificateVerify follows an empty Certificate
        let certified_key = resolved.filter(|certified_key| !certified_key.cert.is_empty());
        // RFC 9846 §4.5.2: the request must name the scheme
        let signed = certified_key.and_then(|certified_key| {
            let signer = certified_key.key.choose_scheme(schemes)?;
            Some((certified_key, signer))
        });
        match signed {
            Some((certified_key, signer)) => {
                debug!("client authentication with a certificate");
                Self::Certificate(certified_key, signer)
            }
            None => {
                debug!("client authentication: requested, but there is no matching certificate");
                Self::Empty
            }
        }
    }
}
