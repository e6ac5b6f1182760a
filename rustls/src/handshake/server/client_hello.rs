//! The handling of a ClientHello, and the choice of the protocol version.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::config::server::ServerConfig;
use crate::config::settings::ServerSettings;
use crate::enums::ProtocolVersion;
use crate::error::PeerIncompatible;
#[cfg(feature = "tls12")]
use crate::error::PeerMisbehaved;
use crate::failure::Failure;
use crate::handshake::ServerContext;
#[cfg(feature = "tls12")]
use crate::handshake::raw_public_key::check_tls12_offer;
#[cfg(feature = "tls12")]
use crate::handshake::tls12;
use crate::handshake::tls13::server::State;
use crate::handshake::tls13::server::negotiation::{Negotiation, negotiate};
use crate::handshake::tls13::server::retry::Retry;
use crate::msgs::client_hello::ClientHello;

/// Waits for a ClientHello: the first one, or the one after a HelloRetryRequest.
pub(crate) struct WaitClientHello {
    config: Arc<ServerConfig>,
    /// The state behind a HelloRetryRequest, if one was sent.
    retry: Option<Box<Retry>>,
}

/// The next state after a ClientHello.
pub(super) enum AfterClientHello {
    /// A HelloRetryRequest was sent.
    Retried(WaitClientHello),
    /// The server's flight was sent.
    Tls13(State),
    /// The server's flight was sent.
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

    /// Chooses the version, and continues with its handshake.
    pub(super) fn read_client_hello(
        self,
        hello: &ClientHello<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<AfterClientHello, Failure> {
        let Self { config, retry } = self;
        // a HelloRetryRequest does not depend on the verifier, so the current one is looked up for
        // each hello
        let settings = ServerSettings::now(config, cx.transport.carrier())?;
        match select_version(hello, &settings)? {
            ProtocolVersion::TLSv1_3 => match negotiate(hello, encoded, &settings, retry, cx)? {
                Negotiation::Retry(retry) => Ok(AfterClientHello::Retried(Self {
                    config: settings.into_config(),
                    retry: Some(retry),
                })),
                Negotiation::Agreed(agreed) => agreed
                    .send_flight(settings, cx)
                    .map(AfterClientHello::Tls13),
            },
            #[cfg(feature = "tls12")]
            // RFC 9846 §4.2.2: a second ClientHello must not drop TLS 1.3
            ProtocolVersion::TLSv1_2 if retry.is_some() => {
                Err(PeerMisbehaved::RefusedToFollowHelloRetryRequest.into())
            }
            #[cfg(feature = "tls12")]
            ProtocolVersion::TLSv1_2 => {
                check_tls12_offer(&hello.extensions, &settings)?;
                cx.transport
                    .set_peer_parameters(&hello.extensions.transport_parameters)?;
                tls12::server::negotiation::negotiate(hello, encoded, settings, cx)
                    .map(AfterClientHello::Tls12)
            }
            // no other version can be enabled
            _ => Err(PeerIncompatible::Tls12NotOfferedOrEnabled.into()),
        }
    }
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
