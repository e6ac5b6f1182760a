//! What server and client agree on (RFC 5246 §7.4.1.3): cipher suite, key exchange group, application
//! protocol, certificate. Pure: it chooses, and neither sends nor stores.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::crypto::SupportedKxGroup;
use crate::enums::{
    AlertDescription, KeyExchangeAlgorithm, NamedGroup, ProtocolVersion, SignatureScheme,
};
use crate::error::{Error, PeerIncompatible};
use crate::handshake::Failure;
use crate::handshake::server::protocol::select_protocol;
use crate::handshake::settings::ServerSettings;
use crate::msgs::client_hello::ClientHello;
use crate::server::ServerConfig;
use crate::sign::{CertifiedKey, Signer};
use crate::suites::{SupportedCipherSuite, Tls12CipherSuite};

/// The parameters of the handshake.
pub(super) struct Parameters {
    pub(super) suite: &'static Tls12CipherSuite,
    /// For a full handshake.
    pub(super) group: &'static dyn SupportedKxGroup,
    pub(super) alpn_protocol: Option<Vec<u8>>,
    pub(super) certified_key: Arc<CertifiedKey>,
}

impl Parameters {
    /// # Errors
    ///
    /// What is not in common.
    pub(super) fn new(
        hello: &ClientHello<'_>,
        certified_key: Arc<CertifiedKey>,
        config: &ServerSettings,
    ) -> Result<Self, Failure> {
        let groups = Groups::new(hello, config);
        if groups.ecdhe.is_none() && groups.dhe.is_none() {
            return Err(groups.refuse(PeerIncompatible::NoKxGroupsInCommon));
        }
        let (suite, group) = select_suite(hello, &certified_key, &groups, config)
            .ok_or_else(|| groups.refuse(PeerIncompatible::NoCipherSuitesInCommon))?;
        Ok(Self {
            suite,
            group,
            alpn_protocol: select_protocol(hello, config)?,
            certified_key,
        })
    }

    /// The certificate's key with the scheme it prefers among those of the suite that the client can verify.
    pub(super) fn signer(&self, hello: &ClientHello<'_>) -> Result<Box<dyn Signer>, Error> {
        // RFC 5246 §7.4.3: hash and signature algorithm must be a pair of signature_algorithms
        let usable = self.suite.resolve_sig_schemes(offered_schemes(hello));
        self.certified_key
            .key
            .choose_scheme(&usable)
            .ok_or_else(|| PeerIncompatible::NoSignatureSchemesInCommon.into())
    }
}

/// The first suite in the client's order that the provider has and both can use, or the other way round.
fn select_suite(
    hello: &ClientHello<'_>,
    certified_key: &CertifiedKey,
    groups: &Groups,
    config: &ServerConfig,
) -> Option<(&'static Tls12CipherSuite, &'static dyn SupportedKxGroup)> {
    let algorithm = certified_key.key.algorithm();
    let mut ours = tls12_suites(config).filter_map(|suite| {
        // RFC 8422 §2: the certificate's key must be of the suite's kind
        SupportedCipherSuite::Tls12(suite)
            .usable_for_signature_algorithm(algorithm)
            .then_some((suite, groups.of(suite.kx)?))
    });
    let offered = &hello.cipher_suites;
    if config.ignore_client_order {
        ours.find(|(suite, _)| offered.contains(&suite.common.suite))
    } else {
        let ours: Vec<_> = ours.collect();
        offered.iter().find_map(|offered| {
            ours.iter()
                .find(|(suite, _)| suite.common.suite == *offered)
                .copied()
        })
    }
}

/// The group of each kind of key exchange, where there is one in common.
struct Groups {
    ecdhe: Option<&'static dyn SupportedKxGroup>,
    dhe: Option<&'static dyn SupportedKxGroup>,
    /// Both sides have finite-field groups, but none in common.
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
        // RFC 7919 §4: a client that names no such group leaves the choice to the server; one that does must get a
        // group it has named
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

    /// Refuses a client with which there is too little in common.
    fn refuse(&self, error: PeerIncompatible) -> Failure {
        if self.differs_in_dhe {
            // RFC 7919 §4: where a finite-field group is what is missing, the alert says so
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

/// RFC 7919 §4: code points of finite-field groups, known or not.
fn is_ffdhe_code_point(group: NamedGroup) -> bool {
    (256..512).contains(&u16::from(group))
}

/// The schemes that the client can verify.
fn offered_schemes<'a>(hello: &'a ClientHello<'_>) -> &'a [SignatureScheme] {
    let schemes = &hello.extensions.signature_algorithms;
    schemes.as_deref().unwrap_or(&[])
}

/// The schemes that may sign a key exchange in a suite that both sides have: what a certificate is chosen by.
pub(super) fn usable_schemes(
    hello: &ClientHello<'_>,
    config: &ServerConfig,
) -> Vec<SignatureScheme> {
    let is_offered = |suite: &&Tls12CipherSuite| hello.cipher_suites.contains(&suite.common.suite);
    // both lists of the client may be long: they must not be compared with each other
    let suites: Vec<_> = tls12_suites(config).filter(is_offered).collect();
    let mut schemes = offered_schemes(hello).to_vec();
    schemes.retain(|scheme| suites.iter().any(|suite| suite.sign.contains(scheme)));
    schemes
}

fn tls12_suites(config: &ServerConfig) -> impl Iterator<Item = &'static Tls12CipherSuite> {
    let suites = config.provider.cipher_suites.iter();
    suites.filter_map(SupportedCipherSuite::tls12)
}
