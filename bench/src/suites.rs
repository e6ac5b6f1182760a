//! The cipher suites: which there are, over which provider, and which can be measured.

use core::error::Error;

use rustls as tls;

use crate::cli::Provider;

/// A cipher suite by its name, and what the bare AEAD needs to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    /// Its name in the IANA registry, in the spelling of `CipherSuite`.
    pub(crate) name: String,
    pub(crate) cipher: Cipher,
    is_tls13: bool,
}

/// The AEAD of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    Chacha20Poly1305,
}

impl Suite {
    /// The suites of `provider`, in its order of preference.
    pub(crate) fn all(provider: Provider) -> Vec<Self> {
        let suites = match provider {
            Provider::AwsLcRs => tls::crypto::aws_lc_rs::ALL_CIPHER_SUITES,
            Provider::Ring => tls::crypto::ring::ALL_CIPHER_SUITES,
        };
        suites
            .iter()
            .filter_map(|suite| {
                let name = format!("{:?}", suite.suite());
                Some(Self {
                    cipher: Cipher::of(&name)?,
                    is_tls13: suite.version().version == tls::ProtocolVersion::TLSv1_3,
                    name,
                })
            })
            .collect()
    }

    /// The suite called `name`, when all of `providers` have it and it can be measured.
    pub(crate) fn find(
        name: &str,
        providers: &[Provider],
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut found = None;
        for &provider in providers {
            let all = Self::all(provider);
            let Some(suite) = all.iter().find(|suite| suite.name == name) else {
                return Err(format!(
                    "{} has no cipher suite \"{name}\"; it has:\n  {}",
                    provider.name(),
                    names(&all).join("\n  ")
                )
                .into());
            };
            if !suite.is_measurable() {
                let measurable: Vec<_> = all.into_iter().filter(Self::is_measurable).collect();
                return Err(format!(
                    "{name} cannot be measured yet: this library has no TLS 1.2 handshake so far; \
                     these can:\n  {}",
                    names(&measurable).join("\n  ")
                )
                .into());
            }
            found = Some(suite.clone());
        }
        found.ok_or_else(|| "no provider".into())
    }

    /// True when connections with this suite can be made.
    pub(crate) fn is_measurable(&self) -> bool {
        self.is_tls13
    }

    pub(crate) fn version(&self) -> &'static str {
        if self.is_tls13 { "TLS 1.3" } else { "TLS 1.2" }
    }
}

impl Cipher {
    fn of(suite: &str) -> Option<Self> {
        let ciphers = [
            ("AES_128_GCM", Self::Aes128Gcm),
            ("AES_256_GCM", Self::Aes256Gcm),
            ("CHACHA20_POLY1305", Self::Chacha20Poly1305),
        ];
        let of_suite = ciphers.iter().find(|(name, _)| suite.contains(name));
        of_suite.map(|(_, cipher)| *cipher)
    }

    /// Length of the key in bytes.
    pub(crate) fn key_len(self) -> usize {
        match self {
            Self::Aes128Gcm => 16,
            Self::Aes256Gcm | Self::Chacha20Poly1305 => 32,
        }
    }
}

/// Prints the suites of all providers.
pub(crate) fn list(json: bool) {
    let mut listed: Vec<Suite> = Vec::new();
    for suite in Provider::ALL.into_iter().flat_map(Suite::all) {
        if !listed.contains(&suite) {
            listed.push(suite);
        }
    }
    for suite in &listed {
        let with: Vec<_> = Provider::ALL
            .into_iter()
            .filter(|&provider| Suite::all(provider).contains(suite))
            .map(Provider::name)
            .collect();
        if json {
            let row = serde_json::json!({
                "bench": "list-suites",
                "suite": suite.name,
                "version": suite.version(),
                "providers": with,
                "measurable": suite.is_measurable(),
            });
            println!("{row}");
        } else {
            let note = if suite.is_measurable() {
                ""
            } else {
                " · not measured yet: no TLS 1.2 handshake so far"
            };
            let with = with.join(", ");
            println!("{:<45} {} · {with}{note}", suite.name, suite.version());
        }
    }
}

fn names(suites: &[Suite]) -> Vec<&str> {
    suites.iter().map(|suite| suite.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_of_every_provider_is_known() {
        assert_eq!(
            Suite::all(Provider::AwsLcRs).len(),
            tls::crypto::aws_lc_rs::ALL_CIPHER_SUITES.len()
        );
        assert_eq!(
            Suite::all(Provider::Ring).len(),
            tls::crypto::ring::ALL_CIPHER_SUITES.len()
        );
        let suite = Suite::find("TLS13_CHACHA20_POLY1305_SHA256", &Provider::ALL).unwrap();
        assert_eq!(suite.cipher, Cipher::Chacha20Poly1305);
    }

    #[test]
    fn an_unknown_suite_is_answered_with_the_known() {
        let error = Suite::find("TLS13_AES_128", &[Provider::Ring]).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("\"TLS13_AES_128\""), "{error}");
        for suite in Suite::all(Provider::Ring) {
            assert!(error.contains(&suite.name), "{error}");
        }
    }

    #[test]
    fn a_suite_of_tls12_is_refused_with_those_that_work() {
        let name = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
        let error = Suite::find(name, &Provider::ALL).unwrap_err().to_string();
        assert!(error.contains("no TLS 1.2 handshake"), "{error}");
        assert!(error.contains("TLS13_AES_128_GCM_SHA256"), "{error}");
    }
}
