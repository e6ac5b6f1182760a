//! The server's Certificate, CertificateStatus and ServerKeyExchange (RFC 5246 §7.4.2, §7.4.3, RFC
//! 6066 §8): its identity, and its half of the key exchange.

use alloc::boxed::Box;
use alloc::vec::Vec;

use pki_types::CertificateDer;

use super::in_progress::Handshake;
use super::second_flight::WaitServerHelloDone;
use crate::certificates::{ChainKind, PeerChain};
use crate::config::verify::ServerCertVerifier;
use crate::enums::{AlertDescription, KeyExchangeAlgorithm};
use crate::error::{Error, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::ClientContext;
use crate::handshake::ffdhe::check_public_value;
use crate::logging::debug;
use crate::msgs::certificate::CertificateStatus;
use crate::msgs::tls12::certificate::CertificateChain;
use crate::msgs::tls12::key_exchange::ServerKeyExchange;

/// Waits for the server's Certificate.
pub(crate) struct WaitCertificate(Box<Handshake>);

impl WaitCertificate {
    pub(super) fn new(handshake: Box<Handshake>) -> Self {
        Self(handshake)
    }

    pub(super) fn read_certificate(
        mut self,
        certificate: CertificateChain<'_>,
        encoded: &[u8],
    ) -> Result<WaitServerKeyExchange, Failure> {
        // RFC 5246 §7.4.2: the server must have at least one certificate
        if certificate.0.is_empty() {
            // the error maps to another alert, for clients without certificates. This alert is that
            // of TLS 1.3
            return Err(Failure::new(
                Error::NoCertificatesPresented,
                AlertDescription::DecodeError,
            ));
        }
        self.0.transcript.add(encoded);
        Ok(WaitServerKeyExchange {
            handshake: self.0,
            peer_chain: PeerChain::copy(ChainKind::X509, certificate.chain()),
            ocsp_response: None,
        })
    }
}

/// Waits for the ServerKeyExchange. The certificates are not verified yet, because their status may
/// come first.
pub(crate) struct WaitServerKeyExchange {
    handshake: Box<Handshake>,
    /// The server's chain, with at least one certificate.
    peer_chain: PeerChain,
    ocsp_response: Option<Vec<u8>>,
}

impl WaitServerKeyExchange {
    /// True if a CertificateStatus may follow. RFC 6066 §8: one may, if the ServerHello announced
    /// it.
    pub(super) fn accepts_status(&self) -> bool {
        self.handshake.may_send_status && self.ocsp_response.is_none()
    }

    /// Returns the key exchange of the suite, which determines the format of a ServerKeyExchange.
    pub(super) fn algorithm(&self) -> KeyExchangeAlgorithm {
        self.handshake.suite.kx
    }

    pub(super) fn read_certificate_status(
        mut self,
        status: CertificateStatus<'_>,
        encoded: &[u8],
    ) -> Self {
        self.ocsp_response = Some(status.0.to_vec());
        self.handshake.transcript.add(encoded);
        self
    }

    pub(super) fn read_server_key_exchange(
        mut self,
        exchange: &ServerKeyExchange<'_>,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<WaitServerHelloDone, Failure> {
        let chain = self.verify(exchange)?;
        let params = &exchange.params;
        // RFC 8422 §5.4, RFC 7919 §4: the group must have been offered
        let group = self
            .handshake
            .offer
            .tls12_group(params)
            .ok_or(PeerMisbehaved::SelectedUnofferedKxGroup)?;
        if let Some(group) = params.ffdhe_group() {
            check_public_value(&group, params.public())?;
        }

        debug!("group {:?}", group.name());
        let config = &self.handshake.offer.config;
        cx.negotiated.kx_group = Some(group);
        cx.negotiated.set_peer(chain, &config.provider);
        self.handshake.transcript.add(encoded);
        Ok(WaitServerHelloDone::new(
            self.handshake,
            group,
            params.public().to_vec(),
        ))
    }

    /// Verifies the certificates and the signature over the key exchange. Returns the server's
    /// chain.
    fn verify(&mut self, exchange: &ServerKeyExchange<'_>) -> Result<PeerChain, Failure> {
        let Handshake {
            offer,
            suite,
            randoms,
            ..
        } = &mut *self.handshake;
        let signature = &exchange.signature;
        let verify_signature = |verifier: &dyn ServerCertVerifier,
                                end_entity: &CertificateDer<'_>| {
            // RFC 5246 §7.4.3: the scheme must fit the type of key in the suite
            let mut of_suite = suite.sign.iter();
            if !of_suite.any(|scheme| scheme.algorithm() == signature.scheme.algorithm()) {
                return Err(PeerMisbehaved::SignedKxWithWrongAlgorithm.into());
            }
            // RFC 5246 §7.4.3: the scheme must have been offered
            let offered = verifier.supported_verify_schemes();
            if !offered.contains(&signature.scheme) {
                return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
            }
            let content = exchange
                .params
                .signed_content(&randoms.client, &randoms.server);
            verifier
                .verify_tls12_signature(&content, end_entity, signature)
                .map(drop)
                .map_err(Failure::rejected_by_verifier)
        };
        let ocsp_response = self.ocsp_response.as_deref().unwrap_or_default();
        offer.prove_server(self.peer_chain.clone(), ocsp_response, verify_signature)
    }
}
