//! WAIT_CERT_CR: the CertificateRequest (RFC 9846 §4.4.2), and the client's answer to it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::check_extensions;
use super::in_progress::Handshake;
use super::server_auth::WaitCertificate;
use crate::client::ResolvesClientCert;
use crate::enums::{Side, SignatureScheme};
use crate::error::{Error, InvalidMessage, PeerIncompatible};
use crate::handshake::Failure;
use crate::handshake::flight::Flight;
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_request::CertificateRequest;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::extensions::ExtensionContext;
use crate::sign::{CertifiedKey, Signer};
use crate::tls13::certificate_verify::signed_content;

/// EncryptedExtensions were accepted: the server's Certificate comes next, or a request for the client's.
pub(crate) struct WaitCertificateOrRequest(Box<Handshake>);

impl WaitCertificateOrRequest {
    pub(super) fn new(handshake: Box<Handshake>) -> Self {
        Self(handshake)
    }

    pub(super) fn read_certificate_request(
        mut self,
        request: CertificateRequest<'_>,
        encoded: &[u8],
    ) -> Result<WaitCertificate, Failure> {
        // RFC 9846 §4.4.2: the context is empty during the handshake
        if !request.context.is_empty() {
            return Err(InvalidMessage::InvalidCertRequest.into());
        }
        check_extensions(&request.received, ExtensionContext::CertificateRequest)?;
        let schemes = usable_schemes(request.signature_algorithms.as_deref())?;

        let authorities = request.certificate_authorities.unwrap_or_default();
        let authorities: Vec<&[u8]> = authorities.iter().map(AsRef::as_ref).collect();
        let resolver = &*self.0.offer.config.client_auth_cert_resolver;
        let client_auth = ClientAuth::choose(resolver, &authorities, &schemes);

        self.0.transcript.add(encoded);
        Ok(WaitCertificate::new(self.0, Some(client_auth)))
    }

    /// The server asks for no certificate.
    pub(super) fn without_request(self) -> WaitCertificate {
        WaitCertificate::new(self.0, None)
    }
}

/// The schemes of a CertificateRequest that a CertificateVerify may have.
fn usable_schemes(offered: Option<&[SignatureScheme]>) -> Result<Vec<SignatureScheme>, Error> {
    // RFC 9846 §4.5.2: neither SHA-1 nor RSASSA-PKCS1-v1_5 signs a CertificateVerify
    let offered = offered.unwrap_or_default().iter();
    let usable = offered.filter(|scheme| scheme.supported_in_tls13());
    let usable: Vec<_> = usable.copied().collect();
    // RFC 9846 §4.4.2: signature_algorithms is mandatory, and of no use without a scheme
    if usable.is_empty() {
        return Err(PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon.into());
    }
    Ok(usable)
}

/// How the client answers a CertificateRequest.
pub(super) enum ClientAuth {
    /// With a certificate and a signature by its key.
    Certificate(Arc<CertifiedKey>, Box<dyn Signer>),
    /// With a Certificate message that holds none.
    Empty,
}

impl ClientAuth {
    fn choose(
        resolver: &dyn ResolvesClientCert,
        authorities: &[&[u8]],
        schemes: &[SignatureScheme],
    ) -> Self {
        let Some(certified_key) = resolver.resolve(authorities, schemes) else {
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
