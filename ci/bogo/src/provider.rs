//! The crypto provider that the environment names, cut down to the algorithms that the options name.

use std::sync::Arc;
use std::{env, mem};

use rustls::crypto::hpke::Hpke;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs, ring};
use rustls::server::ProducesTickets;
use rustls::{CipherSuite, NamedGroup, SupportedCipherSuite, SupportedProtocolVersion, version};

use crate::failure::Failure;
use crate::options::{Options, Policy};

/// The environment variable that names the provider: `aws-lc-rs`, which is also the default, or `ring`.
const VARIABLE: &str = "BOGO_PROVIDER";

/// The groups of a connection whose options name none: those that the runner assumes then.
const DEFAULT_GROUPS: [NamedGroup; 3] = [
    NamedGroup::X25519,
    NamedGroup::secp256r1,
    NamedGroup::secp384r1,
];

/// A library that cryptography comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Library {
    AwsLcRs,
    Ring,
}

impl Library {
    /// The one that the environment names.
    pub(crate) fn of_environment() -> Result<Self, Failure> {
        match env::var(VARIABLE).as_deref() {
            Err(_) | Ok("aws-lc-rs") => Ok(Self::AwsLcRs),
            Ok("ring") => Ok(Self::Ring),
            Ok(other) => Err(Failure::Usage(format!("{VARIABLE}: no provider {other:?}"))),
        }
    }

    /// Everything it has.
    pub(crate) fn provider(self) -> CryptoProvider {
        match self {
            Self::AwsLcRs => aws_lc_rs::default_provider(),
            Self::Ring => ring::default_provider(),
        }
    }

    fn all_groups(self) -> &'static [&'static dyn SupportedKxGroup] {
        match self {
            Self::AwsLcRs => aws_lc_rs::ALL_KX_GROUPS,
            Self::Ring => ring::ALL_KX_GROUPS,
        }
    }

    /// Its suites of HPKE.
    pub(crate) fn hpke_suites(self) -> &'static [&'static dyn Hpke] {
        match self {
            Self::AwsLcRs => aws_lc_rs::hpke::ALL_SUPPORTED_SUITES,
            Self::Ring => &[],
        }
    }

    /// What protects the tickets of a server.
    pub(crate) fn ticketer(self) -> Result<Arc<dyn ProducesTickets>, Failure> {
        Ok(match self {
            Self::AwsLcRs => aws_lc_rs::Ticketer::new()?,
            Self::Ring => ring::Ticketer::new()?,
        })
    }

    /// What a connection with these options may use.
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

/// Keeps of the suites of TLS 1.2 those whose names are in `ciphers`, separated by colons, and in that order. The
/// rest of OpenSSL's language is not spoken here.
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

/// The versions that `options` leave on, of those that the crate has.
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

/// The code point of a suite.
pub(crate) fn code_point(suite: CipherSuite) -> u16 {
    suite.into()
}
