//! The server's side of the TLS 1.3 handshake, and of what follows it.
//!
//! It decides and answers; messages are [`crate::msgs`]', secrets [`super::key_schedule`]'s, records and
//! alerts the connection's. The states are those of RFC 9846 Appendix A.2; what is sent on the way from one
//! to the next is one flight:
//!
//! ```text
//!                            START
//!                              │
//!   ┌─► WaitClientHello ◄──────┴───────┐
//!   │          │ ClientHello           │ no usable share: HelloRetryRequest       retry.rs
//!   │          ├───────────────────────┘
//!   │          │                                     version, what to check      client_hello.rs
//!   │          │                                     what to agree on            parameters.rs
//!   │          │ ServerHello … Finished                                          flight.rs
//!   │          ├──────────────► WaitCertificate ─────────┐   if asked for one    client_auth.rs
//!   │          │                    │ Certificate        │ Certificate, empty
//!   │          │                    ▼                    │
//!   │          │            WaitCertificateVerify        │
//!   │          ▼                    │ CertificateVerify  │
//!   │    WaitFinished ◄─────────────┴────────────────────┘                       finished.rs
//!   │          │ Finished; NewSessionTickets                                     tickets.rs
//!   │          ▼
//!   │      Connected ◄─┐
//!   │          └───────┘ KeyUpdate                                               ../traffic.rs
//! ```

mod client_auth;
mod client_hello;
mod finished;
mod flight;
mod parameters;
mod retry;
mod session_value;
#[cfg(all(test, feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
mod tickets;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::mem;

use self::client_auth::{WaitCertificate, WaitCertificateVerify};
use self::client_hello::WaitClientHello;
use self::finished::WaitFinished;
use super::traffic::Traffic;
use crate::conn::CommonState;
use crate::conn::machine::{Context, Machine};
use crate::enums::HandshakeType;
use crate::error::Error;
use crate::msgs::{HandshakeMessage, HandshakePayload};
use crate::server::{ServerConfig, ServerConnectionData};

/// Starts a handshake: waits for a ClientHello.
///
/// # Errors
///
/// [`Error::General`] when `config` asks for raw public keys, which are not supported.
pub(crate) fn start(config: Arc<ServerConfig>) -> Result<ServerMachine, Error> {
    if config.cert_resolver.only_raw_public_keys() || config.verifier.requires_raw_public_keys() {
        return Err(Error::General("raw public keys are not supported".into()));
    }
    Ok(ServerMachine {
        state: ServerState::WaitClientHello(WaitClientHello::new(config, None)),
    })
}

/// What a handshake state may touch of a server's connection.
type ServerContext<'a> = Context<'a, ServerConnectionData>;

/// The server's state machine.
pub(crate) struct ServerMachine {
    state: ServerState,
}

/// What the server waits for.
enum ServerState {
    WaitClientHello(WaitClientHello),
    WaitCertificate(Box<WaitCertificate>),
    WaitCertificateVerify(Box<WaitCertificateVerify>),
    WaitFinished(Box<WaitFinished>),
    Connected(Box<Traffic>),
    /// Nothing: an error ended the handshake.
    Failed,
}

impl ServerState {
    /// Which message is legal when.
    fn handle(
        self,
        message: HandshakeMessage<'_>,
        cx: &mut ServerContext<'_>,
    ) -> Result<Self, Error> {
        use HandshakePayload as Payload;

        let HandshakeMessage {
            typ,
            encoded,
            payload,
        } = message;
        match (self, payload) {
            (Self::WaitClientHello(state), Payload::ClientHello(hello)) => {
                state.read_client_hello(&hello, encoded, cx)
            }
            (Self::WaitCertificate(state), Payload::Certificate(certificate)) => {
                state.read_certificate(&certificate, encoded, cx)
            }
            (Self::WaitCertificateVerify(state), Payload::CertificateVerify(signed)) => {
                state.read_certificate_verify(&signed, encoded, cx)
            }
            (Self::WaitFinished(state), Payload::Finished(verify_data)) => {
                state.read_finished(verify_data, encoded, cx)
            }
            (Self::Connected(mut traffic), Payload::KeyUpdate(request)) => {
                traffic.read_key_update(request, cx.common)?;
                Ok(Self::Connected(traffic))
            }
            // RFC 9846 §4: a message in an unexpected order is an unexpected_message. §4.2.2: so is a
            // ClientHello at any other time
            (state, _) => Err(Error::InappropriateHandshakeMessage {
                expect_types: state.expected().to_vec(),
                got_type: typ,
            }),
        }
    }

    fn expected(&self) -> &'static [HandshakeType] {
        match self {
            Self::WaitClientHello(_) => &[HandshakeType::ClientHello],
            Self::WaitCertificate(_) => &[HandshakeType::Certificate],
            Self::WaitCertificateVerify(_) => &[HandshakeType::CertificateVerify],
            Self::WaitFinished(_) => &[HandshakeType::Finished],
            Self::Connected(_) => &[HandshakeType::KeyUpdate],
            Self::Failed => &[],
        }
    }
}

impl Machine<ServerConnectionData> for ServerMachine {
    fn handle(
        &mut self,
        message: HandshakeMessage<'_>,
        cx: &mut ServerContext<'_>,
    ) -> Result<(), Error> {
        let state = mem::replace(&mut self.state, ServerState::Failed);
        self.state = state.handle(message, cx)?;
        Ok(())
    }

    fn refresh_traffic_keys(&mut self, common: &mut CommonState) -> Result<(), Error> {
        match &mut self.state {
            ServerState::Connected(traffic) => {
                traffic.refresh(common);
                Ok(())
            }
            _ => Err(Error::HandshakeNotComplete),
        }
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<(), Error> {
        match &self.state {
            ServerState::Connected(traffic) => {
                traffic.export_keying_material(output, label, context)
            }
            _ => Err(Error::HandshakeNotComplete),
        }
    }
}
