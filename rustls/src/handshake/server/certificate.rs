//! The choice of a certificate for a ClientHello, in either version: the requested name, and the
//! application's resolver.

use alloc::sync::Arc;

use pki_types::DnsName;

use crate::callbacks::{Callbacks, Called};
use crate::config::resolver::client_hello::{self, DecodedLists, Lists};
use crate::config::server::ServerConfig;
use crate::config::sign::CertifiedKey;
use crate::enums::{AlertDescription, SignatureScheme};
use crate::error::{Error, PeerMisbehaved};
use crate::failure::Failure;
use crate::logging::trace;
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::server_name::ServerNamePayload;

/// Returns the server name that the client requested, in lower case. Ignores IP addresses.
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

/// Calls the resolver to choose a certificate for a client that can verify `signature_schemes`. If
/// that is `None`, the client can verify the schemes in its signature_algorithms.
pub(crate) fn resolve_certificate(
    hello: &ClientHello<'_>,
    signature_schemes: Option<&[SignatureScheme]>,
    server_name: Option<&DnsName<'_>>,
    config: &ServerConfig,
    callbacks: Callbacks,
) -> Called<Option<Arc<CertifiedKey>>> {
    trace!("choosing a certificate for {server_name:?}");
    let resolver = &config.cert_resolver;
    let extensions = &hello.extensions;
    let view = || client_hello::ClientHello {
        server_name: server_name.map(AsRef::as_ref),
        lists: Lists::Decoded(DecodedLists {
            signature_schemes: signature_schemes
                .or(extensions.signature_algorithms.as_deref())
                .unwrap_or(&[]),
            alpn: extensions.alpn_protocol_names.as_deref(),
            server_cert_types: extensions.server_certificate_type.as_deref(),
            client_cert_types: extensions.client_certificate_type.as_deref(),
            cipher_suites: &hello.cipher_suites,
            certificate_authorities: extensions.certificate_authorities.as_deref(),
            named_groups: extensions.supported_groups.as_deref(),
        }),
    };
    callbacks.call(
        || resolver.resolve_async(view()),
        || resolver.resolve(view()),
    )
}

/// Returns the certificate that the resolver has chosen. Fails with access_denied if there is none,
/// or if its chain is empty.
pub(crate) fn require_certificate(
    resolved: Option<Arc<CertifiedKey>>,
) -> Result<Arc<CertifiedKey>, Failure> {
    resolved
        // RFC 9846 §4.5.1: the server's certificate_list must not be empty
        .filter(|certified_key| !certified_key.cert.is_empty())
        .ok_or_else(|| {
            Failure::new(
                Error::General("no server certificate chain resolved".into()),
                AlertDescription::AccessDenied,
            )
        })
}
