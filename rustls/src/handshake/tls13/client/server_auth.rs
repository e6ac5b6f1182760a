//! WAIT_CERT and WAIT_CV: the server's Certificate and CertificateVerify (RFC 9846 §4.5.1, §4.5.2).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::State;
use super::client_auth::ClientAuth;
use super::finished::WaitFinished;
use super::in_progress::Handshake;
use crate::certificates::ChainKind;
use crate::enums::{AlertDescription, Side};
use crate::error::{Error, InvalidMessage};
use crate::failure::Failure;
use crate::handshake::ClientContext;
use crate::handshake::peer_auth::{
    ReceivedChain, SchemeRules, Signature, SignedServer, authenticate_server,
};
use crate::handshake::raw_public_key::check_received;
use crate::handshake::tls13::certificate_compression::{decompress, read_certificate};
use crate::handshake::tls13::certificate_verify::signed_content;
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::compressed_certificate::CompressedCertificate;

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

    /// Handles a Certificate. `encoded` is the message as received, possibly compressed.
    pub(super) fn read_certificate(
        mut self,
        certificate: CertificateMsg<'_>,
        encoded: &[u8],
    ) -> Result<Box<WaitCertificateVerify>, Failure> {
        // RFC 9846 §4.5.1: the context is empty, because the server's Certificate is not a reply to
        // a request
        if !certificate.context.is_empty() {
            return Err(InvalidMessage::InvalidCertRequest.into());
        }
        // RFC 9846 §4.5.1.3: the server must have at least one certificate. Decoding has checked
        // that entries have no extension but status_request, which is always offered
        let Some(end_entity) = certificate.entries.first() else {
            // RFC 9846 §4.5.1.3: decode_error. The error alone would map to the alert for clients
            // without certificates
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
            peer_chain: ReceivedChain::copy(ChainKind::new(is_raw), certificate.chain()),
            ocsp_response: end_entity.ocsp_response.unwrap_or_default().to_vec(),
        }))
    }
}

/// Waits for the server's CertificateVerify. The certificates are not verified yet.
pub(crate) struct WaitCertificateVerify {
    handshake: Box<Handshake>,
    client_auth: Option<Box<ClientAuth>>,
    /// The server's chain, or its raw public key. Not empty.
    peer_chain: ReceivedChain,
    ocsp_response: Vec<u8>,
}

impl WaitCertificateVerify {
    pub(super) fn read_certificate_verify(
        mut self,
        signed: DigitallySignedStruct,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<State, Failure> {
        let transcript = &mut self.handshake.transcript;
        // RFC 9846 §4.5.2: the signature covers everything up to the Certificate
        let content = signed_content(Side::Server, transcript.current());
        transcript.add(encoded);
        let Self {
            handshake,
            client_auth,
            peer_chain,
            ocsp_response,
        } = self;
        let server = SignedServer {
            handshake,
            chain: peer_chain,
            ocsp_response,
            signature: Signature {
                signed,
                content,
                rules: SchemeRules::Tls13,
            },
        };
        authenticate_server(server, cx, |mut handshake, server, cx| {
            let offer = &mut handshake.offer;
            offer.verification = server.verification;
            if !offer.ech.is_rejected() {
                cx.negotiated.set_peer(server.chain, &offer.config.provider);
            }
            let next = WaitFinished::new(handshake, client_auth);
            Ok(State::WaitFinished(next))
        })
    }
}
