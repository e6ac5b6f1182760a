//! The negotiated parameters (RFC 5246 §7.4.1.3): cipher suite, key exchange group, application
//! protocol, and signature scheme. This code only chooses; it neither sends nor stores anything.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rustls_core::crypto::SupportedKxGroup;
use smallvec::SmallVec;

use crate::config::server::ServerConfig;
use crate::config::settings::ServerSettings;
use crate::config::sign::{CertifiedKey, Signer};
use crate::enums::{
    AlertDescription, KeyExchangeAlgorithm, NamedGroup, ProtocolVersion, SignatureScheme,
};
use crate::error::{Error, PeerIncompatible};
use crate::failure::Failure;
use crate::handshake::raw_public_key::CertificateTypes;
use crate::handshake::server::protocol::select_protocol;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::short_list::ShortList;
use crate::suites::{SupportedCipherSuite, Tls12CipherSuite};

/// The number of TLS 1.2 suites that a provider usually has.
const USUAL_SUITES: usize = 6;

/// The cipher suite and the key exchange group, which are selected first.
pub(super) struct Selection {
    pub(super) suite: &'static Tls12CipherSuite,
    group: &'static dyn SupportedKxGroup,
}

impl Selection {
    /// Selects the suite and the group from the offers in `hello`. `certified_key` is the server's
    /// certificate and key.
    ///
    /// # Errors
    ///
    /// Returns an error that names the parameter on which client and server do not agree.
    pub(super) fn new(
        hello: &ClientHello<'_>,
        certified_key: &CertifiedKey,
        config: &ServerConfig,
    ) -> Result<Self, Failure> {
        let groups = Groups::new(hello, config);
        if groups.ecdhe.is_none() && groups.dhe.is_none() {
            return Err(groups.refuse(PeerIncompatible::NoKxGroupsInCommon));
        }
        let (suite, group) = select_suite(hello, certified_key, &groups, config)
            .ok_or_else(|| groups.refuse(PeerIncompatible::NoCipherSuitesInCommon))?;
        Ok(Self { suite, group })
    }
}

pub(super) struct Parameters {
    pub(super) suite: &'static Tls12CipherSuite,
    /// The group for a full handshake.
    pub(super) group: &'static dyn SupportedKxGroup,
    pub(super) alpn_protocol: Option<Vec<u8>>,
    pub(super) certified_key: Arc<CertifiedKey>,
}

impl Parameters {
    /// Selects the application protocol, and checks the certificate types.
    ///
    /// # Errors
    ///
    /// Returns an error that names the parameter on which client and server do not agree.
    pub(super) fn new(
        hello: &ClientHello<'_>,
        selection: Selection,
        certified_key: Arc<CertifiedKey>,
        config: &ServerSettings,
    ) -> Result<Self, Error> {
        // with TLS 1.2, the server's certificates are always X.509, and the type is not confirmed
        CertificateTypes::select(&hello.extensions, config)?;
        Ok(Self {
            suite: selection.suite,
            group: selection.group,
            alpn_protocol: select_protocol(hello, config)?,
            certified_key,
        })
    }

    /// Returns the schemes of the suite that the client can verify.
    pub(super) fn schemes(&self, hello: &ClientHello<'_>) -> Vec<SignatureScheme> {
        // RFC 5246 §7.4.3: hash and signature algorithm must be a pair listed in
        // signature_algorithms
        self.suite.resolve_sig_schemes(offered_schemes(hello))
    }

    /// Returns a signer for the certificate's key, with the scheme in `usable` that the key
    /// prefers.
    pub(super) fn signer(&self, usable: &[SignatureScheme]) -> Result<Box<dyn Signer>, Error> {
        self.certified_key
            .key
            .choose_scheme(usable)
            .ok_or_else(|| PeerIncompatible::NoSignatureSchemesInCommon.into())
    }
}

/// Returns the first suite that both sides can use, in the client's order, or in the provider's
/// order if `ignore_client_order` is set.
fn select_suite(
    hello: &ClientHello<'_>,
    certified_key: &CertifiedKey,
    groups: &Groups,
    config: &ServerConfig,
) -> Option<(&'static Tls12CipherSuite, &'static dyn SupportedKxGroup)> {
    let algorithm = certified_key.key.algorithm();
    let mut ours = tls12_suites(config).filter_map(|suite| {
        // RFC 8422 §2: the certificate's key must have the suite's type
        SupportedCipherSuite::Tls12(suite)
            .usable_for_signature_algorithm(algorithm)
            .then_some((suite, groups.of(suite.kx)?))
    });
    let offered = &hello.cipher_suites;
    if config.ignore_client_order {
        ours.find(|(suite, _)| offered.contains(&suite.common.suite))
    } else {
        let ours: SmallVec<[_; USUAL_SUITES]> = ours.collect();
        offered.iter().find_map(|offered| {
            ours.iter()
                .find(|(suite, _)| suite.common.suite == *offered)
                .copied()
        })
    }
}

/// The group to use for each type of key exchange, if any.
struct Groups {
    ecdhe: Option<&'static dyn SupportedKxGroup>,
    dhe: Option<&'static dyn SupportedKxGroup>,
    /// True if both sides have finite-field groups, but none that both support.
    differs_in_dhe: bool,
}

impl Groups {
    fn new(hello: &ClientHello<'_>, config: &ServerConfig) -> Self {
        let offered = hello.extensions.supported_groups.as_deref().unwrap_or(&[]);
        let usable = |group: &&&'static dyn SupportedKxGroup| {
            group.usable_for_version(ProtocolVersion::TLSv1_2)
        };
        let is_finite = |group: &&dyn SupportedKxGroup| group.ffdhe_group().is_some();
        let ours = || config.provider.kx_groups.iter().filter(usable).copied();
        let first_offered = |wants_finite: bool| {
            offered.iter().find_map(|name| {
                ours().find(|group| group.name() == *name && is_finite(group) == wants_finite)
            })
        };
        // RFC 7919 §4: if the client names no finite-field group, the server chooses one. Otherwise
        // it must choose a named one
        let names_finite = offered.iter().copied().any(is_ffdhe_code_point);
        let dhe = if names_finite {
            first_offered(true)
        } else {
            ours().find(is_finite)
        };
        Self {
            ecdhe: first_offered(false),
            dhe,
            differs_in_dhe: names_finite && dhe.is_none() && ours().any(|group| is_finite(&group)),
        }
    }

    /// Creates the failure for a client that shares no parameters with the server.
    fn refuse(&self, error: PeerIncompatible) -> Failure {
        if self.differs_in_dhe {
            // RFC 7919 §4: this alert shows that a finite-field group is missing
            Failure::new(error, AlertDescription::InsufficientSecurity)
        } else {
            error.into()
        }
    }

    fn of(&self, kx: KeyExchangeAlgorithm) -> Option<&'static dyn SupportedKxGroup> {
        match kx {
            KeyExchangeAlgorithm::ECDHE => self.ecdhe,
            KeyExchangeAlgorithm::DHE => self.dhe,
            _ => None,
        }
    }
}

/// True for code points of finite-field groups, known or unknown (RFC 7919 §4).
fn is_ffdhe_code_point(group: NamedGroup) -> bool {
    (256..512).contains(&u16::from(group))
}

/// Returns the schemes that the client can verify.
fn offered_schemes<'a>(hello: &'a ClientHello<'_>) -> &'a [SignatureScheme] {
    let schemes = &hello.extensions.signature_algorithms;
    schemes.as_deref().unwrap_or(&[])
}

/// Returns the client's schemes that may sign the key exchange of a suite that both sides support.
/// The certificate resolver is given only these.
pub(super) fn usable_schemes(
    hello: &ClientHello<'_>,
    config: &ServerConfig,
) -> ShortList<SignatureScheme> {
    let is_offered = |suite: &&Tls12CipherSuite| hello.cipher_suites.contains(&suite.common.suite);
    // both lists of the client may be long, so they are not compared with each other
    let suites: SmallVec<[_; USUAL_SUITES]> = tls12_suites(config).filter(is_offered).collect();
    let mut schemes = ShortList::from_slice(offered_schemes(hello));
    schemes.retain(|scheme| suites.iter().any(|suite| suite.sign.contains(scheme)));
    schemes
}

fn tls12_suites(config: &ServerConfig) -> impl Iterator<Item = &'static Tls12CipherSuite> {
    let suites = config.provider.cipher_suites.iter();
    suites.filter_map(SupportedCipherSuite::tls12)
}
