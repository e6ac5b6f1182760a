//! The client's certificate, and its proof of possession of the key (RFC 5246 §7.4.6, §7.4.8).

use alloc::boxed::Box;

use super::finished::WaitChangeCipherSpec;
use super::key_exchange::WaitClientKeyExchange;
use crate::certificates::{ChainKind, UnauthenticatedChain};
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
        let [end_entity, intermediates @ ..] = certificates.0.as_slice() else {
            if verifier.client_auth_mandatory() {
                return Err(Error::NoCertificatesPresented.into());
            }
            debug!("client authentication: the client has no certificate");
            // no CertificateVerify will come
            handshake.transcript.take_messages();
            return Ok(next);
        };
        let now = handshake.config.current_time()?;
        verifier
            .verify_client_cert(end_entity, intermediates, now)
            .map_err(Failure::rejected_by_verifier)?;
        let chains = &handshake.config.peer_chains;
        next.peer_chain = Some(chains.find(ChainKind::X509, certificates.chain()));
        Ok(next)
    }
}

/// Waits for the signature by the key of the client's certificate.
pub(crate) struct WaitCertificateVerify {
    /// The next state.
    pub(super) next: Box<WaitChangeCipherSpec>,
    /// The client's chain, not empty.
    pub(super) peer_chain: UnauthenticatedChain,
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
        let verifier = handshake.config.verifier();
        // RFC 5246 §7.4.8: the scheme must be in the CertificateRequest
        if !is_supported_in_tls12(signed.scheme)
            || !verifier.supported_verify_schemes().contains(&signed.scheme)
        {
            return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
        }
        // RFC 5246 §7.4.8: the signature covers all messages so far, with the hash function of its
        // scheme
        let Some(messages) = handshake.transcript.take_messages() else {
            return Err(
                Error::General("the messages of the handshake were not kept".into()).into(),
            );
        };
        let end_entity = peer_chain
            .chain()
            .first()
            .ok_or(Error::NoCertificatesPresented)?;
        verifier
            .verify_tls12_signature(&messages, end_entity, signed)
            .map_err(Failure::rejected_by_verifier)?;
        let config = &handshake.config;
        let chain = peer_chain.keep(&config.peer_chains);
        cx.negotiated.set_peer(chain, &config.provider);

        handshake.transcript.add(encoded);
        Ok(next)
    }
}
