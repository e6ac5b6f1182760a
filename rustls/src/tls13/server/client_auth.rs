//! The client's certificate and the proof that it has the key (RFC 9846 §4.5.1, §4.5.2).

use alloc::boxed::Box;
use alloc::vec::Vec;

use pki_types::CertificateDer;

use super::finished::WaitFinished;
use super::{ServerContext, ServerState};
use crate::enums::Side;
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::tls13::certificate_verify::signed_content;

/// Waits for the answer to CertificateRequest.
pub(super) struct WaitCertificate {
    /// What comes after.
    pub(super) finished: Box<WaitFinished>,
}

impl WaitCertificate {
    pub(super) fn read_certificate(
        self,
        certificate: &CertificateMsg<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<ServerState, Error> {
        let Self { mut finished } = self;
        // RFC 9846 §4.5.1: the context is that of the CertificateRequest, which is empty
        if !certificate.context.is_empty() {
            return Err(InvalidMessage::InvalidCertRequest.into());
        }
        // RFC 9846 §4.5.1: no extension that the CertificateRequest did not ask for
        if certificate
            .entries
            .iter()
            .any(|entry| entry.ocsp_response.is_some())
        {
            return Err(PeerMisbehaved::UnsolicitedCertExtension.into());
        }
        let chain = certificate.to_owned_chain();
        let verifier = &finished.config.verifier;
        let [end_entity, intermediates @ ..] = chain.as_slice() else {
            // RFC 9846 §4.5.1.3: certificate_required, if it is
            if verifier.client_auth_mandatory() {
                return Err(Error::NoCertificatesPresented);
            }
            finished.transcript.add(encoded);
            return Ok(ServerState::WaitFinished(finished));
        };
        let now = finished.config.current_time()?;
        verifier
            .verify_client_cert(end_entity, intermediates, now)
            .map_err(|error| cx.common.refused_by_verifier(error))?;

        finished.transcript.add(encoded);
        Ok(ServerState::WaitCertificateVerify(Box::new(
            WaitCertificateVerify { finished, chain },
        )))
    }
}

/// Waits for the signature that goes with a certificate.
pub(super) struct WaitCertificateVerify {
    finished: Box<WaitFinished>,
    /// Of the client; not empty.
    chain: Vec<CertificateDer<'static>>,
}

impl WaitCertificateVerify {
    pub(super) fn read_certificate_verify(
        self,
        signed: &DigitallySignedStruct,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<ServerState, Error> {
        let Self {
            mut finished,
            chain,
        } = self;
        let verifier = &finished.config.verifier;
        // RFC 9846 §4.5.2: a scheme of the CertificateRequest, and no SHA-1 or RSASSA-PKCS1-v1_5
        if !signed.scheme.supported_in_tls13()
            || !verifier.supported_verify_schemes().contains(&signed.scheme)
        {
            return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
        }
        // RFC 9846 §4.5.2: the signature must be verified
        let content = signed_content(Side::Client, &finished.transcript.current());
        let end_entity = chain.first().ok_or(Error::NoCertificatesPresented)?;
        verifier
            .verify_tls13_signature(content.as_ref(), end_entity, signed)
            .map_err(|error| cx.common.refused_by_verifier(error))?;
        cx.common.peer_certificates = Some(chain);

        finished.transcript.add(encoded);
        Ok(ServerState::WaitFinished(finished))
    }
}
