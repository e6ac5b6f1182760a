//! CertificateRequest and ServerHelloDone, and the client's second flight (RFC 5246 §7.4.4 to
//! §7.4.8).

use alloc::boxed::Box;
use alloc::vec::Vec;

use rustls_core::crypto::SupportedKxGroup;

use super::State;
use super::finished::{Finishing, send_finished};
use super::in_progress::Handshake;
use crate::config::webpki::is_supported_in_tls12;
use crate::enums::SignatureScheme;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::ClientContext;
use crate::handshake::client::client_auth::Answer;
use crate::handshake::flight::Flight;
use crate::handshake::transport::Transport;
use crate::keys::tls12::MasterSecret;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::tls12::certificate::CertificateChain;
use crate::msgs::tls12::certificate_request::CertificateRequest;
use crate::msgs::tls12::key_exchange::ClientKeyExchange;

/// Waits for the end of the server's flight, or for a CertificateRequest. The server is
/// authenticated.
pub(crate) struct WaitServerHelloDone {
    handshake: Box<Handshake>,
    group: &'static dyn SupportedKxGroup,
    server_public: Vec<u8>,
    client_auth: Option<Answer>,
}

impl WaitServerHelloDone {
    pub(super) fn new(
        handshake: Box<Handshake>,
        group: &'static dyn SupportedKxGroup,
        server_public: Vec<u8>,
    ) -> Self {
        Self {
            handshake,
            group,
            server_public,
            client_auth: None,
        }
    }

    /// True if a CertificateRequest may follow. Only one may.
    pub(super) fn accepts_request(&self) -> bool {
        self.client_auth.is_none()
    }

    pub(super) fn read_certificate_request(
        mut self,
        request: &CertificateRequest,
        encoded: &[u8],
    ) -> Self {
        let resolver = &**self.handshake.offer.config.client_auth();
        let schemes = usable_schemes(request);
        self.client_auth = Some(Answer::choose(resolver, &request.authorities, &schemes));
        self.handshake.transcript.add(encoded);
        self
    }

    pub(super) fn read_server_hello_done(
        mut self,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<State, Failure> {
        // RFC 5246 §7.3: the server sends nothing more until the client has answered
        cx.transport.check_aligned()?;
        self.handshake.transcript.add(encoded);

        let master_secret = self.send_key_exchange(cx.transport)?;
        let offer = &self.handshake.offer;
        offer.log_secret("CLIENT_RANDOM", master_secret.as_bytes());
        let mut finishing = Finishing::new(self.handshake, master_secret, false);
        send_finished(&mut finishing, cx.transport)?;
        Ok(finishing.next_state())
    }

    /// Sends Certificate (if requested), ClientKeyExchange and CertificateVerify, and completes the
    /// key exchange.
    fn send_key_exchange(&mut self, transport: &mut dyn Transport) -> Result<MasterSecret, Error> {
        let handshake = &mut *self.handshake;
        let suite = handshake.suite;
        let client_auth = self.client_auth.take();
        let exchange = self.group.start()?;

        let mut flight = Flight::new(&mut handshake.transcript);
        match &client_auth {
            Some(Answer::Certificate(certified_key, _)) => {
                flight.add(&CertificateChain::new(&certified_key.cert));
            }
            // RFC 5246 §7.4.6: without a certificate, an empty message is sent
            Some(Answer::Empty) => flight.add(&CertificateChain::default()),
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
            &self.server_public,
            handshake.randoms,
            session_hash,
        )?;

        let messages = flight.take_messages();
        if let Some(Answer::Certificate(_, signer)) = client_auth {
            // RFC 5246 §7.4.8: the signature covers all messages so far. They were not kept if
            // has_certs() of the resolver returned false
            let messages = messages.ok_or_else(|| {
                Error::General(
                    "the resolver returned a certificate although has_certs() is false".into(),
                )
            })?;
            let signature = signer.sign(&messages)?;
            flight.add(&DigitallySignedStruct::new(signer.scheme(), signature));
        }
        flight.send(transport)?;
        Ok(master_secret)
    }
}

/// Returns the requested schemes that TLS 1.2 supports.
///
/// RFC 5246 §7.4.4 also restricts the key to `certificate_types`. That list is ignored, because
/// wolfSSL's servers name one type whatever they accept.
fn usable_schemes(request: &CertificateRequest) -> Vec<SignatureScheme> {
    let schemes = request.signature_schemes.iter().copied();
    schemes.filter(|it| is_supported_in_tls12(*it)).collect()
}
