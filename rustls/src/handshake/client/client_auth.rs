//! The choice of the client's certificate for a CertificateRequest (RFC 9846 §4.4.2, RFC 5246
//! §7.4.4), in either version.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::callbacks::Callbacks;
use crate::config::resolver::client::ResolvesClientCert;
use crate::config::sign::{CertifiedKey, Signer};
use crate::enums::SignatureScheme;
use crate::logging::debug;
use crate::msgs::certificate_request::DistinguishedName;

/// The certificate that the client sends after a CertificateRequest.
pub(crate) enum CertificateChoice {
    /// A certificate, and the signer with its key.
    Certificate(Arc<CertifiedKey>, Box<dyn Signer>),
    /// A Certificate message without a certificate.
    Empty,
}

impl CertificateChoice {
    /// Asks `resolver` about a request with these `authorities` and `schemes`.
    pub(crate) async fn by(
        resolver: &dyn ResolvesClientCert,
        authorities: &[DistinguishedName],
        schemes: &[SignatureScheme],
        callbacks: Callbacks,
    ) -> Self {
        let authorities: Vec<&[u8]> = authorities.iter().map(AsRef::as_ref).collect();
        let certified_key = callbacks
            .resolve_client_cert(resolver, &authorities, schemes)
            .await
            // RFC 9846 §4.5.2: no CertificateVerify follows an empty Certificate
            .filter(|certified_key| !certified_key.cert.is_empty());
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
