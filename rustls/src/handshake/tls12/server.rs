//! The server side of TLS 1.2: the handshake after the version has been chosen, and the handshake
//! messages that follow it.
//!
//! The figure follows RFC 5246 §7.3, with RFC 5077 §3.1 for tickets:
//!
//! ```text
//!   machine::server: Hello
//!              │ ClientHello                              checks                  hello_checks
//!              │                                          choices                 parameters
//!              │                                          their order             negotiation
//!              │                                          the reply               hello, handshake
//!       ┌──────┴──────────────────────────┐               lookup of a session     resumption
//!       │ ServerHello … Finished          │ ServerHello … ServerHelloDone
//!       │               abbreviated       │             full
//!       │                                 ├─► WaitCertificate, if requested       client_auth
//!       │                                 ▼      │ Certificate
//!       │                        WaitClientKeyExchange                            key_exchange
//!       │                                 │ ClientKeyExchange
//!       │                                 ├─► WaitCertificateVerify, if not empty client_auth
//!       ▼                                 ▼      │ CertificateVerify
//!     WaitChangeCipherSpec ◄──────────────┴──────┘                                finished
//!       │ ChangeCipherSpec
//!       ▼
//!     WaitFinished                                                                finished
//!       │ Finished; after a full handshake NewSessionTicket, ChangeCipherSpec, Finished
//!       ▼
//!     Connected ◄─┐
//!       └─────────┘ ClientHello: refused                                          ../renegotiation
//! ```
//!
//! `Waiting` is the state while an application callback is pending: one that signs the flight,
//! verifies the client's chain or signature, stores the session, or creates its ticket.

mod abbreviated;
mod client_auth;
mod finished;
mod full;
mod handshake;
mod hello;
mod hello_checks;
mod key_exchange;
pub(crate) mod negotiation;
mod parameters;
mod resumption;

use alloc::boxed::Box;

use rustls_core::codec::Codec;

use self::client_auth::{WaitCertificate, WaitCertificateVerify};
use self::finished::{WaitChangeCipherSpec, WaitFinished};
use self::key_exchange::WaitClientKeyExchange;
use super::renegotiation::refuse_renegotiation;
use crate::enums::{ContentType, HandshakeType};
use crate::failure::Failure;
use crate::handshake::operation::Operation;
use crate::handshake::peer_auth::ReceivedChain;
use crate::handshake::server::connection_data::ServerConnectionData;
use crate::handshake::{ServerContext, unexpected, unexpected_content};
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::tls12::certificate::CertificateChain;
use crate::msgs::tls12::key_exchange::ClientKeyExchange;
use crate::msgs::{Finished, HandshakeMessage};

/// The states of a server after TLS 1.2 was chosen.
pub(crate) enum State {
    WaitCertificate(Box<WaitCertificate>),
    WaitClientKeyExchange(Box<WaitClientKeyExchange>),
    WaitCertificateVerify(Box<WaitCertificateVerify>),
    WaitChangeCipherSpec(Box<WaitChangeCipherSpec>),
    WaitFinished(WaitFinished),
    /// Waits for an application operation. Messages stay buffered.
    Waiting(Box<Operation<Self, ServerConnectionData>>),
    Connected,
}

impl From<Operation<Self, ServerConnectionData>> for State {
    fn from(operation: Operation<Self, ServerConnectionData>) -> Self {
        Self::Waiting(Box::new(operation))
    }
}

impl State {
    /// Dispatches a message to its handler. Decides which message is legal.
    pub(crate) fn read(
        self,
        message: HandshakeMessage<'_>,
        cx: &mut ServerContext<'_>,
    ) -> Result<Self, Failure> {
        let encoded = message.encoded;
        match (self, message.typ) {
            (Self::WaitCertificate(state), HandshakeType::Certificate) => {
                state.read_certificate(&message.decode(CertificateChain::read)?, encoded, cx)
            }

            (Self::WaitClientKeyExchange(state), HandshakeType::ClientKeyExchange) => {
                let kx = state.algorithm();
                let exchange = message.decode(|r| ClientKeyExchange::read(r, kx))?;
                state.read_client_key_exchange(&exchange, encoded, cx)
            }

            (Self::WaitCertificateVerify(state), HandshakeType::CertificateVerify) => state
                .read_certificate_verify(message.decode(DigitallySignedStruct::read)?, encoded, cx),

            (Self::WaitFinished(state), HandshakeType::Finished) => {
                state.read_finished(&message.decode(Finished::read)?, encoded, cx)
            }

            (Self::Connected, HandshakeType::ClientHello) => {
                refuse_renegotiation(cx)?;
                Ok(Self::Connected)
            }

            (Self::WaitChangeCipherSpec(_), _) => Err(unexpected_content(
                ContentType::Handshake,
                &[ContentType::ChangeCipherSpec],
            )),
            (Self::Connected, _) => Err(unexpected_content(
                ContentType::Handshake,
                &[ContentType::ApplicationData],
            )),
            // RFC 5246 §7.4: a message out of order is an unexpected_message
            (state, _) => Err(unexpected(&message, state.expected())),
        }
    }

    /// Handles a change_cipher_spec, which is legal in one state only (RFC 5246 §7.1).
    pub(crate) fn read_change_cipher_spec(
        self,
        cx: &mut ServerContext<'_>,
    ) -> Result<Self, Failure> {
        let expected = match self {
            Self::WaitChangeCipherSpec(state) => {
                return state.read_change_cipher_spec(cx).map(Self::WaitFinished);
            }
            Self::Connected => ContentType::ApplicationData,
            _ => ContentType::Handshake,
        };
        Err(unexpected_content(
            ContentType::ChangeCipherSpec,
            &[expected],
        ))
    }

    /// Returns the state in which the client must prove that it has the private key of its
    /// certificate.
    fn wait_certificate_verify(next: Box<WaitChangeCipherSpec>, peer_chain: ReceivedChain) -> Self {
        Self::WaitCertificateVerify(Box::new(WaitCertificateVerify { next, peer_chain }))
    }

    fn expected(&self) -> &'static [HandshakeType] {
        match self {
            Self::WaitCertificate(_) => &[HandshakeType::Certificate],
            Self::WaitClientKeyExchange(_) => &[HandshakeType::ClientKeyExchange],
            Self::WaitCertificateVerify(_) => &[HandshakeType::CertificateVerify],
            Self::WaitFinished(_) => &[HandshakeType::Finished],
            Self::WaitChangeCipherSpec(_) | Self::Waiting(_) | Self::Connected => &[],
        }
    }
}
