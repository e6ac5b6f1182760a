//! CertificateRequest and ServerHelloDone, and the client's second flight (RFC 5246 §7.4.4 to
//! §7.4.8).

use alloc::boxed::Box;
use alloc::vec::Vec;

use rustls_core::crypto::SupportedKxGroup;

use super::State;
use super::in_progress::{Finishing, Handshake};
use crate::certificates::PeerChain;
use crate::config::observer::handshake::ClientCertificate;
use crate::config::sign::Signer;
use crate::config::webpki::is_supported_in_tls12;
use crate::enums::SignatureScheme;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::calls::signed;
use crate::handshake::client::client_auth::CertificateChoice;
use crate::handshake::flight::{Flight, PausedFlight};
use crate::handshake::wait::{Call, Wait};
use crate::handshake::{ClientContext, operation};
use crate::keys::tls12::MasterSecret;
use crate::msgs::tls12::certificate::CertificateChain;
use crate::msgs::tls12::certificate_request::CertificateRequest;
use crate::msgs::tls12::key_exchange::ClientKeyExchange;

/// Waits for the end of the server's flight, or for a CertificateRequest. The server is
/// authenticated.
pub(crate) struct WaitServerHelloDone {
    handshake: Box<Handshake>,
    /// The chain of the server, which signed the key exchange.
    server_chain: PeerChain,
    group: &'static dyn SupportedKxGroup,
    server_public: Vec<u8>,
    client_auth: Option<CertificateChoice>,
}

impl WaitServerHelloDone {
    pub(super) fn new(
        handshake: Box<Handshake>,
        server_chain: PeerChain,
        group: &'static dyn SupportedKxGroup,
        server_public: Vec<u8>,
    ) -> Self {
        Self {
            handshake,
            server_chain,
            group,
            server_public,
            client_auth: None,
        }
    }

    /// True if a CertificateRequest may follow. Only one is allowed.
    pub(super) fn accepts_request(&self) -> bool {
        self.client_auth.is_none()
    }

    pub(super) fn read_certificate_request(
        mut self: Box<Self>,
        request: CertificateRequest,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<State, Failure> {
        cx.negotiated.facts.client_certificate = ClientCertificate::Missing;
        self.handshake.transcript.add(encoded);
        let resolver = &**self.handshake.offer.config.client_auth();
        let schemes = usable_schemes(&request);
        let called = cx
            .callbacks
            .resolve_client_cert(resolver, &request.authorities, &schemes);
        let wait = Wait::before_finished(Call::Certificate);
        operation::after(called, wait, cx, move |resolved, _| {
            self.client_auth = Some(CertificateChoice::new(resolved, &schemes));
            Ok(State::WaitServerHelloDone(self))
        })
    }

    pub(super) fn read_server_hello_done(
        mut self,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<State, Failure> {
        // RFC 5246 §7.3: the server sends nothing more until the client has answered
        cx.transport.check_aligned()?;
        self.handshake.transcript.add(encoded);
        cx.negotiated.kx_group = Some(self.group);
        let provider = &self.handshake.offer.config.provider;
        cx.negotiated.set_peer(self.server_chain.clone(), provider);
        let (flight, mut finishing, unsigned) = self.exchange_keys()?;
        let Some(Unsigned { signer, messages }) = unsigned else {
            return end_flight(flight, finishing, cx);
        };
        let called = cx.callbacks.sign(&*signer, &messages);
        let wait = Wait::before_finished(Call::Signature);
        operation::after(called, wait, cx, move |signature, cx| {
            let mut flight = flight.resume(&mut finishing.handshake.transcript);
            flight.add(&signed(&*signer, signature)?);
            let facts = &mut cx.negotiated.facts;
            facts.client_certificate = ClientCertificate::Sent;
            facts.client_signature = Some(signer.scheme());
            let flight = flight.pause();
            end_flight(flight, finishing, cx)
        })
    }

    /// Completes the key exchange. Returns the flight of Certificate (if requested) and
    /// ClientKeyExchange, the next handshake state, and the input of the CertificateVerify, if one
    /// follows.
    fn exchange_keys(self) -> Result<(PausedFlight, Box<Finishing>, Option<Unsigned>), Error> {
        let Self {
            mut handshake,
            group,
            server_public,
            client_auth,
            ..
        } = self;
        let suite = handshake.suite;
        let exchange = group.start()?;

        let mut flight = Flight::new(&mut handshake.transcript);
        match &client_auth {
            Some(CertificateChoice::Certificate(certified_key, _)) => {
                flight.add(&CertificateChain::new(&certified_key.cert));
            }
            // RFC 5246 §7.4.6: without a certificate, an empty message is sent
            Some(CertificateChoice::Empty) => flight.add(&CertificateChain::default()),
            None => {}
        }
        flight.add(&ClientKeyExchange {
            algorithm: suite.kx,
            public: exchange.pub_key(),
        });

        // RFC 7627 §3: the session hash ends with the ClientKeyExchange
        let session_hash = handshake
            .uses_extended_master_secret
            .then(|| flight.transcript_hash());
        let master_secret = MasterSecret::new(
            suite,
            exchange,
            &server_public,
            handshake.randoms,
            session_hash,
        )?;
        let messages = flight.take_messages();
        let flight = flight.pause();
        let finishing = Finishing::new(handshake, master_secret);
        let Some(CertificateChoice::Certificate(_, signer)) = client_auth else {
            return Ok((flight, finishing, None));
        };
        // RFC 5246 §7.4.8: the signature covers all messages so far. They were not kept if the
        // resolver's has_certs() returned false
        let messages = messages.ok_or_else(|| {
            Error::General(
                "the resolver returned a certificate although has_certs() is false".into(),
            )
        })?;
        Ok((flight, finishing, Some(Unsigned { signer, messages })))
    }
}

/// The input of the client's CertificateVerify.
struct Unsigned {
    signer: Box<dyn Signer>,
    messages: Vec<u8>,
}

/// Sends `flight`, change_cipher_spec and the client's Finished.
fn end_flight(
    flight: PausedFlight,
    mut finishing: Box<Finishing>,
    cx: &mut ClientContext<'_>,
) -> Result<State, Failure> {
    flight.send(cx.transport)?;
    let master_secret = finishing.master_secret.as_bytes();
    let offer = &finishing.handshake.offer;
    offer.log_secret("CLIENT_RANDOM", master_secret);
    finishing.send_finished(cx.transport)?;
    Ok(finishing.next_state())
}

/// Returns the requested schemes that TLS 1.2 supports.
///
/// RFC 5246 §7.4.4 also restricts the key to `certificate_types`. That list is ignored, because
/// wolfSSL's servers always name one type, although they accept others.
fn usable_schemes(request: &CertificateRequest) -> Vec<SignatureScheme> {
    let schemes = request.signature_schemes.iter().copied();
    schemes.filter(|it| is_supported_in_tls12(*it)).collect()
}
