//! The server's Certificate, CertificateStatus and ServerKeyExchange (RFC 5246 §7.4.2, §7.4.3, RFC
//! 6066 §8): its identity, and its half of the key exchange.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rustls_core::crypto::SupportedKxGroup;

use super::State;
use super::in_progress::Handshake;
use super::second_flight::WaitServerHelloDone;
use crate::certificates::ChainKind;
use crate::enums::{AlertDescription, KeyExchangeAlgorithm};
use crate::error::{Error, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::ClientContext;
use crate::handshake::client::offer::Offer;
use crate::handshake::ffdhe::check_public_value;
use crate::handshake::peer_auth::{
    ReceivedChain, SchemeRules, Signature, SignedServer, authenticate_server,
};
use crate::logging::debug;
use crate::msgs::certificate::CertificateStatus;
use crate::msgs::tls12::certificate::CertificateChain;
use crate::msgs::tls12::key_exchange::{ServerKeyExchange, ServerKeyExchangeParams};

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
            // the error alone would map to the alert for clients without certificates, so name the
            // TLS 1.3 alert
            return Err(Failure::new(
                Error::NoCertificatesPresented,
                AlertDescription::DecodeError,
            ));
        }
        self.0.transcript.add(encoded);
        Ok(WaitServerKeyExchange {
            handshake: self.0,
            peer_chain: ReceivedChain::copy(ChainKind::X509, certificate.chain()),
            ocsp_response: None,
        })
    }
}

/// Waits for the ServerKeyExchange. The certificates are not verified yet, because their OCSP
/// status may come first.
pub(crate) struct WaitServerKeyExchange {
    handshake: Box<Handshake>,
    /// The server's chain, with at least one certificate.
    peer_chain: ReceivedChain,
    ocsp_response: Option<Vec<u8>>,
}

impl WaitServerKeyExchange {
    /// True if a CertificateStatus may follow: only if the ServerHello announced it (RFC 6066 §8),
    /// and only once.
    pub(super) fn accepts_status(&self) -> bool {
        self.handshake.may_send_status && self.ocsp_response.is_none()
    }

    /// Returns the suite's key exchange algorithm, which determines the format of a
    /// ServerKeyExchange.
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
        exchange: ServerKeyExchange<'_>,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<State, Failure> {
        let ServerKeyExchange {
            params,
            signature: signed,
        } = exchange;
        let handshake = &mut *self.handshake;
        let (client, server) = (&handshake.randoms.client, &handshake.randoms.server);
        let content = params.signed_content(client, server);
        // check the parameters now, but return their error only if the signature is valid
        let group = check_params(&params, &handshake.offer);
        let public = params.public().to_vec();
        handshake.transcript.add(encoded);
        let rules = SchemeRules::Tls12 {
            of_suite: Some(handshake.suite.sign),
        };
        let server = SignedServer {
            handshake: self.handshake,
            chain: self.peer_chain,
            ocsp_response: self.ocsp_response.unwrap_or_default(),
            signature: Signature {
                signed,
                content,
                rules,
            },
        };
        authenticate_server(server, cx, |mut handshake, server, _| {
            let group = group?;
            debug!("group {:?}", group.name());
            handshake.offer.verification = server.verification;
            let next = WaitServerHelloDone::new(handshake, server.chain, group, public);
            Ok(State::WaitServerHelloDone(Box::new(next)))
        })
    }
}

/// Returns the group in `params`, if it was offered and the public value is acceptable.
fn check_params(
    params: &ServerKeyExchangeParams<'_>,
    offer: &Offer,
) -> Result<&'static dyn SupportedKxGroup, Failure> {
    // RFC 8422 §5.4, RFC 7919 §4: the group must have been offered
    let group = offer
        .tls12_group(params)
        .ok_or(PeerMisbehaved::SelectedUnofferedKxGroup)?;
    if let Some(group) = params.ffdhe_group() {
        check_public_value(&group, params.public())?;
    }
    Ok(group)
}
