//! The client's handshake (RFC 5246 §7.3) once the server has chosen TLS 1.2, and the messages
//! after it.
//!
//! ```text
//!                   machine::client: Hello
//!                             │ ServerHello                                       (server_hello)
//!          a new session      ▼     the session that was offered
//!              ┌──────────────┴───────────────────────┐
//!              ▼                                      │
//!       WaitCertificate                               │
//!              │ Certificate                          │                           (server_auth)
//!              ▼                                      │
//!       WaitServerKeyExchange ◄─┐                     │
//!              │  └─────────────┘ CertificateStatus   │                           (server_auth)
//!              │ ServerKeyExchange                    │                           (server_auth)
//!              ▼                                      │
//!       WaitServerHelloDone ◄─┐                       │
//!              │  └───────────┘ CertificateRequest    │                           (second_flight)
//!              │ ServerHelloDone ──► client's flight  │                           (second_flight)
//!              ▼                                      ▼
//!       WaitNewSessionTicket, if one was announced; NewSessionTicket              (finished)
//!                             ▼
//!                  WaitChangeCipherSpec                                           (finished)
//!                             │ change_cipher_spec
//!                             ▼
//!                       WaitFinished                                              (finished)
//!                             │ Finished ──► the client's Finished, if the session is resumed
//!                             ▼
//!                         Connected ◄── HelloRequest, refused
//! ```
//!
//! `Waiting` is the state while an application callback is pending: one that verifies the server's
//! chain or signature, chooses the client's certificate, or signs for the client.
//!
//! During the handshake, a state that waits for the server is a struct in the file named at its
//! messages. Its methods `read_…` consume it. The states pass on an `in_progress::Handshake`.
//! `resumption` selects the session to offer, and stores new ones.

mod finished;
mod in_progress;
pub(crate) mod resumption;
mod second_flight;
mod server_auth;
mod server_hello;

use alloc::boxed::Box;

use rustls_core::codec::Codec;

use self::finished::{WaitChangeCipherSpec, WaitFinished, WaitNewSessionTicket};
use self::second_flight::WaitServerHelloDone;
use self::server_auth::{WaitCertificate, WaitServerKeyExchange};
use super::renegotiation::refuse_renegotiation;
use crate::enums::{ContentType, HandshakeType};
use crate::failure::Failure;
use crate::handshake::client::connection_data::ClientConnectionData;
use crate::handshake::client::sent_hello::SentHello;
use crate::handshake::operation::Operation;
use crate::handshake::{ClientContext, unexpected, unexpected_content};
use crate::msgs::certificate::CertificateStatus;
use crate::msgs::server_hello::ServerHello;
use crate::msgs::tls12::certificate::CertificateChain;
use crate::msgs::tls12::certificate_request::CertificateRequest;
use crate::msgs::tls12::key_exchange::ServerKeyExchange;
use crate::msgs::tls12::session_ticket::NewSessionTicket;
use crate::msgs::tls12::{HelloRequest, ServerHelloDone};
use crate::msgs::{Finished, HandshakeMessage};

/// The states of a client after TLS 1.2 was chosen. They are small, because each message moves them
/// several times.
pub(crate) enum State {
    WaitCertificate(WaitCertificate),
    WaitServerKeyExchange(Box<WaitServerKeyExchange>),
    WaitServerHelloDone(Box<WaitServerHelloDone>),
    WaitNewSessionTicket(WaitNewSessionTicket),
    WaitChangeCipherSpec(WaitChangeCipherSpec),
    WaitFinished(WaitFinished),
    /// Waits for an application operation. Messages stay buffered.
    Waiting(Box<Operation<Self, ClientConnectionData>>),
    Connected,
}

impl From<Operation<Self, ClientConnectionData>> for State {
    fn from(operation: Operation<Self, ClientConnectionData>) -> Self {
        Self::Waiting(Box::new(operation))
    }
}

impl State {
    /// Starts with a ServerHello that selects TLS 1.2.
    pub(crate) fn start(
        sent: Box<SentHello>,
        hello: &ServerHello<'_>,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<Self, Failure> {
        server_hello::read_server_hello(sent, hello, encoded, cx)
    }

    /// Dispatches a message to its handler. Decides which message is legal.
    pub(crate) fn read(
        self,
        message: HandshakeMessage<'_>,
        cx: &mut ClientContext<'_>,
    ) -> Result<Self, Failure> {
        let encoded = message.encoded;
        match (self, message.typ) {
            (Self::WaitCertificate(state), HandshakeType::Certificate) => state
                .read_certificate(message.decode(CertificateChain::read)?, encoded)
                .map(|next| Self::WaitServerKeyExchange(Box::new(next))),

            (Self::WaitServerKeyExchange(state), HandshakeType::CertificateStatus)
                if state.accepts_status() =>
            {
                let status = message.decode(CertificateStatus::read)?;
                let next = state.read_certificate_status(status, encoded);
                Ok(Self::WaitServerKeyExchange(Box::new(next)))
            }

            (Self::WaitServerKeyExchange(state), HandshakeType::ServerKeyExchange) => {
                let algorithm = state.algorithm();
                let exchange = message.decode(|r| ServerKeyExchange::read(r, algorithm))?;
                state.read_server_key_exchange(exchange, encoded, cx)
            }

            (Self::WaitServerHelloDone(state), HandshakeType::CertificateRequest)
                if state.accepts_request() =>
            {
                let request = message.decode(CertificateRequest::read)?;
                state.read_certificate_request(request, encoded, cx)
            }

            (Self::WaitServerHelloDone(state), HandshakeType::ServerHelloDone) => {
                let ServerHelloDone = message.decode(ServerHelloDone::read)?;
                state.read_server_hello_done(encoded, cx)
            }

            (Self::WaitNewSessionTicket(state), HandshakeType::NewSessionTicket) => {
                let ticket = message.decode(NewSessionTicket::read)?;
                let next = state.read_new_session_ticket(&ticket, encoded);
                Ok(Self::WaitChangeCipherSpec(next))
            }

            (Self::WaitFinished(state), HandshakeType::Finished) => {
                let finished = message.decode(Finished::read)?;
                state.read_finished(&finished, encoded, cx)?;
                Ok(Self::Connected)
            }

            (Self::Connected, HandshakeType::HelloRequest) => {
                let HelloRequest = message.decode(HelloRequest::read)?;
                refuse_renegotiation(cx)?;
                Ok(Self::Connected)
            }

            // RFC 5246 §7.4.9: a Finished without a change_cipher_spec before it is an error
            (Self::WaitChangeCipherSpec(_), _) => Err(unexpected_content(
                ContentType::Handshake,
                &[ContentType::ChangeCipherSpec],
            )),
            // RFC 5246 §7.3: any other message is out of order
            (state, _) => Err(unexpected(&message, state.expected())),
        }
    }

    /// Handles the server's change_cipher_spec. RFC 5246 §7.1: it is only legal before the
    /// Finished, when all keys are known.
    pub(crate) fn read_change_cipher_spec(
        self,
        cx: &mut ClientContext<'_>,
    ) -> Result<Self, Failure> {
        match self {
            Self::WaitChangeCipherSpec(state) => state
                .read_change_cipher_spec(cx.transport)
                .map(Self::WaitFinished),
            Self::Connected => Err(unexpected_content(
                ContentType::ChangeCipherSpec,
                &[ContentType::ApplicationData, ContentType::Handshake],
            )),
            _ => Err(unexpected_content(
                ContentType::ChangeCipherSpec,
                &[ContentType::Handshake],
            )),
        }
    }

    fn expected(&self) -> &'static [HandshakeType] {
        match self {
            Self::WaitCertificate(_) => &[HandshakeType::Certificate],
            Self::WaitServerKeyExchange(state) if state.accepts_status() => &[
                HandshakeType::CertificateStatus,
                HandshakeType::ServerKeyExchange,
            ],
            Self::WaitServerKeyExchange(_) => &[HandshakeType::ServerKeyExchange],
            Self::WaitServerHelloDone(state) if state.accepts_request() => &[
                HandshakeType::CertificateRequest,
                HandshakeType::ServerHelloDone,
            ],
            Self::WaitServerHelloDone(_) => &[HandshakeType::ServerHelloDone],
            Self::WaitNewSessionTicket(_) => &[HandshakeType::NewSessionTicket],
            Self::WaitFinished(_) => &[HandshakeType::Finished],
            Self::WaitChangeCipherSpec(_) | Self::Waiting(_) => &[],
            Self::Connected => &[HandshakeType::HelloRequest],
        }
    }
}
