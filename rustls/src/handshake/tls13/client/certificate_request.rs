//! WAIT_CERT_CR: the CertificateRequest (RFC 9846 §4.4.2), if the server sends one.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::State;
use super::client_auth::ClientAuth;
use super::extension_checks::check_extensions;
use super::in_progress::Handshake;
use super::server_auth::WaitCertificate;
use crate::config::compress::CertCompressor;
use crate::config::observer::handshake::ClientCertificate;
use crate::enums::{AlertDescription, SignatureScheme};
use crate::error::{InvalidMessage, PeerIncompatible};
use crate::failure::Failure;
use crate::handshake::client::client_auth::CertificateChoice;
use crate::handshake::tls13::certificate_compression::choose_compressor;
use crate::handshake::wait::{Call, Wait};
use crate::handshake::{ClientContext, operation};
use crate::msgs::certificate_request::CertificateRequest;
use crate::msgs::extensions::ExtensionContext;

/// Waits for the server's Certificate or its CertificateRequest, after EncryptedExtensions.
pub(crate) struct WaitCertificateOrRequest {
    handshake: Box<Handshake>,
    /// True if the client is configured for the certificate type that the server accepts.
    may_be_asked: bool,
}

impl WaitCertificateOrRequest {
    pub(super) fn new(handshake: Box<Handshake>, may_be_asked: bool) -> Self {
        Self {
            handshake,
            may_be_asked,
        }
    }

    pub(super) fn read_certificate_request(
        mut self,
        request: CertificateRequest<'_>,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<State, Failure> {
        // RFC 9846 §4.4.2: the context is empty during the handshake
        if !request.context.is_empty() {
            return Err(InvalidMessage::InvalidCertRequest.into());
        }
        check_extensions(&request.received, ExtensionContext::CertificateRequest)?;
        let schemes = usable_schemes(request.signature_algorithms.as_deref())?;

        let authorities = request.certificate_authorities.unwrap_or_default();
        let offer = &self.handshake.offer;
        // RFC 9849 §6.1.7: the client does not authenticate to the server with the public name
        let may_authenticate = !offer.ech.is_rejected();
        if may_authenticate && !self.may_be_asked {
            // RFC 7250 §4.2: the server requests X.509, and the client has a raw public key
            return Err(PeerIncompatible::IncorrectCertificateTypeExtension.into());
        }
        let compressor = choose_compressor(
            request.compress_certificate.as_deref(),
            &offer.config.cert_compressors,
        );

        cx.negotiated.facts.client_certificate = ClientCertificate::Missing;
        self.handshake.transcript.add(encoded);
        if !may_authenticate {
            return Ok(self.reply(CertificateChoice::Empty, compressor));
        }
        let resolver = &**self.handshake.offer.config.client_auth();
        let called = cx
            .callbacks
            .resolve_client_cert(resolver, &authorities, &schemes);
        let wait = Wait::before_finished(Call::Certificate);
        operation::after(called, wait, cx, move |resolved, _| {
            Ok(self.reply(CertificateChoice::new(resolved, &schemes), compressor))
        })
    }

    /// Returns the next state. The client's flight will contain `choice`.
    fn reply(
        self,
        choice: CertificateChoice,
        compressor: Option<&'static dyn CertCompressor>,
    ) -> State {
        let client_auth = Some(Box::new(ClientAuth { choice, compressor }));
        State::WaitCertificate(WaitCertificate::new(self.handshake, client_auth))
    }

    /// True if the server's Certificate may be compressed.
    pub(super) fn may_be_compressed(&self) -> bool {
        !self.handshake.offer.config.cert_decompressors.is_empty()
    }

    /// Returns the next state if the server does not request a certificate.
    pub(super) fn without_request(self) -> WaitCertificate {
        WaitCertificate::new(self.handshake, None)
    }
}

/// Returns the schemes in a CertificateRequest that are allowed in a CertificateVerify. Fails if
/// there are none.
fn usable_schemes(offered: Option<&[SignatureScheme]>) -> Result<Vec<SignatureScheme>, Failure> {
    let error = PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon;
    // RFC 9846 §4.4.2: signature_algorithms is mandatory, and must have a usable scheme
    let Some(offered) = offered else {
        return Err(Failure::new(error, AlertDescription::MissingExtension));
    };
    // RFC 9846 §4.5.2: SHA-1 and RSASSA-PKCS1-v1_5 are forbidden in a CertificateVerify
    let usable = offered.iter().filter(|scheme| scheme.supported_in_tls13());
    let usable: Vec<_> = usable.copied().collect();
    if usable.is_empty() {
        return Err(error.into());
    }
    Ok(usable)
}
