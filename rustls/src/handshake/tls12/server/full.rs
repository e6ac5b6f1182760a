//! The full handshake (RFC 5246 §7.3): the server's flight from ServerHello to ServerHelloDone.

use alloc::boxed::Box;

use rustls_core::crypto::ActiveKeyExchange;

use super::State;
use super::client_auth::WaitCertificate;
use super::handshake::Handshake;
use super::hello::{HelloFacts, Kind, ocsp_response, server_hello};
use super::key_exchange::WaitClientKeyExchange;
use super::parameters::Parameters;
use crate::config::handshake_kind::HandshakeKind;
use crate::config::observer::handshake::ClientCertificate;
use crate::config::settings::ServerSettings;
use crate::config::webpki::is_supported_in_tls12;
use crate::enums::{ClientCertificateType, SignatureScheme};
use crate::failure::Failure;
use crate::handshake::calls::signed;
use crate::handshake::flight::Flight;
use crate::handshake::wait::{Call, Wait};
use crate::handshake::{ServerContext, operation};
use crate::logging::debug;
use crate::msgs::certificate::CertificateStatus;
use crate::msgs::tls12::ServerHelloDone;
use crate::msgs::tls12::certificate::CertificateChain;
use crate::msgs::tls12::certificate_request::CertificateRequest;
use crate::msgs::tls12::key_exchange::{ServerKeyExchange, ServerKeyExchangeParams};

/// The space to reserve in the flight's buffer besides the certificates and the OCSP response, in
/// bytes. It is usually enough for extensions, framing, a key and a signature.
const OTHERS_LEN: usize = 1024;

/// Sends everything up to ServerHelloDone, signed with one of `schemes`, and waits for the client's
/// flight. If the signature is pending, sends nothing until it is ready.
pub(super) fn send_flight(
    handshake: Handshake,
    parameters: &Parameters,
    schemes: &[SignatureScheme],
    facts: &HelloFacts,
    cx: &mut ServerContext<'_>,
) -> Result<State, Failure> {
    let signer = parameters.signer(schemes)?;
    debug!("group {:?}", parameters.group.name());
    cx.negotiated.alpn_protocol = parameters.alpn_protocol.clone();
    cx.negotiated.handshake_kind = Some(HandshakeKind::Full);
    let mut next = Box::new(WaitClientKeyExchange {
        handshake,
        group: parameters.group,
        kx: parameters.group.start()?,
        peer_chain: None,
    });
    let server_hello = server_hello(
        facts,
        Kind::Full,
        &next.handshake,
        parameters,
        cx.data.server_name(),
    );
    let certified_key = &parameters.certified_key;
    let ocsp_response = ocsp_response(facts, parameters);

    let chain: usize = certified_key.cert.iter().map(|cert| cert.len()).sum();
    let len = chain + ocsp_response.map_or(0, <[u8]>::len) + OTHERS_LEN;
    let mut flight = Flight::with_capacity(len, &mut next.handshake.transcript);
    flight.add(&server_hello);
    flight.add(&CertificateChain::new(&certified_key.cert));
    if let Some(response) = ocsp_response {
        flight.add(&CertificateStatus(response));
    }
    let flight = flight.pause();
    let randoms = &next.handshake.randoms;
    let content = key_exchange_params(&*next.kx).signed_content(&randoms.client, &randoms.server);
    let called = cx.callbacks.sign(&*signer, &content);
    let wait = Wait::before_finished(Call::Signature);
    operation::after(called, wait, cx, move |signature, cx| {
        let WaitClientKeyExchange { handshake, kx, .. } = &mut *next;
        let mut flight = flight.resume(&mut handshake.transcript);
        flight.add(&ServerKeyExchange {
            params: key_exchange_params(&**kx),
            signature: signed(&*signer, signature)?,
        });
        cx.negotiated.facts.server_signature = Some(signer.scheme());
        let requests_certificate = add_certificate_request(&mut flight, &handshake.config);
        flight.add(&ServerHelloDone);
        flight.send(cx.transport)?;
        Ok(if requests_certificate {
            cx.negotiated.facts.client_certificate = ClientCertificate::Missing;
            State::WaitCertificate(Box::new(WaitCertificate { next }))
        } else {
            State::WaitClientKeyExchange(next)
        })
    })
}

fn key_exchange_params(kx: &dyn ActiveKeyExchange) -> ServerKeyExchangeParams<'_> {
    match kx.ffdhe_group() {
        Some(group) => ServerKeyExchangeParams::of_ffdhe(group, kx.pub_key()),
        None => ServerKeyExchangeParams::Ecdhe {
            group: kx.group(),
            public: kx.pub_key(),
        },
    }
}

/// Adds a CertificateRequest if the verifier wants one. Returns true if it was added.
fn add_certificate_request(flight: &mut Flight<'_>, config: &ServerSettings) -> bool {
    let verifier = config.verifier();
    if !verifier.offer_client_auth() {
        return false;
    }
    let mut signature_schemes = verifier.supported_verify_schemes();
    // the verifier's list covers both versions
    signature_schemes.retain(|scheme| is_supported_in_tls12(*scheme));
    flight.add(&CertificateRequest {
        // RFC 8422 §3: the second type includes EdDSA. The schemes distinguish them
        certificate_types: smallvec::smallvec![
            ClientCertificateType::RsaSign,
            ClientCertificateType::EcdsaSign,
        ],
        signature_schemes: signature_schemes.into(),
        authorities: verifier.root_hint_subjects().to_vec(),
    });
    true
}
