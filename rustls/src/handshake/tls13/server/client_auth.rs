//! The client's certificate, and its proof of possession of the key (RFC 9846 §4.5.1, §4.5.2).

use alloc::boxed::Box;

use super::State;
use super::finished::WaitFinished;
use crate::certificates::ChainKind;
use crate::enums::Side;
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::peer_auth::{
    ReceivedChain, SchemeRules, Signature, SignedClient, authenticate_client, receive_client,
};
use crate::handshake::raw_public_key::check_received;
use crate::handshake::tls13::certificate_compression::{decompress, read_certificate};
use crate::handshake::tls13::certificate_verify::signed_content;
use crate::logging::debug;
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::compressed_certificate::CompressedCertificate;

/// Waits for the client's Certificate, which may be empty.
pub(crate) struct WaitCertificate {
    /// The state that follows authentication.
    pub(super) finished: Box<WaitFinished>,
}

impl WaitCertificate {
    pub(super) fn may_be_compressed(&self) -> bool {
        !self.finished.config.cert_decompressors.is_empty()
    }

    pub(super) fn read_compressed(
        self,
        compressed: &CompressedCertificate<&[u8]>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let certificate = decompress(compressed, &self.finished.config.cert_decompressors)?;
        // RFC 8879 §5: from here on it is processed like an uncompressed message
        self.read_certificate(&read_certificate(&certificate)?, encoded, cx)
    }

    /// Handles a Certificate. `encoded` is the message as received, possibly compressed.
    pub(super) fn read_certificate(
        self,
        certificate: &CertificateMsg<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
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
            return Ok(State::WaitFinished(finished));
        }
        if certificate.entries.is_empty() {
            // RFC 9846 §4.5.1.3: certificate_required
            return Err(Error::NoCertificatesPresented.into());
        }
        let chain = ReceivedChain::copy(ChainKind::new(is_raw), certificate.chain());
        finished.transcript.add(encoded);
        receive_client(finished, chain, cx, |finished, peer_chain, _| {
            Ok(State::WaitCertificateVerify(Box::new(
                WaitCertificateVerify {
                    finished,
                    peer_chain,
                },
            )))
        })
    }
}

/// Waits for the signature made with the key of the client's certificate.
pub(crate) struct WaitCertificateVerify {
    finished: Box<WaitFinished>,
    /// The client's chain, or its raw public key. Not empty.
    peer_chain: ReceivedChain,
}

impl WaitCertificateVerify {
    pub(super) fn read_certificate_verify(
        self,
        signed: DigitallySignedStruct,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let Self {
            mut finished,
            peer_chain,
        } = self;
        let content = signed_content(Side::Client, finished.transcript.current());
        finished.transcript.add(encoded);
        let client = SignedClient {
            handshake: finished,
            chain: peer_chain,
            signature: Signature {
                signed,
                content,
                rules: SchemeRules::Tls13,
            },
        };
        authenticate_client(client, cx, |mut finished, client, cx| {
            finished.client_acceptance = client.acceptance();
            cx.negotiated
                .set_peer(client.chain, &finished.config.provider);
            Ok(State::WaitFinished(finished))
        })
    }
}
