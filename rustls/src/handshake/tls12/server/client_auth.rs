//! The client's certificate, and its proof of possession of the key (RFC 5246 §7.4.6, §7.4.8).

use alloc::boxed::Box;

use super::State;
use super::finished::WaitChangeCipherSpec;
use super::key_exchange::WaitClientKeyExchange;
use crate::certificates::ChainKind;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::operation::{self, Call, Wait};
use crate::handshake::peer_auth::{
    HandshakeSignature, ReceivedChain, SchemeRules, authenticate_client, receive_client,
};
use crate::logging::debug;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::tls12::certificate::CertificateChain;

/// Waits for the client's Certificate, which may be empty.
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
        let chain = ReceivedChain::copy(ChainKind::X509, certificates.chain());
        let callbacks = cx.callbacks;
        let verifying = async move {
            let config = &next.handshake.config;
            let peer_chain = receive_client(chain, config, callbacks).await?;
            Ok(move |_: &mut ServerContext<'_>| {
                next.peer_chain = Some(peer_chain);
                Ok(State::WaitClientKeyExchange(next))
            })
        };
        operation::run(Wait::before_finished(Call::Verification), verifying, cx)
    }
}

/// Waits for the signature made with the key of the client's certificate.
pub(crate) struct WaitCertificateVerify {
    /// The next state.
    pub(super) next: Box<WaitChangeCipherSpec>,
    /// The client's chain, not empty.
    pub(super) peer_chain: ReceivedChain,
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
        // RFC 5246 §7.4.8: the signature covers all messages so far, with the hash function of its
        // scheme
        let Some(messages) = messages else {
            return Err(
                Error::General("the messages of the handshake were not kept".into()).into(),
            );
        };
        let callbacks = cx.callbacks;
        let authenticating = async move {
            let signature = HandshakeSignature {
                signed: &signed,
                content: &messages,
                rules: SchemeRules::Tls12 { of_suite: None },
            };
            let config = &next.handshake.config;
            let client = authenticate_client(&peer_chain, &signature, config, callbacks).await?;
            Ok(move |cx: &mut ServerContext<'_>| {
                let handshake = &mut next.handshake;
                handshake.client_acceptance = client.acceptance();
                cx.negotiated
                    .set_peer(client.chain, &handshake.config.provider);
                Ok(State::WaitChangeCipherSpec(next))
            })
        };
        operation::run(
            Wait::before_finished(Call::Verification),
            authenticating,
            cx,
        )
    }
}
