//! The client's certificate, and its proof of possession of the key (RFC 5246 §7.4.6, §7.4.8).

use alloc::boxed::Box;

use pki_types::CertificateDer;

use super::State;
use super::finished::WaitChangeCipherSpec;
use super::key_exchange::WaitClientKeyExchange;
use crate::asking::Asking;
use crate::certificates::ChainKind;
use crate::config::verify::ClientCertVerifier;
use crate::config::verify::chain_check::UnprovenChain;
use crate::config::webpki::is_supported_in_tls12;
use crate::error::{Error, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::operation::{self, Call, Wait};
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
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
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
            return Ok(State::WaitClientKeyExchange(next));
        }
        let chain = UnprovenChain::copy(ChainKind::X509, certificates.chain());
        let asking = cx.asking;
        let verifying = async move {
            let config = &next.handshake.config;
            let peer_chain = config.receive_client(chain, asking).await?;
            Ok(move |_: &mut ServerContext<'_>| {
                next.peer_chain = Some(peer_chain);
                Ok(State::WaitClientKeyExchange(next))
            })
        };
        operation::run(Wait::before_finished(Call::Verification), verifying, cx)
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
        signed: DigitallySignedStruct,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let Self {
            mut next,
            peer_chain,
        } = self;
        let transcript = &mut next.handshake.transcript;
        let messages = transcript.take_messages();
        transcript.add(encoded);
        let asking = cx.asking;
        let proving = async move {
            let config = &next.handshake.config;
            let verifying = async {
                let end_entity = peer_chain.end_entity()?;
                let messages = messages.as_deref();
                verify_signature(config.verifier(), messages, &end_entity, &signed, asking).await
            };
            let proven = config.prove_client(&peer_chain, verifying, asking).await?;
            Ok(move |cx: &mut ServerContext<'_>| {
                let handshake = &mut next.handshake;
                cx.negotiated
                    .set_peer(proven.chain, &handshake.config.provider);
                handshake.client_acceptance = proven.acceptance;
                Ok(State::WaitChangeCipherSpec(next))
            })
        };
        operation::run(Wait::before_finished(Call::Verification), proving, cx)
    }
}

/// Verifies the client's signature over all `messages` so far.
async fn verify_signature(
    verifier: &dyn ClientCertVerifier,
    messages: Option<&[u8]>,
    end_entity: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    asking: Asking,
) -> Result<(), Failure> {
    // RFC 5246 §7.4.8: the scheme must be in the CertificateRequest
    if !is_supported_in_tls12(signed.scheme)
        || !verifier.supported_verify_schemes().contains(&signed.scheme)
    {
        return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
    }
    // RFC 5246 §7.4.8: the signature covers all messages so far, with the hash function of its
    // scheme
    let Some(messages) = messages else {
        return Err(Error::General("the messages of the handshake were not kept".into()).into());
    };
    asking
        .ask(
            || verifier.verify_tls12_signature_async(messages, end_entity, signed),
            || verifier.verify_tls12_signature(messages, end_entity, signed),
        )
        .await
        .map(drop)
        .map_err(Failure::rejected_by_verifier)
}
