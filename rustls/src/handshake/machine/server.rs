//! A server's handshake: from the ClientHello to the choice of the version, then through that
//! version's states.
//!
//! ```text
//!      START ──► Unconfigured: the application reads the ClientHello and chooses a configuration
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

mod client_hello;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::mem;
use core::task::{self, Poll, ready};

#[cfg(feature = "std")]
use pki_types::DnsName;

use self::client_hello::WaitClientHello;
#[cfg(feature = "std")]
use self::client_hello::check_any_version;
use crate::config::server::ServerConfig;
#[cfg(feature = "tls12")]
use crate::enums::ContentType;
use crate::enums::HandshakeType;
use crate::failure::Failure;
use crate::handshake::operation::Operation;
use crate::handshake::server::connection_data::ServerConnectionData;
#[cfg(feature = "tls12")]
use crate::handshake::tls12;
#[cfg(feature = "tls12")]
use crate::handshake::unexpected_content;
use crate::handshake::wait::Wait;
use crate::handshake::{Machine, ServerContext, tls13, unexpected};
use crate::msgs::HandshakeMessage;
use crate::msgs::client_hello::ClientHello;

/// The state of a server's handshake, in either version.
pub(crate) enum ServerHandshake {
    /// Waits for a configuration. Messages stay buffered until there is one.
    #[cfg(feature = "std")]
    Unconfigured,
    /// Waits for a ClientHello.
    Hello(WaitClientHello),
    /// Waits for an operation that a ClientHello needs. Messages stay buffered.
    Waiting(Box<Operation<Self, ServerConnectionData>>),
    Tls13(tls13::server::State),
    #[cfg(feature = "tls12")]
    Tls12(tls12::server::State),
    /// The handshake has failed.
    Failed,
}

impl From<Operation<Self, ServerConnectionData>> for ServerHandshake {
    fn from(operation: Operation<Self, ServerConnectionData>) -> Self {
        Self::Waiting(Box::new(operation))
    }
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
            (Self::Hello(state), HandshakeType::ClientHello) => {
                let mut hello = ClientHello::empty();
                message.decode(|r| hello.fill(r))?;
                state.read_client_hello(&hello, message.encoded, cx)
            }
            (Self::Tls13(state), _) => state.read(message, cx).map(Self::Tls13),
            #[cfg(feature = "tls12")]
            (Self::Tls12(state), _) => state.read(message, cx).map(Self::Tls12),

            (Self::Hello(_), _) => Err(unexpected(&message, &[HandshakeType::ClientHello])),
            #[cfg(feature = "std")]
            (Self::Unconfigured, _) => Err(unexpected(&message, &[])),
            // messages stay buffered while the handshake is waiting
            (Self::Waiting(_) | Self::Failed, _) => Err(unexpected(&message, &[])),
        }
    }
}

/// Reads a client's first message and the server name in it, for callers that select a
/// configuration.
///
/// # Errors
///
/// Returns an error if the message is not a ClientHello, cannot be decoded, or fails a check that
/// does not depend on the version.
#[cfg(feature = "std")]
pub(crate) fn read_client_hello<'a>(
    message: &HandshakeMessage<'a>,
) -> Result<(ClientHello<'a>, Option<DnsName<'static>>), Failure> {
    if message.typ != HandshakeType::ClientHello {
        return Err(unexpected(message, &[HandshakeType::ClientHello]));
    }
    let mut hello = ClientHello::empty();
    message.decode(|r| hello.fill(r))?;
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
        !matches!(self, Self::Unconfigured) && self.wait().is_none()
    }

    fn wait(&self) -> Option<Wait> {
        match self {
            Self::Waiting(operation) => Some(operation.wait()),
            Self::Tls13(tls13::server::State::Waiting(operation)) => Some(operation.wait()),
            #[cfg(feature = "tls12")]
            Self::Tls12(tls12::server::State::Waiting(operation)) => Some(operation.wait()),
            _ => None,
        }
    }

    fn poll_operation(
        &mut self,
        task: &mut task::Context<'_>,
        cx: &mut ServerContext<'_>,
    ) -> Poll<Result<(), Failure>> {
        let next = match self {
            Self::Waiting(operation) => ready!(operation.poll(task, cx)),
            Self::Tls13(tls13::server::State::Waiting(operation)) => {
                ready!(operation.poll(task, cx)).map(Self::Tls13)
            }
            #[cfg(feature = "tls12")]
            Self::Tls12(tls12::server::State::Waiting(operation)) => {
                ready!(operation.poll(task, cx)).map(Self::Tls12)
            }
            _ => return Poll::Ready(Ok(())),
        };
        // an operation that is over must not be polled again
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
