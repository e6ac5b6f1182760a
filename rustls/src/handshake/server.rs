//! A server's handshake: from the ClientHello to the choice of the version, then in that version's
//! states.
//!
//! ```text
//!      START ──► Unconfigured, at whose ClientHello the application chooses a configuration
//!        │              │
//!        ├──────────────┴────┐
//!        ▼                   │ HelloRetryRequest, once
//!   Hello(WaitClientHello)   │                                    client_hello
//!        │ ClientHello: which version?
//!        ├───────────────────┘
//!        ├──────────────────┐
//!        ▼                  ▼
//!   Tls13(State)       Tls12(State)                               tls13::server, tls12::server
//! ```
//!
//! - `protocol`, `certificate`: choices that are the same in both versions.
//! - `answers`: the application's answers that a ClientHello needs. `WaitAnswer` waits for one that
//!   takes time, and handles the ClientHello again.

pub(crate) mod answers;
pub(crate) mod certificate;
pub(crate) mod client_hello;
pub(crate) mod connection_data;
pub(crate) mod protocol;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::mem;
use core::task::{self, Poll, ready};

#[cfg(feature = "std")]
use pki_types::DnsName;
use rustls_core::codec::Codec;

#[cfg(feature = "std")]
use self::client_hello::check_any_version;
use self::client_hello::{AfterClientHello, WaitAnswer, WaitClientHello};
use super::operation::Wait;
#[cfg(feature = "tls12")]
use super::unexpected_content;
use super::{Machine, ServerContext, unexpected};
use crate::config::server::ServerConfig;
#[cfg(feature = "tls12")]
use crate::enums::ContentType;
use crate::enums::HandshakeType;
use crate::failure::Failure;
use crate::handshake::server::connection_data::ServerConnectionData;
#[cfg(feature = "tls12")]
use crate::handshake::tls12;
use crate::handshake::tls13;
use crate::msgs::HandshakeMessage;
use crate::msgs::client_hello::ClientHello;

/// The state of a server's handshake, in either version.
pub(crate) enum ServerHandshake {
    /// Waits for a configuration. Messages stay buffered until then.
    #[cfg(feature = "std")]
    Unconfigured,
    /// Waits for a ClientHello.
    Hello(WaitClientHello),
    /// Waits for the application's answer about a ClientHello.
    WaitAnswer(Box<WaitAnswer>),
    Tls13(tls13::server::State),
    #[cfg(feature = "tls12")]
    Tls12(tls12::server::State),
    /// A handler has failed.
    Failed,
}

impl ServerHandshake {
    /// Starts a handshake, which waits for a ClientHello.
    pub(crate) fn start(config: Arc<ServerConfig>) -> Self {
        Self::Hello(WaitClientHello::first(config))
    }

    /// Dispatches a message to its handler. Decides which message is legal until a version is
    /// chosen.
    fn read(
        self,
        message: HandshakeMessage<'_>,
        cx: &mut ServerContext<'_>,
    ) -> Result<Self, Failure> {
        match (self, message.typ) {
            (Self::Hello(state), HandshakeType::ClientHello) => state
                .read_client_hello(&message.decode(ClientHello::read)?, message.encoded, cx)
                .map(Self::after_client_hello),
            (Self::Tls13(state), _) => state.read(message, cx).map(Self::Tls13),
            #[cfg(feature = "tls12")]
            (Self::Tls12(state), _) => state.read(message, cx).map(Self::Tls12),

            (Self::Hello(_), _) => Err(unexpected(&message, &[HandshakeType::ClientHello])),
            #[cfg(feature = "std")]
            (Self::Unconfigured, _) => Err(unexpected(&message, &[])),
            // messages stay buffered while the handshake waits
            (Self::WaitAnswer(_) | Self::Failed, _) => Err(unexpected(&message, &[])),
        }
    }

    fn after_client_hello(after: AfterClientHello) -> Self {
        match after {
            AfterClientHello::Waits(next) => Self::WaitAnswer(next),
            AfterClientHello::Retried(next) => Self::Hello(next),
            AfterClientHello::Tls13(next) => Self::Tls13(next),
            #[cfg(feature = "tls12")]
            AfterClientHello::Tls12(next) => Self::Tls12(next),
        }
    }

    /// Polls the operation that the handshake waits for, and returns the next state.
    fn poll_next(
        &mut self,
        task: &mut task::Context<'_>,
        cx: &mut ServerContext<'_>,
    ) -> Poll<Result<Self, Failure>> {
        match self {
            Self::WaitAnswer(state) => ready!(state.poll(task)),
            Self::Tls13(tls13::server::State::Waiting(operation)) => {
                return operation.poll(task, cx).map_ok(Self::Tls13);
            }
            #[cfg(feature = "tls12")]
            Self::Tls12(tls12::server::State::Waiting(operation)) => {
                return operation.poll(task, cx).map_ok(Self::Tls12);
            }
            _ => {}
        }
        Poll::Ready(match mem::replace(self, Self::Failed) {
            Self::WaitAnswer(state) => state.resume(cx).map(Self::after_client_hello),
            others => Ok(others),
        })
    }
}

/// Reads a client's first message and the server name in it, for callers that select a
/// configuration.
///
/// # Errors
///
/// Returns an error if no configuration could accept the message.
#[cfg(feature = "std")]
pub(crate) fn read_client_hello<'a>(
    message: &HandshakeMessage<'a>,
) -> Result<(ClientHello<'a>, Option<DnsName<'static>>), Failure> {
    if message.typ != HandshakeType::ClientHello {
        return Err(unexpected(message, &[HandshakeType::ClientHello]));
    }
    let hello = message.decode(ClientHello::read)?;
    let server_name = check_any_version(&hello)?;
    Ok((hello, server_name))
}

impl Machine<ServerConnectionData> for ServerHandshake {
    fn handle(
        &mut self,
        message: HandshakeMessage<'_>,
        cx: &mut ServerContext<'_>,
    ) -> Result<(), Failure> {
        let state = mem::replace(self, Self::Failed);
        *self = state.read(message, cx)?;
        Ok(())
    }

    #[cfg(feature = "tls12")]
    fn handle_change_cipher_spec(&mut self, cx: &mut ServerContext<'_>) -> Result<(), Failure> {
        match mem::replace(self, Self::Failed) {
            Self::Tls12(state) => {
                *self = Self::Tls12(state.read_change_cipher_spec(cx)?);
                Ok(())
            }
            _ => Err(unexpected_content(
                ContentType::ChangeCipherSpec,
                &[ContentType::Handshake],
            )),
        }
    }

    #[cfg(feature = "std")]
    fn is_ready(&self) -> bool {
        !matches!(self, Self::Unconfigured) && self.wait() == Wait::No
    }

    fn wait(&self) -> Wait {
        match self {
            Self::WaitAnswer(_) => Wait::BeforeFinished,
            Self::Tls13(tls13::server::State::Waiting(operation)) => operation.wait(),
            #[cfg(feature = "tls12")]
            Self::Tls12(tls12::server::State::Waiting(operation)) => operation.wait(),
            _ => Wait::No,
        }
    }

    fn poll_operation(
        &mut self,
        task: &mut task::Context<'_>,
        cx: &mut ServerContext<'_>,
    ) -> Poll<Result<(), Failure>> {
        let next = ready!(self.poll_next(task, cx));
        // a state whose operation is over must not be polled again
        *self = Self::Failed;
        *self = next?;
        Poll::Ready(Ok(()))
    }

    fn server_name<'a>(&self, data: &'a ServerConnectionData) -> Option<&'a str> {
        data.server_name()
    }

    fn fail(&mut self) {
        *self = Self::Failed;
    }
}
