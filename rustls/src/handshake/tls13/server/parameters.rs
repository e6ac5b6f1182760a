//! The negotiated parameters (RFC 9846 §4.2.1): cipher suite, key exchange group, application
//! protocol, certificate types, and signature scheme. This code only chooses; it neither sends nor
//! stores anything.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use rustls_core::crypto::SupportedKxGroup;

use super::retry::Retry;
use crate::config::server::ServerConfig;
use crate::config::settings::ServerSettings;
use crate::config::sign::{CertifiedKey, Signer};
use crate::enums::{NamedGroup, ProtocolVersion, PskKeyExchangeMode, SignatureScheme};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::raw_public_key::CertificateTypes;
use crate::handshake::server::protocol::select_protocol;
use crate::msgs::client_extensions::{ClientExtensions, TicketRequest};
use crate::msgs::client_hello::{ClientHello, Random, SessionId};
use crate::suites::{SupportedCipherSuite, Tls13CipherSuite};

/// The cipher suite and the key exchange group, which are selected first.
pub(super) struct Selection<'a> {
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) group: &'static dyn SupportedKxGroup,
    /// The client's share for `group`, if it sent one.
    pub(super) client_share: Option<&'a [u8]>,
}

/// The properties of a ClientHello that are still needed when the reply is sent.
#[derive(Clone, Copy)]
pub(super) struct HelloFacts {
    pub(super) random: Random,
    pub(super) legacy_session_id: SessionId,
    pub(super) offers_early_data: bool,
    /// True if the client can resume with a ticket from this handshake.
    pub(super) accepts_resumption: bool,
    pub(super) ticket_request: Option<TicketRequest>,
}

pub(super) struct Parameters<'a> {
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) group: &'static dyn SupportedKxGroup,
    /// The client's share for `group`.
    pub(super) client_share: Cow<'a, [u8]>,
    pub(super) alpn_protocol: Option<Vec<u8>>,
    pub(super) certificate_types: CertificateTypes,
}

impl<'a> Selection<'a> {
    /// Selects the suite and the group from the offers in `hello`. `retry` is the state of an
    /// earlier HelloRetryRequest.
    ///
    /// # Errors
    ///
    /// Returns an error if client and server do not agree on a suite and a group, or if one of
    /// these changed after the HelloRetryRequest.
    pub(super) fn new(
        hello: &ClientHello<'a>,
        retry: Option<&Retry>,
        config: &ServerSettings,
    ) -> Result<Self, Error> {
        let group = select_group(hello, config)?;
        let suite = select_suite(hello, retry, config)?;
        let client_share = share_of(hello, group.name());
        // RFC 9846 §4.3.8: the group must be that of the HelloRetryRequest
        if retry.is_some_and(|retry| retry.group.name() != group.name()) {
            return Err(PeerMisbehaved::RefusedToFollowHelloRetryRequest.into());
        }
        Ok(Self {
            suite,
            group,
            client_share,
        })
    }
}

impl<'a> Parameters<'a> {
    /// Selects the application protocol and the certificate types from `hello`. `client_share` is
    /// the client's share for the selected group.
    ///
    /// # Errors
    ///
    /// Returns an error that names the parameter on which client and server do not agree.
    pub(super) fn new(
        hello: &ClientHello<'_>,
        selection: &Selection<'a>,
        client_share: &'a [u8],
        config: &ServerSettings,
    ) -> Result<Self, Error> {
        Ok(Self {
            suite: selection.suite,
            group: selection.group,
            client_share: client_share.into(),
            alpn_protocol: select_protocol(hello, config)?,
            certificate_types: CertificateTypes::select(&hello.extensions, config)?,
        })
    }

    /// Copies the client's share.
    pub(super) fn into_owned(self) -> Parameters<'static> {
        Parameters {
            client_share: Cow::Owned(self.client_share.into_owned()),
            ..self
        }
    }
}

impl HelloFacts {
    pub(super) fn of(hello: &ClientHello<'_>) -> Self {
        Self {
            random: hello.random,
            legacy_session_id: hello.legacy_session_id,
            offers_early_data: hello.extensions.early_data,
            accepts_resumption: accepts_resumption(&hello.extensions),
            ticket_request: hello.extensions.ticket_request,
        }
    }
}

/// True if the client offers the mode psk_dhe_ke (RFC 9846 §4.3.9). PSKs without a key exchange are
/// not supported.
pub(super) fn accepts_resumption(extensions: &ClientExtensions<'_>) -> bool {
    let modes = extensions.psk_key_exchange_modes.as_deref();
    modes.is_some_and(|modes| modes.contains(&PskKeyExchangeMode::PskDheKe))
}

/// Returns the client's most preferred group that the provider supports, even if another would save
/// a round trip. RFC 9846 §4.3.8 allows either choice; this one respects the client's preference.
fn select_group(
    hello: &ClientHello<'_>,
    config: &ServerConfig,
) -> Result<&'static dyn SupportedKxGroup, Error> {
    let ours = &config.provider.kx_groups;
    // RFC 9846 §9.2: the extension is mandatory
    let offered = hello.extensions.supported_groups.as_deref();
    offered
        .ok_or(PeerIncompatible::NamedGroupsExtensionRequired)?
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
fn share_of<'a>(hello: &ClientHello<'a>, name: NamedGroup) -> Option<&'a [u8]> {
    let shares = hello.extensions.key_shares.as_deref()?;
    let share = shares.iter().find(|share| share.group == name)?;
    Some(share.payload)
}

/// Returns the first suite that both sides support, in the client's order, or in the provider's
/// order if `ignore_client_order` is set. It must be the suite of an earlier HelloRetryRequest, if
/// there was one.
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

/// Returns a signer for the certificate's key. Among the schemes that the client can verify, it
/// uses the one that the key prefers.
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
