//! The cipher suites that can be measured, and the providers that have them.

use harness::peers::additions;
use harness::peers::pairs::Result;
use itertools::Itertools;

use crate::choices::{Choice, Cipher, Hash, KeyType, Provider, Version};

/// A cipher suite by name, with the facts that the limit needs without an implementation of TLS.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Suite {
    /// The name in the IANA registry, spelt as in `CipherSuite`.
    pub(crate) name: String,
    pub(crate) version: Version,
    pub(crate) cipher: Cipher,
}

impl Suite {
    /// The suites of `provider` that upstream has, too, in its order of preference.
    pub(crate) fn all(provider: Provider) -> Vec<Self> {
        let mut suites = provider.library().this_suites();
        suites.retain(additions::is_shared);
        let suites = suites.iter().filter_map(|suite| {
            let name = format!("{:?}", suite.suite());
            let is_tls13 = usize::from(suite.tls13().is_some());
            Some(Self {
                cipher: Cipher::of(&name)?,
                version: [Version::Tls12, Version::Tls13][is_tls13],
                name,
            })
        });
        suites.collect()
    }

    /// Finds the suite `name`. All providers have the same ones.
    pub(crate) fn find(name: &str) -> Result<Self> {
        let found = by_suite().find(|(suite, _)| suite.name == name);
        Ok(found.ok_or("there is no such suite")?.0)
    }

    /// The suite with `cipher` for `version` that works with a certificate of `key_type`.
    pub(crate) fn with(version: Version, cipher: Cipher, key_type: KeyType) -> Result<Self> {
        let mut all = Self::all(Provider::AwsLc).into_iter();
        let is = |suite: &Self| (suite.version, suite.cipher) == (version, cipher);
        let found = all.find(|suite| is(suite) && suite.goes_with(key_type));
        found.ok_or_else(|| "no such suite exists".into())
    }

    /// True if this suite works with a server certificate of `key_type`. RFC 8422 §5.10 counts
    /// Ed25519 as ECDSA.
    fn goes_with(&self, key_type: KeyType) -> bool {
        let has_rsa = self.name.contains("_RSA_");
        self.version == Version::Tls13 || has_rsa == (key_type == KeyType::Rsa2048)
    }

    /// A type of keys for certificates that works with this suite.
    pub(crate) fn key_type(&self) -> KeyType {
        if self.name.contains("_RSA_") {
            KeyType::Rsa2048
        } else {
            KeyType::EcdsaP256
        }
    }

    pub(crate) fn hash(&self) -> Hash {
        if self.name.ends_with("_SHA384") {
            Hash::Sha384
        } else {
            Hash::Sha256
        }
    }
}

impl Cipher {
    fn of(suite: &str) -> Option<Self> {
        let letters = |name: &str| name.replace(['_', '-'], "").to_uppercase();
        let mut ciphers = Self::ALL.iter().copied();
        ciphers.find(|cipher| letters(suite).contains(&letters(cipher.name())))
    }

    /// The length of the key in bytes.
    pub(crate) fn key_len(self) -> usize {
        match self {
            Self::Aes128Gcm => 16,
            Self::Aes256Gcm | Self::Chacha20Poly1305 => 32,
        }
    }
}

/// All suites, and the providers that have them.
pub(crate) fn by_suite() -> impl Iterator<Item = (Suite, Vec<&'static str>)> {
    let of = |provider: &Provider| (provider.name(), Suite::all(*provider));
    let all = Provider::ALL.iter().map(of).collect_vec();
    let suites = all.iter().flat_map(|(_, suites)| suites.clone()).unique();
    suites.collect_vec().into_iter().map(move |suite| {
        let having = all.iter().filter(|(_, suites)| suites.contains(&suite));
        let names = having.map(|(name, _)| *name).collect();
        (suite, names)
    })
}

/// The names of all suites.
pub(crate) fn names() -> impl Iterator<Item = String> {
    by_suite().map(|(suite, _)| suite.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_of_every_provider_is_known() {
        for &provider in Provider::ALL {
            let shared = provider.library().this().cipher_suites.len();
            assert_eq!(Suite::all(provider).len(), shared, "{}", provider.name());
        }
        let suite = Suite::find("TLS13_CHACHA20_POLY1305_SHA256").unwrap();
        assert_eq!(suite.cipher, Cipher::Chacha20Poly1305);
    }

    #[test]
    fn every_type_of_key_has_a_suite_of_tls12() {
        let name = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
        let suite = Suite::find(name).unwrap();
        assert_eq!(suite.version, Version::Tls12);
        assert_eq!(suite.key_type(), KeyType::Rsa2048);
        for &key_type in KeyType::ALL {
            let suite = Suite::with(Version::Tls12, Cipher::Aes256Gcm, key_type).unwrap();
            assert!(suite.goes_with(key_type));
            assert_eq!(suite.hash(), Hash::Sha384);
        }
    }
}
