//! How a client answers a CertificateRequest (RFC 9846 §4.5.1, §4.5.2).

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::client::ResolvesClientCert;
use crate::enums::{Side, SignatureScheme};
use crate::error::Error;
use crate::handshake::flight::Flight;
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::sign::{CertifiedKey, Signer};
use crate::tls13::certificate_verify::signed_content;

/// How the client answers a CertificateRequest.
pub(super) enum ClientAuth {
    /// With a certificate and a signature by its key.
    Certificate(Arc<CertifiedKey>, Box<dyn Signer>),
    /// With a Certificate message that holds none.
    Empty,
}

impl ClientAuth {
    pub(super) fn choose(
        resolver: &dyn ResolvesClientCert,
        authorities: &[&[u8]],
        schemes: &[SignatureScheme],
    ) -> Self {
        let certified_key = resolver
            .resolve(authorities, schemes)
            // RFC 9846 §4.5.2: no CertificateVerify follows a Certificate that is empty
            .filter(|certified_key| !certified_key.cert.is_empty());
        let Some(certified_key) = certified_key else {
            return Self::Empty;
        };
        // RFC 9846 §4.5.2: the scheme is one that the request names
        match certified_key.key.choose_scheme(schemes) {
            Some(signer) => Self::Certificate(certified_key, signer),
            None => Self::Empty,
        }
    }

    /// Adds Certificate, and CertificateVerify unless it is empty.
    pub(super) fn send(&self, flight: &mut Flight<'_>) -> Result<(), Error> {
        let chain = match self {
            Self::Certificate(certified_key, _) => certified_key.cert.as_slice(),
            // RFC 9846 §4.5.1: without a certificate, the message is sent nevertheless
            Self::Empty => &[],
        };
        flight.add(&CertificateMsg::new(&[], chain, None));

        if let Self::Certificate(_, signer) = self {
            let content = signed_content(Side::Client, &flight.transcript_hash());
            let signature = signer.sign(content.as_ref())?;
            flight.add(&DigitallySignedStruct::new(signer.scheme(), signature));
        }
        Ok(())
    }
}
