//! The negotiated parameters (RFC 9846 §4.2.1): cipher suite, key exchange group, application
//! protocol, and signature scheme. This code only chooses; it neither sends nor stores anything.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rustls_core::crypto::SupportedKxGroup;

use super::retry::Retry;
use crate::config::server::ServerConfig;
use crate::config::settings::ServerSettings;
use crate::config::sign::{CertifiedKey, Signer};
use crate::enums::{NamedGroup, ProtocolVersion, SignatureScheme};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::raw_public_key::CertificateTypes;
use crate::handshake::server::protocol::select_protocol;
use crate::msgs::client_hello::ClientHello;
use crate::suites::{SupportedCipherSuite, Tls13CipherSuite};

/// The result of the selection from one ClientHello.
pub(super) enum Selection<'a> {
    /// All parameters are selected.
    Agreed(Parameters<'a>),
    /// The client supports this group, but sent no share for it.
    NeedsShare {
        suite: &'static Tls13CipherSuite,
        group: &'static dyn SupportedKxGroup,
    },
}

/// The parameters of the handshake.
pub(super) struct Parameters<'a> {
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) group: &'static dyn SupportedKxGroup,
    /// The client's share for `group`.
    pub(super) client_share: &'a [u8],
    pub(super) alpn_protocol: Option<Vec<u8>>,
    pub(super) certificate_types: CertificateTypes,
}

impl<'a> Selection<'a> {
    /// Selects parameters from `hello`, which has the mandatory extensions. `retry` is the state of
    /// a HelloRetryRequest.
    ///
    /// # Errors
    ///
    /// Returns an error that names the parameter without a common value, or the one that changed
    /// after the HelloRetryRequest.
    pub(super) fn new(
        hello: &'a ClientHello<'_>,
        retry: Option<&Retry>,
        config: &ServerSettings,
    ) -> Result<Self, Error> {
        let group = select_group(hello, retry, config)?;
        let suite = select_suite(hello, retry, config)?;
        let Some(client_share) = share_of(hello, group.name()) else {
            return Ok(Self::NeedsShare { suite, group });
        };
        Ok(Self::Agreed(Parameters {
            suite,
            group,
            client_share,
            alpn_protocol: select_protocol(hello, config)?,
            certificate_types: CertificateTypes::select(&hello.extensions, config)?,
        }))
    }
}

/// Returns the client's most preferred group that the provider has, even if another one would save
/// a round trip. RFC 9846 §4.3.8 allows both; this respects the client's preference.
fn select_group(
    hello: &ClientHello<'_>,
    retry: Option<&Retry>,
    config: &ServerConfig,
) -> Result<&'static dyn SupportedKxGroup, Error> {
    let offered = hello.extensions.supported_groups.as_deref().unwrap_or(&[]);
    if let Some(retry) = retry {
        // RFC 9846 §4.3.8: shares are for groups in supported_groups, so the group must still be
        // listed
        if !offered.contains(&retry.group.name()) {
            return Err(PeerMisbehaved::RefusedToFollowHelloRetryRequest.into());
        }
        return Ok(retry.group);
    }
    let ours = &config.provider.kx_groups;
    offered
        .iter()
        .find_map(|name| {
            ours.iter()
                .find(|group| group.name() == *name && is_usable(**group))
        })
        .copied()
        // RFC 9846 §4.2.1: without a common group the alert is handshake_failure
        .ok_or_else(|| PeerIncompatible::NoKxGroupsInCommon.into())
}

fn is_usable(group: &dyn SupportedKxGroup) -> bool {
    group.usable_for_version(ProtocolVersion::TLSv1_3)
}

/// Returns the client's share for the group `name`.
fn share_of<'a>(hello: &'a ClientHello<'_>, name: NamedGroup) -> Option<&'a [u8]> {
    let shares = hello.extensions.key_shares.as_deref()?;
    let share = shares.iter().find(|share| share.group == name)?;
    Some(share.payload)
}

/// Returns the first common suite, in the client's order, or in the provider's order if
/// `ignore_client_order` is set.
fn select_suite(
    hello: &ClientHello<'_>,
    retry: Option<&Retry>,
    config: &ServerSettings,
) -> Result<&'static Tls13CipherSuite, Error> {
    let offered = &hello.cipher_suites;
    let mut ours = config
        .provider
        .cipher_suites
        .iter()
        .filter(|suite| config.carrier.can_use(suite))
        .filter_map(SupportedCipherSuite::tls13);
    let selected = if config.ignore_client_order {
        ours.find(|suite| offered.contains(&suite.common.suite))
    } else {
        offered
            .iter()
            .find_map(|offered| ours.clone().find(|suite| suite.common.suite == *offered))
    };
    // RFC 9846 §4.2.1: without a common suite the alert is handshake_failure
    let selected = selected.ok_or(PeerIncompatible::NoCipherSuitesInCommon)?;
    match retry {
        // RFC 9846 §4.2.4: the suite must be that of the HelloRetryRequest
        Some(retry) if retry.suite != selected => {
            Err(PeerMisbehaved::CipherSuiteDifferedOnRetry.into())
        }
        _ => Ok(selected),
    }
}

/// Returns the certificate's key with its preferred scheme, among those that the client can verify.
pub(super) fn select_signer(
    hello: &ClientHello<'_>,
    certified_key: &CertifiedKey,
) -> Result<Box<dyn Signer>, Error> {
    let offered = hello
        .extensions
        .signature_algorithms
        .as_deref()
        .unwrap_or(&[]);
    // RFC 9846 §4.3.3: RSASSA-PKCS1-v1_5 and SHA-1 are only for certificates
    let mut usable = offered.to_vec();
    usable.retain(SignatureScheme::supported_in_tls13);
    certified_key
        .key
        .choose_scheme(&usable)
        // RFC 9846 §4.2.1: without a common scheme the alert is handshake_failure
        .ok_or_else(|| PeerIncompatible::NoSignatureSchemesInCommon.into())
}
