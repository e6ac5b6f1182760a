//! WAIT_CERT and WAIT_CV: the server's Certificate and CertificateVerify (RFC 9846 §4.5.1, §4.5.2).

use alloc::boxed::Box;
use alloc::vec::Vec;

use pki_types::CertificateDer;

use super::State;
use super::client_auth::ClientAuth;
use super::finished::WaitFinished;
use super::in_progress::Handshake;
use crate::asking::Asking;
use crate::certificates::ChainKind;
use crate::config::verify::ServerCertVerifier;
use crate::config::verify::chain_check::UnprovenChain;
use crate::enums::{AlertDescription, Side};
use crate::error::{Error, InvalidMessage};
use crate::failure::Failure;
use crate::handshake::ClientContext;
use crate::handshake::operation::{self, Call, Wait};
use crate::handshake::raw_public_key::check_received;
use crate::handshake::tls13::certificate_compression::{decompress, read_certificate};
use crate::handshake::tls13::certificate_verify::{check_scheme, signed_content};
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::compressed_certificate::CompressedCertificate;

/// Waits for the server's Certificate.
pub(crate) struct WaitCertificate {
    handshake: Box<Handshake>,
    client_auth: Option<Box<ClientAuth>>,
}

impl WaitCertificate {
    pub(super) fn new(handshake: Box<Handshake>, client_auth: Option<Box<ClientAuth>>) -> Self {
        Self {
            handshake,
            client_auth,
        }
    }

    pub(super) fn may_be_compressed(&self) -> bool {
        !self.handshake.offer.config.cert_decompressors.is_empty()
    }

    pub(super) fn read_compressed(
        self,
        compressed: &CompressedCertificate<&[u8]>,
        encoded: &[u8],
    ) -> Result<Box<WaitCertificateVerify>, Failure> {
        let decompressors = &self.handshake.offer.config.cert_decompressors;
        let certificate = decompress(compressed, decompressors)?;
        // RFC 8879 §5: from here on it is processed like an uncompressed message
        self.read_certificate(read_certificate(&certificate)?, encoded)
    }

    /// Handles a Certificate. `encoded` is the message as received, perhaps compressed.
    pub(super) fn read_certificate(
        mut self,
        certificate: CertificateMsg<'_>,
        encoded: &[u8],
    ) -> Result<Box<WaitCertificateVerify>, Failure> {
        // RFC 9846 §4.5.1: the context is empty, because the server's Certificate answers no
        // request
        if !certificate.context.is_empty() {
            return Err(InvalidMessage::InvalidCertRequest.into());
        }
        // RFC 9846 §4.5.1.3: the server must have at least one certificate. Decoding has checked
        // that entries have no extension but status_request, which is always offered
        let Some(end_entity) = certificate.entries.first() else {
            // RFC 9846 §4.5.1.3: decode_error. The error maps to another alert, for clients without
            // certificates
            return Err(Failure::new(
                Error::NoCertificatesPresented,
                AlertDescription::DecodeError,
            ));
        };

        let is_raw = self
            .handshake
            .offer
            .config
            .verifier()
            .requires_raw_public_keys();
        check_received(&certificate, is_raw)?;

        self.handshake.transcript.add(encoded);
        Ok(Box::new(WaitCertificateVerify {
            handshake: self.handshake,
            client_auth: self.client_auth,
            peer_chain: UnprovenChain::copy(ChainKind::new(is_raw), certificate.chain()),
            ocsp_response: end_entity.ocsp_response.unwrap_or_default().to_vec(),
        }))
    }
}

/// Waits for the server's CertificateVerify. The certificates are not verified yet.
pub(crate) struct WaitCertificateVerify {
    handshake: Box<Handshake>,
    client_auth: Option<Box<ClientAuth>>,
    /// The server's chain, with at least one certificate.
    peer_chain: UnprovenChain,
    ocsp_response: Vec<u8>,
}

impl WaitCertificateVerify {
    pub(super) fn read_certificate_verify(
        mut self: Box<Self>,
        signed: DigitallySignedStruct,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<State, Failure> {
        let transcript = &mut self.handshake.transcript;
        // RFC 9846 §4.5.2: the signature covers everything up to the Certificate
        let content = signed_content(Side::Server, transcript.current());
        transcript.add(encoded);
        let asking = cx.asking;
        let proving = async move {
            let Self {
                handshake,
                peer_chain,
                ocsp_response,
                ..
            } = &mut *self;
            let offer = &mut handshake.offer;
            let verifier = offer.config.verifier().clone();
            let verifying = async {
                let end_entity = peer_chain.end_entity()?;
                verify_signature(&*verifier, content.as_ref(), &end_entity, &signed, asking).await
            };
            let chain = offer
                .prove_server(peer_chain, ocsp_response, verifying, asking)
                .await?;
            Ok(move |cx: &mut ClientContext<'_>| {
                let offer = &self.handshake.offer;
                if !offer.ech.is_rejected() {
                    cx.negotiated.set_peer(chain, &offer.config.provider);
                }
                let next = WaitFinished::new(self.handshake, self.client_auth);
                Ok(State::WaitFinished(next))
            })
        };
        operation::run(Wait::before_finished(Call::Verification), proving, cx)
    }
}

/// Verifies the server's signature over `content`.
async fn verify_signature(
    verifier: &dyn ServerCertVerifier,
    content: &[u8],
    end_entity: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    asking: Asking,
) -> Result<(), Failure> {
    check_scheme(signed.scheme, || verifier.supported_verify_schemes())?;
    asking
        .ask(
            || verifier.verify_tls13_signature_async(content, end_entity, signed),
            || verifier.verify_tls13_signature(content, end_entity, signed),
        )
        .await
        .map(drop)
        .map_err(Failure::rejected_by_verifier)
}
