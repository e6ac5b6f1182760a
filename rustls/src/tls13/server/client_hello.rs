//! A ClientHello: which protocol version it gets, and what must hold of it whatever is agreed on.
//!
//! What is agreed on is chosen in [`super::parameters`].

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::DnsName;

use super::flight::Negotiated;
use super::parameters::Selection;
use super::retry::Retry;
use super::{ServerContext, ServerState};
use crate::enums::{AlertDescription, Compression, ProtocolVersion};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::extensions::KeyShareEntry;
use crate::msgs::server_name::ServerNamePayload;
use crate::server::{self, ServerConfig};
use crate::sign::CertifiedKey;
use crate::suites::SupportedCipherSuite;

/// How many bytes of early data records are skipped. No ticket of this server allows any; a client that
/// sends some has its permission from elsewhere, and gets one record's worth of patience.
const MAX_SKIPPED_EARLY_DATA: usize = 1 << 14;

/// Waits for a ClientHello: the first, or the one after a HelloRetryRequest.
pub(super) struct WaitClientHello {
    config: Arc<ServerConfig>,
    retry: Option<Box<Retry>>,
}

impl WaitClientHello {
    pub(super) fn new(config: Arc<ServerConfig>, retry: Option<Box<Retry>>) -> Self {
        Self { config, retry }
    }

    /// Decides on the version, and goes on with its handshake.
    pub(super) fn read_client_hello(
        self,
        hello: &ClientHello<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<ServerState, Error> {
        // RFC 9846 §5: change_cipher_spec is dropped from the first ClientHello on
        cx.common.drops_change_cipher_spec = true;

        match select_version(hello, &self.config)? {
            ProtocolVersion::TLSv1_3 => self.negotiate(hello, encoded, cx),
            // no other version can be enabled
            _ => Err(PeerIncompatible::Tls12NotOfferedOrEnabled.into()),
        }
    }

    /// From RECVD_CH to NEGOTIATED and beyond, or back to START.
    fn negotiate(
        self,
        hello: &ClientHello<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<ServerState, Error> {
        let Self { config, retry } = self;
        let extensions = &hello.extensions;
        check_legacy_fields(hello)?;
        check_mandatory_extensions(extensions)?;
        check_pre_shared_keys(extensions)?;
        let server_name = server_name(extensions)?;
        if let Some(retry) = &retry {
            retry.check(hello, server_name.as_ref(), cx.data)?;
        }
        let certified_key = resolve_certificate(hello, server_name.as_ref(), &config, cx)?;
        let selection = Selection::new(hello, certified_key, retry.as_deref(), &config)?;

        // RFC 9846 §5.1: nothing may follow in the same records. Either answer changes keys, or waits for
        // another flight
        cx.common.receiver.check_aligned()?;
        // RFC 9846 §4.3.10: early data that was not agreed on is skipped
        let early_data = extensions.early_data.then_some(MAX_SKIPPED_EARLY_DATA);
        cx.common.receiver.skip_early_data(early_data);

        cx.data.server_name = server_name;
        cx.common.negotiated_version = Some(ProtocolVersion::TLSv1_3);
        cx.common.suite = Some(SupportedCipherSuite::Tls13(selection.suite()));
        match selection {
            Selection::Agreed(parameters) => {
                let is_retried = retry.is_some();
                let transcript = Retry::transcript(retry, encoded, parameters.suite);
                let negotiated = Negotiated {
                    hello,
                    is_retried,
                    parameters,
                    config,
                };
                negotiated.send_flight(transcript, cx)
            }
            Selection::NeedsShare { suite, group } => {
                Retry::send(hello, encoded, suite, group, config, cx)
            }
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

/// The fields that are fixed in a ClientHello for TLS 1.3.
fn check_legacy_fields(hello: &ClientHello<'_>) -> Result<(), Error> {
    // RFC 9846 §4.2.2: any other legacy_version is answered with protocol_version
    if hello.legacy_version != ProtocolVersion::TLSv1_2 {
        return Err(PeerIncompatible::Tls12NotOffered.into());
    }
    // RFC 9846 §4.2.2: null compression and no other, or illegal_parameter
    match &*hello.compression_methods {
        [Compression::Null] => Ok(()),
        methods if methods.contains(&Compression::Null) => {
            Err(PeerMisbehaved::OfferedIncorrectCompressions.into())
        }
        _ => Err(PeerIncompatible::NullCompressionRequired.into()),
    }
}

/// The extensions that a handshake with a certificate cannot do without.
fn check_mandatory_extensions(extensions: &ClientExtensions<'_>) -> Result<(), Error> {
    // RFC 9846 §4.3.3, §9.2: without one of the three it is missing_extension
    if extensions.signature_algorithms.is_none() {
        return Err(PeerIncompatible::SignatureAlgorithmsExtensionRequired.into());
    }
    if extensions.supported_groups.is_none() {
        return Err(PeerIncompatible::NamedGroupsExtensionRequired.into());
    }
    match &extensions.key_shares {
        None => Err(PeerIncompatible::KeyShareExtensionRequired.into()),
        // RFC 9846 §4.3.8: one share for a group. That they stand in the order of supported_groups, and
        // only what stands there, is the client's business: the choice is made from supported_groups
        Some(shares) if has_duplicate_group(shares) => {
            Err(PeerMisbehaved::OfferedDuplicateKeyShares.into())
        }
        Some(_) => Ok(()),
    }
}

fn has_duplicate_group(shares: &[KeyShareEntry<'_>]) -> bool {
    // clients send few; of the thousands in a hostile list it does not compare each with each
    if shares.len() <= 8 {
        return shares
            .iter()
            .enumerate()
            .any(|(i, share)| shares[..i].iter().any(|other| other.group == share.group));
    }
    let mut groups: Vec<_> = shares.iter().map(|share| u16::from(share.group)).collect();
    groups.sort_unstable();
    groups.windows(2).any(|pair| pair[0] == pair[1])
}

/// What must hold of pre-shared keys, used or not. That they come last is checked when they are read.
fn check_pre_shared_keys(extensions: &ClientExtensions<'_>) -> Result<(), PeerMisbehaved> {
    let Some(offered) = &extensions.pre_shared_key else {
        return Ok(());
    };
    // RFC 9846 §4.3.9: pre_shared_key without psk_key_exchange_modes aborts the handshake
    if extensions.psk_key_exchange_modes.is_none() {
        return Err(PeerMisbehaved::MissingPskModesExtension);
    }
    // RFC 9846 §4.3.11: a binder for each identity
    match offered.identities.len() == offered.binders.len() {
        true => Ok(()),
        false => Err(PeerMisbehaved::PskExtensionWithMismatchedIdsAndBinders),
    }
}

/// The name that the client asks for, in lower case.
fn server_name(
    extensions: &ClientExtensions<'_>,
) -> Result<Option<DnsName<'static>>, PeerMisbehaved> {
    match &extensions.server_name {
        Some(ServerNamePayload::DnsName(name)) => Ok(Some(name.to_lowercase_owned())),
        None | Some(ServerNamePayload::IpAddress) => Ok(None),
        // RFC 6066 §3: a host name it must be
        Some(ServerNamePayload::Invalid) => Err(PeerMisbehaved::ServerNameMustContainOneHostName),
    }
}

/// Has the application choose a certificate. When it has none, the client is told access_denied here, as
/// the error stands for any alert.
fn resolve_certificate(
    hello: &ClientHello<'_>,
    server_name: Option<&DnsName<'_>>,
    config: &ServerConfig,
    cx: &mut ServerContext<'_>,
) -> Result<Arc<CertifiedKey>, Error> {
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
            cx.common.send_fatal_alert(AlertDescription::AccessDenied);
            Error::General("no server certificate chain resolved".into())
        })
}
