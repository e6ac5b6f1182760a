//! The cipher suites, the providers that have them, and those that can be measured.

use rustls as tls;

use crate::cli::{Cipher, KeyType, Provider, Version};
use crate::workload::Result;

/// A cipher suite by name, with the facts that the limit needs without an implementation of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    /// The name in the IANA registry, spelt as in `CipherSuite`.
    pub(crate) name: String,
    pub(crate) version: Version,
    pub(crate) cipher: Cipher,
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
                let is_tls13 = suite.version().version == tls::ProtocolVersion::TLSv1_3;
                Some(Self {
                    cipher: Cipher::of(&name)?,
                    version: if is_tls13 {
                        Version::Tls13
                    } else {
                        Version::Tls12
                    },
                    name,
                })
            })
            .collect()
    }

    /// Finds the suite `name`, which all of `providers` must have. Accepts `TLS12_ECDHE_...`, too.
    pub(crate) fn find(name: &str, providers: &[Provider]) -> Result<Self> {
        let name = match name.strip_prefix("TLS12_") {
            Some(rest) => format!("TLS_{rest}"),
            None => name.to_owned(),
        };
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
            found = Some(suite.clone());
        }
        found.ok_or_else(|| "no provider".into())
    }

    /// The suite with `cipher` for `version` that works with a certificate of `key_type`.
    pub(crate) fn with(version: Version, cipher: Cipher, key_type: KeyType) -> Result<Self> {
        let mut all = Self::all(Provider::AwsLcRs).into_iter();
        all.find(|suite| {
            suite.version == version && suite.cipher == cipher && suite.goes_with(key_type)
        })
        .ok_or_else(|| "no such suite exists".into())
    }

    /// True if this suite works with a server certificate of `key_type`. RFC 8422 §5.10 counts
    /// Ed25519 as ECDSA.
    fn goes_with(&self, key_type: KeyType) -> bool {
        match self.version {
            Version::Tls13 => true,
            Version::Tls12 => self.name.contains("_RSA_") == (key_type == KeyType::Rsa2048),
        }
    }

    /// The key type for the certificates: `wanted`, or the first that works with this suite.
    pub(crate) fn key_type(&self, wanted: Option<KeyType>) -> Result<KeyType> {
        let mut usable = KeyType::ALL
            .into_iter()
            .filter(|&key_type| self.goes_with(key_type));
        if let Some(wanted) = wanted {
            if self.goes_with(wanted) {
                return Ok(wanted);
            }
            let usable: Vec<_> = usable.map(KeyType::name).collect();
            return Err(format!(
                "{} needs a key of another type than {}: {}",
                self.name,
                wanted.name(),
                usable.join(" or ")
            )
            .into());
        }
        usable.next().ok_or_else(|| "no kind of key".into())
    }

    /// True if the suite's hash has 48 bytes of output, not 32.
    pub(crate) fn uses_sha384(&self) -> bool {
        self.name.ends_with("_SHA384")
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

    /// The length of the key in bytes.
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
                "version": suite.version.name(),
                "providers": with,
            });
            println!("{row}");
        } else {
            let (version, with) = (suite.version.name(), with.join(", "));
            println!("{:<45} {version} · {with}", suite.name);
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
    fn an_unknown_suite_lists_the_known_ones() {
        let error = Suite::find("TLS13_AES_128", &[Provider::Ring]).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("\"TLS13_AES_128\""), "{error}");
        for suite in Suite::all(Provider::Ring) {
            assert!(error.contains(&suite.name), "{error}");
        }
    }

    #[test]
    fn a_tls12_suite_rejects_a_key_of_another_type() {
        let name = "TLS12_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
        let suite = Suite::find(name, &Provider::ALL).unwrap();
        assert_eq!(suite.name, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
        assert_eq!(suite.version, Version::Tls12);
        assert_eq!(suite.key_type(None).unwrap(), KeyType::Rsa2048);
        let error = suite.key_type(Some(KeyType::Ed25519)).unwrap_err();
        assert!(error.to_string().ends_with("than ed25519: rsa-2048"));

        for key_type in KeyType::ALL {
            let suite = Suite::with(Version::Tls12, Cipher::Aes256Gcm, key_type).unwrap();
            assert_eq!(suite.key_type(Some(key_type)).unwrap(), key_type);
            assert!(suite.uses_sha384());
        }
    }
}
