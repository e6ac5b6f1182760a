//! The handling of a ClientHello, and the choice of the protocol version.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::{Poll, ready};

#[cfg(feature = "std")]
use pki_types::DnsName;
use rustls_core::codec::Codec;
use rustls_core::operation::BoxFuture;
use sync_wrapper::SyncWrapper;

use super::answers::{Answer, Answers, Stop};
use super::certificate::server_name;
use crate::config::server::ServerConfig;
use crate::config::settings::ServerSettings;
use crate::enums::{AlertDescription, Compression, ProtocolVersion};
use crate::error::PeerIncompatible;
#[cfg(feature = "tls12")]
use crate::error::PeerMisbehaved;
use crate::failure::Failure;
#[cfg(feature = "tls12")]
use crate::handshake::raw_public_key::check_tls12_config;
#[cfg(feature = "tls12")]
use crate::handshake::tls12;
use crate::handshake::tls13::server::negotiation::Negotiation;
use crate::handshake::tls13::server::retry::Retry;
use crate::handshake::{ServerContext, tls13};
use crate::msgs::HandshakeMessage;
use crate::msgs::client_hello::ClientHello;

/// Waits for a ClientHello: the first one, or the one after a HelloRetryRequest.
pub(crate) struct WaitClientHello {
    config: Arc<ServerConfig>,
    /// The state behind a HelloRetryRequest, if one was sent.
    retry: Option<Box<Retry>>,
}

/// The next state after a ClientHello.
pub(super) enum AfterClientHello {
    /// The application's answer takes time.
    Waits(Box<WaitAnswer>),
    /// A HelloRetryRequest was sent.
    Retried(WaitClientHello),
    /// The server's flight was sent, or as much of it as is known.
    Tls13(tls13::server::State),
    /// The server's flight was sent, or as much of it as is known.
    #[cfg(feature = "tls12")]
    Tls12(tls12::server::State),
}

impl WaitClientHello {
    pub(super) fn first(config: Arc<ServerConfig>) -> Self {
        Self {
            config,
            retry: None,
        }
    }

    /// Handles the ClientHello.
    pub(super) fn read_client_hello(
        self,
        hello: &ClientHello<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<AfterClientHello, Failure> {
        let Self { config, retry } = self;
        let received = ReceivedHello {
            // a HelloRetryRequest does not depend on the verifier, so the current one is looked up
            // for each hello
            settings: ServerSettings::now(config, cx.transport.carrier())?,
            retry,
            answers: Answers::new(cx.asking),
        };
        received.answer(hello, encoded, cx)
    }
}

/// A ClientHello was received, and is not answered yet.
struct ReceivedHello {
    settings: ServerSettings,
    retry: Option<Box<Retry>>,
    answers: Answers,
}

impl ReceivedHello {
    /// Chooses the version, and continues with its handshake. Stops if the application's answer
    /// takes time.
    fn answer(
        mut self,
        hello: &ClientHello<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<AfterClientHello, Failure> {
        match self.negotiate(hello, encoded, cx) {
            Ok(Negotiated::Retry(retry)) => Ok(AfterClientHello::Retried(WaitClientHello {
                config: self.settings.into_config(),
                retry: Some(retry),
            })),
            Ok(Negotiated::Tls13(agreed)) => agreed
                .send_flight(self.settings, cx)
                .map(AfterClientHello::Tls13),
            #[cfg(feature = "tls12")]
            Ok(Negotiated::Tls12(agreed)) => agreed
                .send_flight(self.settings, cx)
                .map(AfterClientHello::Tls12),
            Err(Stop::Failed(failure)) => Err(failure),
            Err(Stop::Waits(answer)) => Ok(AfterClientHello::Waits(Box::new(WaitAnswer {
                answer: SyncWrapper::new(answer),
                received: self,
                encoded: encoded.to_vec(),
            }))),
        }
    }

    fn negotiate<'a>(
        &mut self,
        hello: &'a ClientHello<'a>,
        encoded: &'a [u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<Negotiated<'a>, Stop> {
        let Self {
            settings,
            retry,
            answers,
        } = self;
        check_compression(hello)?;
        let server_name = server_name(&hello.extensions)?;
        if let Some(retry) = retry {
            retry.check_server_name(server_name.as_ref())?;
        }
        cx.data.server_name = server_name;
        check_signature_algorithms(hello)?;
        let version = select_version(hello, settings)?;
        if version == ProtocolVersion::TLSv1_3 {
            // RFC 9846 §5.1: nothing may follow in the same record, because the server then changes
            // keys or waits for another flight
            cx.transport.check_aligned()?;
        }
        match version {
            ProtocolVersion::TLSv1_3 => {
                cx.negotiated.version = Some(version);
                match tls13::server::negotiation::negotiate(
                    hello, encoded, settings, retry, answers, cx,
                )? {
                    Negotiation::Retry(retry) => Ok(Negotiated::Retry(retry)),
                    Negotiation::Agreed(agreed) => Ok(Negotiated::Tls13(agreed)),
                }
            }
            #[cfg(feature = "tls12")]
            // RFC 9846 §4.2.2: a second ClientHello must not drop TLS 1.3
            ProtocolVersion::TLSv1_2 if retry.is_some() => {
                Err(PeerMisbehaved::RefusedToFollowHelloRetryRequest.into())
            }
            #[cfg(feature = "tls12")]
            ProtocolVersion::TLSv1_2 => {
                cx.negotiated.version = Some(version);
                check_tls12_config(settings)?;
                cx.transport
                    .set_peer_parameters(&hello.extensions.transport_parameters)?;
                tls12::server::negotiation::negotiate(hello, encoded, settings, answers, cx)
                    .map(Negotiated::Tls12)
            }
            // no other version can be enabled
            _ => Err(PeerIncompatible::Tls12NotOfferedOrEnabled.into()),
        }
    }
}

/// The result of a ClientHello.
#[allow(clippy::large_enum_variant)] // destructured at once: a box would only allocate
enum Negotiated<'a> {
    /// A HelloRetryRequest was sent.
    Retry(Box<Retry>),
    Tls13(tls13::server::flight::Agreed<'a>),
    #[cfg(feature = "tls12")]
    Tls12(tls12::server::negotiation::Agreed<'a>),
}

/// Waits for an answer of the application. The ClientHello is then handled again.
pub(crate) struct WaitAnswer {
    /// A future may be `Send` only. Connections are `Sync`, and only poll it through `&mut`.
    answer: SyncWrapper<BoxFuture<Answer>>,
    received: ReceivedHello,
    /// The ClientHello.
    encoded: Vec<u8>,
}

impl WaitAnswer {
    /// Polls the answer, and keeps it once it has arrived.
    pub(super) fn poll(&mut self, task: &mut core::task::Context<'_>) -> Poll<()> {
        let answer = ready!(self.answer.get_mut().as_mut().poll(task));
        self.received.answers.add(answer);
        Poll::Ready(())
    }

    /// Handles the ClientHello again, after the answer has arrived.
    pub(super) fn resume(self, cx: &mut ServerContext<'_>) -> Result<AfterClientHello, Failure> {
        let message = HandshakeMessage::new(&self.encoded)?;
        let hello = message.decode(ClientHello::read)?;
        self.received.answer(&hello, &self.encoded, cx)
    }
}

/// Runs the checks that depend on no version. Returns the server name.
#[cfg(feature = "std")]
pub(super) fn check_any_version(
    hello: &ClientHello<'_>,
) -> Result<Option<DnsName<'static>>, Failure> {
    check_compression(hello)?;
    let server_name = server_name(&hello.extensions)?;
    check_signature_algorithms(hello)?;
    Ok(server_name)
}

fn check_compression(hello: &ClientHello<'_>) -> Result<(), PeerIncompatible> {
    // RFC 9846 §4.2.2, RFC 5246 §7.4.1.2: the null method is mandatory, and no other is supported
    match hello.compression_methods.contains(&Compression::Null) {
        true => Ok(()),
        false => Err(PeerIncompatible::NullCompressionRequired),
    }
}

/// Checks that there is a signature_algorithms extension, even if the client has no version in
/// common. As in rustls 0.23, the error then names the extension: clients older than TLS 1.2 do not
/// send it.
fn check_signature_algorithms(hello: &ClientHello<'_>) -> Result<(), Failure> {
    let extensions = &hello.extensions;
    if extensions.signature_algorithms.is_some() {
        return Ok(());
    }
    let versions = extensions.supported_versions.as_deref().unwrap_or(&[]);
    let error = PeerIncompatible::SignatureAlgorithmsExtensionRequired;
    Err(if versions.contains(&ProtocolVersion::TLSv1_3) {
        // RFC 9846 §9.2: missing_extension
        error.into()
    } else {
        // RFC 5246 §7.4.1.4.1: without the extension, the client only supports SHA-1, which is not
        // used here. TLS 1.2 and older do not have the alert missing_extension
        Failure::new(error, AlertDescription::HandshakeFailure)
    })
}

/// Chooses the protocol version. No other code does.
fn select_version(
    hello: &ClientHello<'_>,
    config: &ServerSettings,
) -> Result<ProtocolVersion, PeerIncompatible> {
    // RFC 9846 §4.3.1: with supported_versions, only its known values count
    if let Some(offered) = &hello.extensions.supported_versions {
        return config
            .versions
            .iter()
            .find(|version| offered.contains(version))
            .ok_or(PeerIncompatible::Tls12NotOfferedOrEnabled);
    }
    // RFC 9846 §4.3.1: without it, at most TLS 1.2. Older versions are rejected with
    // protocol_version
    match u16::from(hello.legacy_version) {
        0x0303.. if config.versions.contains(ProtocolVersion::TLSv1_2) => {
            Ok(ProtocolVersion::TLSv1_2)
        }
        0x0303.. => Err(config.carrier.missing_tls13()),
        _ => Err(PeerIncompatible::Tls12NotOffered),
    }
}
