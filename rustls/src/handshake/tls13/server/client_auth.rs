//! The client's certificate, and its proof of possession of the key (RFC 9846 §4.5.1, §4.5.2).

use alloc::boxed::Box;

use pki_types::CertificateDer;

use super::finished::WaitFinished;
use crate::certificates::{ChainKind, PeerChain};
use crate::config::verify::chain_check::UnprovenChain;
use crate::enums::Side;
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::raw_public_key::check_received;
use crate::handshake::tls13::certificate_compression::{decompress, read_certificate};
use crate::handshake::tls13::certificate_verify::signed_content;
use crate::logging::debug;
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::compressed_certificate::CompressedCertificate;

/// Waits for the answer to the CertificateRequest.
pub(crate) struct WaitCertificate {
    /// The state after authentication.
    pub(super) finished: Box<WaitFinished>,
}

/// The next state after the client's Certificate.
pub(super) enum ClientChain {
    /// The client has no certificate, and needs none.
    Empty(Box<WaitFinished>),
    /// The client must prove that it has the key of its certificate.
    Unproven(Box<WaitCertificateVerify>),
}

impl WaitCertificate {
    pub(super) fn may_be_compressed(&self) -> bool {
        !self.finished.config.cert_decompressors.is_empty()
    }

    pub(super) fn read_compressed(
        self,
        compressed: &CompressedCertificate<&[u8]>,
        encoded: &[u8],
    ) -> Result<ClientChain, Failure> {
        let certificate = decompress(compressed, &self.finished.config.cert_decompressors)?;
        // RFC 8879 §5: from here on it is processed like an uncompressed message
        self.read_certificate(&read_certificate(&certificate)?, encoded)
    }

    /// Handles a Certificate. `encoded` is the message as received, perhaps compressed.
    pub(super) fn read_certificate(
        self,
        certificate: &CertificateMsg<'_>,
        encoded: &[u8],
    ) -> Result<ClientChain, Failure> {
        let Self { mut finished } = self;
        // RFC 9846 §4.5.1: the context must be that of the CertificateRequest, which is empty
        if !certificate.context.is_empty() {
            return Err(InvalidMessage::InvalidCertRequest.into());
        }
        // RFC 9846 §4.5.1: extensions that the CertificateRequest did not ask for are forbidden
        if certificate
            .entries
            .iter()
            .any(|entry| entry.ocsp_response.is_some())
        {
            return Err(PeerMisbehaved::UnsolicitedCertExtension.into());
        }
        let is_raw = finished.config.verifier().requires_raw_public_keys();
        check_received(certificate, is_raw)?;
        let verifier = finished.config.verifier();
        if certificate.entries.is_empty() && !verifier.client_auth_mandatory() {
            debug!("client authentication: the client has no certificate");
            finished.transcript.add(encoded);
            return Ok(ClientChain::Empty(finished));
        }
        if certificate.entries.is_empty() {
            // RFC 9846 §4.5.1.3: certificate_required
            return Err(Error::NoCertificatesPresented.into());
        }
        let chain = PeerChain::copy(ChainKind::new(is_raw), certificate.chain());
        let peer_chain = finished.config.receive_client(chain)?;

        finished.transcript.add(encoded);
        Ok(ClientChain::Unproven(Box::new(WaitCertificateVerify {
            finished,
            peer_chain,
        })))
    }
}

/// Waits for the signature by the key of the client's certificate.
pub(crate) struct WaitCertificateVerify {
    finished: Box<WaitFinished>,
    /// The client's chain, not empty.
    peer_chain: UnprovenChain,
}

impl WaitCertificateVerify {
    pub(super) fn read_certificate_verify(
        self,
        signed: &DigitallySignedStruct,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<Box<WaitFinished>, Failure> {
        let Self {
            mut finished,
            peer_chain,
        } = self;
        let config = &finished.config;
        let verifier = config.verifier();
        let transcript = finished.transcript.current();
        let verify_signature = |end_entity: &CertificateDer<'_>| {
            // RFC 9846 §4.5.2: the scheme must be in the CertificateRequest. SHA-1 and
            // RSASSA-PKCS1-v1_5 are forbidden
            if !signed.scheme.supported_in_tls13()
                || !verifier.supported_verify_schemes().contains(&signed.scheme)
            {
                return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
            }
            // RFC 9846 §4.5.2: the signature must be verified
            let content = signed_content(Side::Client, transcript);
            verifier
                .verify_tls13_signature(content.as_ref(), end_entity, signed)
                .map(drop)
                .map_err(Failure::rejected_by_verifier)
        };
        let proven = config.prove_client(peer_chain, verify_signature)?;
        cx.negotiated.set_peer(proven.chain, &config.provider);

        finished.client_acceptance = proven.acceptance;
        finished.transcript.add(encoded);
        Ok(finished)
    }
}
