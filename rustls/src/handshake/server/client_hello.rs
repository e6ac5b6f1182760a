//! A ClientHello: which protocol version it gets, and what it means whatever the version.

use alloc::boxed::Box;
use alloc::sync::Arc;

use pki_types::DnsName;

use super::ServerContext;
use crate::enums::{AlertDescription, ProtocolVersion};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::Failure;
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::server_name::ServerNamePayload;
use crate::server::{self, ServerConfig};
use crate::sign::CertifiedKey;
use crate::tls13::server::retry::Retry;
use crate::tls13::server::{Negotiated, State, negotiate};

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
        match select_version(hello, &config)? {
            ProtocolVersion::TLSv1_3 => match negotiate(hello, encoded, &config, retry, cx)? {
                Negotiated::Retry(retry) => Ok(Answered::Retried(Self {
                    config,
                    retry: Some(retry),
                })),
                Negotiated::Agreed(agreed) => agreed.send_flight(config, cx).map(Answered::Tls13),
            },
            // no other version can be enabled
            _ => Err(PeerIncompatible::Tls12NotOfferedOrEnabled.into()),
        }
    }
}

/// The one place where the protocol version is decided.
fn select_version(
    hello: &ClientHello<'_>,
    config: &ServerConfig,
) -> Result<ProtocolVersion, PeerIncompatible> {
    // RFC 9846 §4.3.1: with supported_versions, nothing but its known values counts
    if let Some(offered) = &hello.extensions.supported_versions {
        return config
            .versions
            .iter()
            .find(|version| offered.contains(version))
            .ok_or(PeerIncompatible::Tls12NotOfferedOrEnabled);
    }
    // RFC 9846 §E.2: without it, what legacy_version says is too old: protocol_version
    Err(match u16::from(hello.legacy_version) {
        0x0303.. => PeerIncompatible::SupportedVersionsExtensionRequired,
        _ => PeerIncompatible::Tls12NotOffered,
    })
}

/// The name that the client asks for, in lower case.
pub(crate) fn server_name(
    extensions: &ClientExtensions<'_>,
) -> Result<Option<DnsName<'static>>, PeerMisbehaved> {
    match &extensions.server_name {
        Some(ServerNamePayload::DnsName(name)) => Ok(Some(name.to_lowercase_owned())),
        None | Some(ServerNamePayload::IpAddress) => Ok(None),
        // RFC 6066 §3: the name must be a host name
        Some(ServerNamePayload::Invalid) => Err(PeerMisbehaved::ServerNameMustContainOneHostName),
    }
}

/// Has the application choose a certificate. When it has none, the client is told access_denied.
pub(crate) fn resolve_certificate(
    hello: &ClientHello<'_>,
    server_name: Option<&DnsName<'_>>,
    config: &ServerConfig,
) -> Result<Arc<CertifiedKey>, Failure> {
    let extensions = &hello.extensions;
    let view = server::ClientHello {
        server_name: server_name.map(AsRef::as_ref),
        signature_schemes: extensions.signature_algorithms.as_deref().unwrap_or(&[]),
        alpn: extensions.alpn_protocol_names.as_deref(),
        server_cert_types: extensions.server_certificate_type.as_deref(),
        client_cert_types: extensions.client_certificate_type.as_deref(),
        cipher_suites: &hello.cipher_suites,
        certificate_authorities: extensions.certificate_authorities.as_deref(),
        named_groups: extensions.supported_groups.as_deref(),
    };
    config
        .cert_resolver
        .resolve(view)
        // RFC 9846 §4.5.1: the server's certificate_list must not be empty
        .filter(|certified_key| !certified_key.cert.is_empty())
        .ok_or_else(|| {
            Failure::new(
                Error::General("no server certificate chain resolved".into()),
                AlertDescription::AccessDenied,
            )
        })
}
