//! A client's handshake: from the ClientHello to the choice of the version, then through that
//! version's states.
//!
//! ```text
//!   start ── ClientHello ──► Hello ◄──┐
//!                             │  └────┘ HelloRetryRequest, once     (tls13::client::retry)
//!                             │ ServerHello: which version?         (version)
//!                    ┌────────┴────────┐
//!                    ▼                 ▼
//!               Tls13(State)      Tls12(State)                      (tls13::client, tls12::client)
//! ```

mod version;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::task::{self, Poll, ready};

use pki_types::ServerName;

use self::version::select_version;
use super::Version;
use crate::config::client::ClientConfig;
use crate::config::observer::handshake::{EarlyData, NotResumed};
use crate::config::settings::ClientSettings;
#[cfg(feature = "tls12")]
use crate::enums::ContentType;
use crate::enums::HandshakeType;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::client::connection_data::ClientConnectionData;
use crate::handshake::client::key_shares::KeyShares;
use crate::handshake::client::offer::Offer;
use crate::handshake::client::offered_session::OfferedSession;
use crate::handshake::client::sent_hello::SentHello;
#[cfg(feature = "tls12")]
use crate::handshake::tls12;
#[cfg(feature = "tls12")]
use crate::handshake::tls12::client::resumption::{StoreEntry, stored_session};
#[cfg(feature = "tls12")]
use crate::handshake::unexpected_content;
use crate::handshake::wait::Wait;
use crate::handshake::{ClientContext, Machine, client, tls13, unexpected};
use crate::msgs::HandshakeMessage;
use crate::msgs::server_hello::{self, Received};
use crate::suites::SupportedCipherSuite;

/// The state of a client's handshake, in either version.
pub(crate) enum ClientHandshake {
    /// A ClientHello was sent.
    Hello(Box<SentHello>),
    Tls13(tls13::client::State),
    #[cfg(feature = "tls12")]
    Tls12(tls12::client::State),
    /// The handshake has failed.
    Failed,
}

impl ClientHandshake {
    /// Starts a connection to `server_name` and sends the ClientHello.
    ///
    /// # Errors
    ///
    /// Returns for example [`Error::General`] if the configuration does not fit into a ClientHello,
    /// [`Error::FailedToGetRandomBytes`], errors from starting a key exchange, and HPKE errors with
    /// ECH or its GREASE.
    pub(crate) fn start(
        config: Arc<ClientConfig>,
        server_name: ServerName<'static>,
        alpn_protocols: Vec<Vec<u8>>,
        cx: &mut ClientContext<'_>,
    ) -> Result<Self, Error> {
        let config = ClientSettings::now(config, cx.transport.carrier());
        client::config_limits::check(&config, &alpn_protocols)?;

        // boxed from the beginning, because it is large
        let mut offer = Box::new(Offer::new(
            config,
            server_name,
            alpn_protocols,
            cx.transport,
        )?);
        // applications' tests depend on the order of calls to the store, so keep it
        let ticket = OfferedSession::take(&offer);
        #[cfg(feature = "tls12")]
        let tls12_session = match ticket {
            Some(_) => None,
            None => stored_session(&offer.config, &offer.server_name, &mut cx.negotiated.facts),
        };
        let facts = &mut cx.negotiated.facts;
        let session = ticket.and_then(|value| {
            OfferedSession::new(value, &offer)
                .inspect_err(|reason| facts.not_resumed = Some(*reason))
                .ok()
        });
        if session
            .as_ref()
            .is_some_and(|session| session.with_early_data)
        {
            facts.early_data = EarlyData::Offered;
        }
        // the session's suite is reported until the server chooses one
        let suite = session.as_ref().map(|session| session.suite());
        cx.negotiated.suite = suite.map(SupportedCipherSuite::Tls13);
        offer.find_kx_hint();
        let shares = if offer.offers_tls13() {
            Some(KeyShares::start(offer.first_group()?, offer.groups())?)
        } else {
            None
        };
        #[cfg(feature = "tls12")]
        if let Some(session) = tls12_session {
            *cx.session = Some(StoreEntry::of(&offer));
            facts.not_resumed = offer.add_tls12_session(session, shares.as_ref())?;
        }
        let outer = client::ech::prepare(&mut offer, shares.as_ref(), session.as_deref())?;
        cx.negotiated.facts.ech = Some(offer.ech.status());
        let has_session = session.is_some();
        let sent = SentHello::send_first(offer, shares, session, outer, cx.transport)?;
        if has_session && sent.session.is_none() {
            let facts = &mut cx.negotiated.facts;
            facts.not_resumed = Some(NotResumed::TooLong);
            facts.early_data = EarlyData::NotOffered;
        }
        Ok(Self::Hello(Box::new(sent)))
    }

    /// Dispatches a message to its handler. Decides which message is legal until a version is
    /// chosen.
    fn read(
        self,
        message: HandshakeMessage<'_>,
        cx: &mut ClientContext<'_>,
    ) -> Result<Self, Failure> {
        let encoded = message.encoded;
        match (self, message.typ) {
            (Self::Hello(state), HandshakeType::ServerHello) => {
                match message.decode(server_hello::read)? {
                    // RFC 9846 §4.2.4: a second HelloRetryRequest is an unexpected_message. TLS 1.2
                    // does not have this message
                    Received::HelloRetryRequest(_) if !state.accepts_retry() => Err(unexpected(
                        &HandshakeMessage {
                            typ: HandshakeType::HelloRetryRequest,
                            ..message
                        },
                        &[HandshakeType::ServerHello],
                    )),
                    Received::HelloRetryRequest(request) => {
                        tls13::client::retry::read_hello_retry_request(state, request, encoded, cx)
                            .map(Self::Hello)
                    }
                    Received::ServerHello(hello) => match select_version(&state, &hello)? {
                        #[cfg(feature = "tls12")]
                        Version::Tls12 => {
                            tls12::client::State::start(state, &hello, encoded, cx).map(Self::Tls12)
                        }
                        Version::Tls13 => {
                            let next = tls13::client::State::start(state, &hello, encoded, cx)?;
                            #[cfg(feature = "tls12")]
                            {
                                *cx.session = None;
                            }
                            Ok(Self::Tls13(next))
                        }
                    },
                }
            }

            (Self::Tls13(state), _) => state.read(message, cx).map(Self::Tls13),
            #[cfg(feature = "tls12")]
            (Self::Tls12(state), _) => state.read(message, cx).map(Self::Tls12),

            (Self::Hello(state), _) if !state.accepts_retry() => {
                Err(unexpected(&message, &[HandshakeType::ServerHello]))
            }
            (Self::Hello(_), _) => Err(unexpected(
                &message,
                &[HandshakeType::ServerHello, HandshakeType::HelloRetryRequest],
            )),
            (Self::Failed, _) => Err(unexpected(&message, &[])),
        }
    }
}

impl Machine<ClientConnectionData> for ClientHandshake {
    fn handle(
        &mut self,
        message: HandshakeMessage<'_>,
        cx: &mut ClientContext<'_>,
    ) -> Result<(), Failure> {
        let state = mem::replace(self, Self::Failed);
        *self = state.read(message, cx)?;
        Ok(())
    }

    #[cfg(feature = "tls12")]
    fn handle_change_cipher_spec(&mut self, cx: &mut ClientContext<'_>) -> Result<(), Failure> {
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

    fn wait(&self) -> Option<Wait> {
        match self {
            Self::Tls13(tls13::client::State::Waiting(operation)) => Some(operation.wait()),
            #[cfg(feature = "tls12")]
            Self::Tls12(tls12::client::State::Waiting(operation)) => Some(operation.wait()),
            _ => None,
        }
    }

    fn poll_operation(
        &mut self,
        task: &mut task::Context<'_>,
        cx: &mut ClientContext<'_>,
    ) -> Poll<Result<(), Failure>> {
        let next = match self {
            Self::Tls13(tls13::client::State::Waiting(operation)) => {
                ready!(operation.poll(task, cx)).map(Self::Tls13)
            }
            #[cfg(feature = "tls12")]
            Self::Tls12(tls12::client::State::Waiting(operation)) => {
                ready!(operation.poll(task, cx)).map(Self::Tls12)
            }
            _ => return Poll::Ready(Ok(())),
        };
        // a state whose operation is over must not be polled again
        *self = Self::Failed;
        *self = next?;
        Poll::Ready(Ok(()))
    }

    fn fail(&mut self) {
        *self = Self::Failed;
    }
}
