//! The crypto provider of the environment, reduced to the algorithms in the options.

use std::sync::Arc;
use std::{env, mem};

use rustls::crypto::hpke::Hpke;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs, fastest, ring};
use rustls::server::ProducesTickets;
use rustls::{CipherSuite, NamedGroup, SupportedCipherSuite, SupportedProtocolVersion, version};

use crate::failure::Failure;
use crate::options::{Options, Policy};

/// The environment variable that names the provider: `aws-lc-rs`, the default, `ring` or
/// `fastest`.
const VARIABLE: &str = "BOGO_PROVIDER";

/// The groups of a connection whose options name none: those that the runner assumes.
const DEFAULT_GROUPS: [NamedGroup; 3] = [
    NamedGroup::X25519,
    NamedGroup::secp256r1,
    NamedGroup::secp384r1,
];

/// A crypto library, or the mixture of both.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Library {
    AwsLcRs,
    Ring,
    Fastest,
}

impl Library {
    /// Returns the library that the environment names.
    pub(crate) fn of_environment() -> Result<Self, Failure> {
        match env::var(VARIABLE).as_deref() {
            Err(_) | Ok("aws-lc-rs") => Ok(Self::AwsLcRs),
            Ok("ring") => Ok(Self::Ring),
            Ok("fastest") => Ok(Self::Fastest),
            Ok(other) => Err(Failure::Usage(format!("{VARIABLE}: no provider {other:?}"))),
        }
    }

    /// Returns its complete provider.
    pub(crate) fn provider(self) -> CryptoProvider {
        match self {
            Self::AwsLcRs => aws_lc_rs::default_provider(),
            Self::Ring => ring::default_provider(),
            Self::Fastest => fastest::default_provider(),
        }
    }

    fn all_groups(self) -> &'static [&'static dyn SupportedKxGroup] {
        match self {
            Self::AwsLcRs => aws_lc_rs::ALL_KX_GROUPS,
            Self::Ring => ring::ALL_KX_GROUPS,
            Self::Fastest => fastest::ALL_KX_GROUPS,
        }
    }

    /// Returns its HPKE suites.
    pub(crate) fn hpke_suites(self) -> &'static [&'static dyn Hpke] {
        match self {
            Self::AwsLcRs | Self::Fastest => aws_lc_rs::hpke::ALL_SUPPORTED_SUITES,
            Self::Ring => &[],
        }
    }

    /// Creates the ticket protection of a server.
    pub(crate) fn ticketer(self) -> Result<Arc<dyn ProducesTickets>, Failure> {
        Ok(match self {
            Self::AwsLcRs => aws_lc_rs::Ticketer::new()?,
            Self::Ring => ring::Ticketer::new()?,
            Self::Fastest => fastest::Ticketer::new()?,
        })
    }

    /// Returns the provider for a connection with these options.
    pub(crate) fn provider_for(self, options: &Options) -> Result<Arc<CryptoProvider>, Failure> {
        let mut provider = self.provider();
        let allowed = options.policy.map(Policy::allowed);
        if let Some(allowed) = &allowed {
            let all = mem::take(&mut provider.cipher_suites);
            provider.cipher_suites = allowed
                .suites
                .iter()
                .filter_map(|&name| all.iter().copied().find(|suite| suite.suite() == name))
                .collect();
        }
        if let Some(ciphers) = &options.cipher {
            keep_tls12_suites(&mut provider.cipher_suites, ciphers)?;
        }
        let groups: Vec<NamedGroup> = match options.curves.as_slice() {
            [] => allowed
                .and_then(|allowed| allowed.groups)
                .unwrap_or(&DEFAULT_GROUPS)
                .into(),
            named => named.iter().map(|&group| group.into()).collect(),
        };
        provider.kx_groups = groups
            .into_iter()
            .map(|name| {
                let group = self.all_groups().iter().find(|group| group.name() == name);
                group
                    .copied()
                    .ok_or_else(|| Failure::Unsupported(format!("group {name:?}")))
            })
            .collect::<Result<_, _>>()?;
        Ok(Arc::new(provider))
    }
}

/// Keeps the TLS 1.2 suites whose names are in `ciphers`, separated by colons, in that order. The
/// rest of OpenSSL's notation is not supported.
fn keep_tls12_suites(suites: &mut Vec<SupportedCipherSuite>, ciphers: &str) -> Result<(), Failure> {
    let (tls12, tls13): (Vec<_>, Vec<_>) =
        suites.drain(..).partition(|suite| suite.tls13().is_none());
    *suites = tls13;
    for name in ciphers.split(':') {
        let suite = tls12
            .iter()
            .find(|suite| format!("{:?}", suite.suite()) == name);
        let suite = suite.ok_or_else(|| Failure::Unsupported(format!("cipher {name:?}")))?;
        suites.push(*suite);
    }
    Ok(())
}

/// Returns the versions that `options` leave enabled.
pub(crate) fn versions(options: &Options) -> Vec<&'static SupportedProtocolVersion> {
    [
        (&version::TLS13, 0x0304, options.no_tls13),
        (
            &version::TLS12,
            0x0303,
            options.no_tls12 || options.policy == Some(Policy::Cnsa2_202603),
        ),
    ]
    .into_iter()
    .filter(|(_, number, off)| {
        !off && options.min_version.is_none_or(|min| min <= *number)
            && options.max_version.is_none_or(|max| *number <= max)
    })
    .map(|(version, ..)| version)
    .collect()
}

/// Returns the code point of a suite.
pub(crate) fn code_point(suite: CipherSuite) -> u16 {
    suite.into()
}
