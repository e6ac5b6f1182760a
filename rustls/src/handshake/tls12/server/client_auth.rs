//! The client's certificate, and its proof of possession of the key (RFC 5246 §7.4.6, §7.4.8).

use alloc::boxed::Box;

use pki_types::CertificateDer;

use super::finished::WaitChangeCipherSpec;
use super::key_exchange::WaitClientKeyExchange;
use crate::certificates::{ChainKind, PeerChain};
use crate::config::verify::chain_check::UnprovenChain;
use crate::config::webpki::is_supported_in_tls12;
use crate::error::{Error, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::logging::debug;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::tls12::certificate::CertificateChain;

/// Waits for the answer to the CertificateRequest.
pub(crate) struct WaitCertificate {
    /// The next state.
    pub(super) next: Box<WaitClientKeyExchange>,
}

impl WaitCertificate {
    pub(super) fn read_certificate(
        self,
        certificates: &CertificateChain<'_>,
        encoded: &[u8],
    ) -> Result<Box<WaitClientKeyExchange>, Failure> {
        let Self { mut next } = self;
        let handshake = &mut next.handshake;
        let verifier = handshake.config.verifier();
        handshake.transcript.add(encoded);
        if certificates.0.is_empty() {
            if verifier.client_auth_mandatory() {
                return Err(Error::NoCertificatesPresented.into());
            }
            debug!("client authentication: the client has no certificate");
            // no CertificateVerify will come
            handshake.transcript.take_messages();
            return Ok(next);
        }
        let chain = PeerChain::copy(ChainKind::X509, certificates.chain());
        next.peer_chain = Some(handshake.config.receive_client(chain)?);
        Ok(next)
    }
}

/// Waits for the signature by the key of the client's certificate.
pub(crate) struct WaitCertificateVerify {
    /// The next state.
    pub(super) next: Box<WaitChangeCipherSpec>,
    /// The client's chain, not empty.
    pub(super) peer_chain: UnprovenChain,
}

impl WaitCertificateVerify {
    pub(super) fn read_certificate_verify(
        self,
        signed: &DigitallySignedStruct,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<Box<WaitChangeCipherSpec>, Failure> {
        let Self {
            mut next,
            peer_chain,
        } = self;
        let handshake = &mut next.handshake;
        let config = &handshake.config;
        let verifier = config.verifier();
        let messages = handshake.transcript.take_messages();
        let verify_signature = |end_entity: &CertificateDer<'_>| {
            // RFC 5246 §7.4.8: the scheme must be in the CertificateRequest
            if !is_supported_in_tls12(signed.scheme)
                || !verifier.supported_verify_schemes().contains(&signed.scheme)
            {
                return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
            }
            // RFC 5246 §7.4.8: the signature covers all messages so far, with the hash function of
            // its scheme
            let Some(messages) = messages else {
                return Err(
                    Error::General("the messages of the handshake were not kept".into()).into(),
                );
            };
            verifier
                .verify_tls12_signature(&messages, end_entity, signed)
                .map(drop)
                .map_err(Failure::rejected_by_verifier)
        };
        let proven = config.prove_client(peer_chain, verify_signature)?;
        cx.negotiated.set_peer(proven.chain, &config.provider);

        handshake.client_acceptance = proven.acceptance;
        handshake.transcript.add(encoded);
        Ok(next)
    }
}
