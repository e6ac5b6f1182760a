//! The client's certificate, and its proof of possession of the key (RFC 5246 §7.4.6, §7.4.8).

use alloc::boxed::Box;

use super::State;
use super::finished::WaitChangeCipherSpec;
use super::key_exchange::WaitClientKeyExchange;
use crate::certificates::ChainKind;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::peer_auth::{
    ReceivedChain, SchemeRules, Signature, SignedClient, authenticate_client, receive_client,
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
        receive_client(next, chain, cx, |mut next, peer_chain, _| {
            next.peer_chain = Some(peer_chain);
            Ok(State::WaitClientKeyExchange(next))
        })
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
        let client = SignedClient {
            handshake: next,
            chain: peer_chain,
            signature: Signature {
                signed,
                content: messages,
                rules: SchemeRules::Tls12 { of_suite: None },
            },
        };
        authenticate_client(client, cx, |mut next, client, cx| {
            let handshake = &mut next.handshake;
            handshake.client_acceptance = client.acceptance();
            cx.negotiated
                .set_peer(client.chain, &handshake.config.provider);
            Ok(State::WaitChangeCipherSpec(next))
        })
    }
}
