//! The server side of the TLS 1.3 handshake, once the version has been chosen, and of the messages
//! after the handshake.
//!
//! [`crate::msgs`] encodes and decodes messages, and [`crate::keys::tls13`] derives secrets. The
//! connection handles records and alerts. The states follow RFC 9846 Appendix A.2:
//!
//! ```text
//!     machine::server: Hello ◄── HelloRetryRequest ── no usable share               retry
//!              │ ClientHello                              checks                    hello_checks
//!              │                                          choices                   parameters
//!              │                                          lookup of a session       resumption
//!              │                                          their order               negotiation
//!              │ ServerHello … Finished                                          flight, secrets
//!              ├──────────────► WaitCertificate ─────────┐   if requested           client_auth
//!              │                    │ Certificate        │ Certificate, empty
//!              │                    ▼                    │
//!              │            WaitCertificateVerify        │
//!              │                    │ CertificateVerify  │
//!              ├──► WaitEndOfEarlyData  if accepted      │                          early_data
//!              ▼           │ EndOfEarlyData; not in QUIC │
//!        WaitFinished ◄────┴────────┴────────────────────┘                          finished
//!              │ Finished; NewSessionTickets                                tickets, ticket_kind
//!              ▼
//!          Connected ◄─┐
//!              └───────┘ KeyUpdate                                                  ../key_update
//! ```
//!
//! `Waiting` is the state while an application callback is pending: one that signs the flight,
//! verifies the client's chain or signature, or creates tickets.

mod client_auth;
mod early_data;
mod finished;
pub(crate) mod flight;
mod hello_checks;
pub(crate) mod negotiation;
mod parameters;
mod resumption;
pub(crate) mod retry;
mod secrets;
mod ticket_kind;
mod tickets;

use alloc::boxed::Box;

use rustls_core::codec::Codec;

use self::client_auth::{WaitCertificate, WaitCertificateVerify};
use self::early_data::WaitEndOfEarlyData;
use self::finished::WaitFinished;
use super::key_update::read_key_update;
use crate::config::carrier::HandshakeCarrier;
use crate::enums::{HandshakeType, KeyUpdateRequest};
use crate::failure::Failure;
use crate::handshake::operation::Operation;
use crate::handshake::server::connection_data::ServerConnectionData;
use crate::handshake::{ServerContext, unexpected};
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::compressed_certificate::CompressedCertificate;
use crate::msgs::{Finished, HandshakeMessage};

/// The states of a server after TLS 1.3 was chosen.
pub(crate) enum State {
    WaitEndOfEarlyData(Box<WaitEndOfEarlyData>),
    WaitCertificate(Box<WaitCertificate>),
    WaitCertificateVerify(Box<WaitCertificateVerify>),
    WaitFinished(Box<WaitFinished>),
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
            (Self::WaitEndOfEarlyData(state), HandshakeType::EndOfEarlyData) => {
                // RFC 9846 §4.6: the message is empty
                message.decode(|_| Ok(()))?;
                state
                    .read_end_of_early_data(encoded, cx)
                    .map(Self::WaitFinished)
            }

            (Self::WaitCertificate(state), HandshakeType::Certificate) => {
                state.read_certificate(&message.decode(CertificateMsg::read)?, encoded, cx)
            }

            // RFC 8879 §4: replaces a Certificate if compression was offered
            (Self::WaitCertificate(state), HandshakeType::CompressedCertificate)
                if state.may_be_compressed() =>
            {
                let compressed = message.decode(CompressedCertificate::read)?;
                state.read_compressed(&compressed, encoded, cx)
            }

            (Self::WaitCertificateVerify(state), HandshakeType::CertificateVerify) => state
                .read_certificate_verify(message.decode(DigitallySignedStruct::read)?, encoded, cx),

            (Self::WaitFinished(state), HandshakeType::Finished) => {
                state.read_finished(&message.decode(Finished::read)?, encoded, cx)
            }

            (Self::Connected, HandshakeType::KeyUpdate)
                if cx.transport.carrier().has_key_update() =>
            {
                read_key_update(message.decode(KeyUpdateRequest::read)?, cx)
                    .map(|()| Self::Connected)
            }

            // RFC 9846 §4: a message out of order is an unexpected_message. §4.2.2: so is a
            // ClientHello at any other time
            (state, _) => Err(unexpected(&message, state.expected(cx.transport.carrier()))),
        }
    }

    fn expected(&self, carrier: HandshakeCarrier) -> &'static [HandshakeType] {
        match self {
            Self::WaitEndOfEarlyData(_) => &[HandshakeType::EndOfEarlyData],
            Self::WaitCertificate(state) if state.may_be_compressed() => &[
                HandshakeType::Certificate,
                HandshakeType::CompressedCertificate,
            ],
            Self::WaitCertificate(_) => &[HandshakeType::Certificate],
            Self::WaitCertificateVerify(_) => &[HandshakeType::CertificateVerify],
            Self::WaitFinished(_) => &[HandshakeType::Finished],
            Self::Waiting(_) => &[],
            Self::Connected if !carrier.has_key_update() => &[],
            Self::Connected => &[HandshakeType::KeyUpdate],
        }
    }
}
