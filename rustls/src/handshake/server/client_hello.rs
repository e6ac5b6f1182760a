//! A ClientHello, and which protocol version it gets.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::enums::ProtocolVersion;
use crate::error::PeerIncompatible;
#[cfg(feature = "tls12")]
use crate::error::PeerMisbehaved;
#[cfg(feature = "tls12")]
use crate::handshake::raw_public_key::check_tls12_offer;
use crate::handshake::settings::ServerSettings;
use crate::handshake::{Failure, ServerContext};
use crate::msgs::client_hello::ClientHello;
use crate::server::ServerConfig;
#[cfg(feature = "tls12")]
use crate::tls12;
use crate::tls13::server::State;
use crate::tls13::server::negotiation::{Negotiation, negotiate};
use crate::tls13::server::retry::Retry;

/// Waits for a ClientHello: the first, or the one after a HelloRetryRequest.
pub(crate) struct WaitClientHello {
    config: Arc<ServerConfig>,
    /// What the HelloRetryRequest settled, if one was sent.
    retry: Option<Box<Retry>>,
}

/// What a ClientHello leads to.
pub(super) enum Answered {
    /// A HelloRetryRequest was sent.
    Retried(WaitClientHello),
    /// The server's flight was sent.
    Tls13(State),
    /// The same.
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

    /// Decides on the version, and goes on with its handshake.
    pub(super) fn read_client_hello(
        self,
        hello: &ClientHello<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<Answered, Failure> {
        let Self { config, retry } = self;
        // nothing was asked of the verifier before: a HelloRetryRequest says nothing about it
        let settings = ServerSettings::now(config, cx.transport.carrier())?;
        match select_version(hello, &settings)? {
            ProtocolVersion::TLSv1_3 => match negotiate(hello, encoded, &settings, retry, cx)? {
                Negotiation::Retry(retry) => Ok(Answered::Retried(Self {
                    config: settings.into_config(),
                    retry: Some(retry),
                })),
                Negotiation::Agreed(agreed) => {
                    agreed.send_flight(settings, cx).map(Answered::Tls13)
                }
            },
            #[cfg(feature = "tls12")]
            // RFC 9846 §4.2.2: the second ClientHello is the first, but for what the retry asks for
            ProtocolVersion::TLSv1_2 if retry.is_some() => {
                Err(PeerMisbehaved::RefusedToFollowHelloRetryRequest.into())
            }
            #[cfg(feature = "tls12")]
            ProtocolVersion::TLSv1_2 => {
                check_tls12_offer(&hello.extensions, &settings)?;
                cx.transport
                    .set_peer_parameters(&hello.extensions.transport_parameters)?;
                tls12::server::negotiation::negotiate(hello, encoded, settings, cx)
                    .map(Answered::Tls12)
            }
            // no other version can be enabled
            _ => Err(PeerIncompatible::Tls12NotOfferedOrEnabled.into()),
        }
    }
}

/// The one place where the protocol version is decided.
fn select_version(
    hello: &ClientHello<'_>,
    config: &ServerSettings,
) -> Result<ProtocolVersion, PeerIncompatible> {
    // RFC 9846 §4.3.1: with supported_versions, nothing but its known values counts
    if let Some(offered) = &hello.extensions.supported_versions {
        return config
            .versions
            .iter()
            .find(|version| offered.contains(version))
            .ok_or(PeerIncompatible::Tls12NotOfferedOrEnabled);
    }
    // RFC 9846 §4.3.1: without it, TLS 1.2 at best, and what is older than that is refused with protocol_version
    match u16::from(hello.legacy_version) {
        0x0303.. if config.versions.contains(ProtocolVersion::TLSv1_2) => {
            Ok(ProtocolVersion::TLSv1_2)
        }
        0x0303.. => Err(config.carrier.missing_tls13()),
        _ => Err(PeerIncompatible::Tls12NotOffered),
    }
}
