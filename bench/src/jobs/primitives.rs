//! `primitives`: the cryptographic operations of handshakes, called in the provider's library
//! directly. The limit of a handshake consists of them, too.

pub(crate) mod aws_lc_rs;
pub(crate) mod ring;

use core::fmt;

use clap::Args;
use itertools::Itertools;

use super::{Job, Run, Step};
use crate::choices::{Choice, Cipher, Group, KeyType, Provider, Role, Version};
use crate::measure::{Operation, Repeated, Work};
use crate::row::Row;
use crate::workload::Result;

/// The arguments of `primitives`.
#[derive(Args)]
pub(crate) struct Primitives {
    /// Run only the operations whose name contains this
    #[arg(default_value = "")]
    filter: String,
}

/// An operation of a cryptographic library. Lengths are in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Primitive {
    Random(usize),
    /// Generating a key pair and encoding its public part.
    Share(Group),
    /// Generating a key pair, and deriving the shared secret with the peer's share.
    Exchange(Group, Role),
    /// Signing a message of this length.
    Sign(KeyType, usize),
    /// Verifying the signature of such a message.
    Verify(KeyType, usize),
    /// Hashing pieces of these lengths, and taking the hash after each.
    Hash(Hash, Vec<usize>),
    /// HMACs of messages of these lengths, with one key that is set up first. HKDF and the PRF of
    /// TLS 1.2 consist of them.
    Mac(Hash, Vec<usize>),
    AeadKey(Cipher),
    Seal(Cipher, usize),
    Open(Cipher, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha256,
    Sha384,
}

impl Hash {
    /// The length of the output.
    pub(crate) const fn len(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "SHA-256",
            Self::Sha384 => "SHA-384",
        }
    }
}

impl Primitive {
    /// All operations that a handshake may need, with typical lengths.
    fn all() -> Vec<Self> {
        let mut all = vec![Self::Random(32)];
        for &group in Group::ALL {
            all.push(Self::Share(group));
            all.push(Self::Exchange(group, Role::Client));
            if group == Group::X25519MlKem768 {
                all.push(Self::Exchange(group, Role::Server));
            }
        }
        for &key_type in KeyType::ALL {
            all.extend([Self::Sign(key_type, 130), Self::Verify(key_type, 130)]);
        }
        for hash in [Hash::Sha256, Hash::Sha384] {
            all.push(Self::Hash(hash, vec![1024]));
            all.push(Self::Mac(hash, vec![54]));
            all.push(Self::Mac(hash, vec![54; 4]));
        }
        for &cipher in Cipher::ALL {
            all.push(Self::AeadKey(cipher));
            for len in [64, 1024] {
                all.extend([Self::Seal(cipher, len), Self::Open(cipher, len)]);
            }
        }
        all
    }

    /// Returns this operation in the library behind `provider`.
    pub(crate) fn of(&self, provider: Provider) -> Result<Operation> {
        match provider {
            Provider::AwsLc => aws_lc_rs::library::operation(self),
            Provider::Ring => ring::library::operation(self),
        }
    }

    fn is_usable_with(&self, provider: Provider) -> bool {
        match self {
            Self::Share(group) | Self::Exchange(group, _) => {
                group.usable_with(provider, Version::Tls13)
            }
            _ => true,
        }
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random(len) => write!(f, "random, {len} bytes"),
            Self::Share(group) => write!(f, "{} share", group.name()),
            Self::Exchange(Group::X25519MlKem768, role) => {
                let group = Group::X25519MlKem768.name();
                write!(f, "{group} share and secret, {}", role.name())
            }
            Self::Exchange(group, _) => write!(f, "{} share and secret", group.name()),
            Self::Sign(key_type, len) => write!(f, "{} sign, {len} bytes", key_type.name()),
            Self::Verify(key_type, len) => write!(f, "{} verify, {len} bytes", key_type.name()),
            Self::Hash(hash, pieces) => {
                let len: usize = pieces.iter().sum();
                write!(f, "{}, {len} bytes", hash.name())
            }
            Self::Mac(hash, messages) => {
                let (count, len) = (messages.len(), messages.iter().max().unwrap_or(&0));
                write!(f, "HMAC-{}, key and {count} × {len} bytes", hash.name())
            }
            Self::AeadKey(cipher) => write!(f, "{} key", cipher.name()),
            Self::Seal(cipher, len) => write!(f, "{} seal, {len} bytes", cipher.name()),
            Self::Open(cipher, len) => write!(f, "{} open, {len} bytes", cipher.name()),
        }
    }
}

impl Job for Primitives {
    fn steps<'a>(&'a self, run: &'a Run) -> Result<Vec<Step<'a>>> {
        let (filter, all) = (self.filter.to_lowercase(), Primitive::all());
        let mut steps: Vec<Step<'a>> = Vec::new();
        for primitive in &all {
            let mut providers = run.common.providers();
            providers.retain(|provider| primitive.is_usable_with(*provider));
            if !providers.is_empty() && primitive.to_string().to_lowercase().contains(&filter) {
                let primitive = primitive.clone();
                steps.push(Box::new(move || primitive.measure(run, &providers)));
            }
        }
        if steps.is_empty() {
            let (filter, all) = (&self.filter, all.iter().join(" | "));
            let error = format!("no operation has \"{filter}\" in its name; there are {all}");
            return Err(error.into());
        }
        Ok(steps)
    }
}

/// The measuring time of one operation as a part of that of a comparison of connections, because
/// there are many.
const SHARE: f64 = 0.2;

impl Primitive {
    fn measure(&self, run: &Run, providers: &[Provider]) -> Result<Vec<Row>> {
        let work = Work {
            build: &|| {
                let operations = providers.iter().map(|provider| self.of(*provider));
                operations.map(|built| Repeated::new(built?)).collect()
            },
            workloads: providers.len(),
            batch_len: 1,
            threads: 1,
            multiplier: SHARE * run.common.multiplier,
            label: self.to_string(),
        };
        let rows = providers
            .iter()
            .zip(work.interleaved()?)
            .map(|(provider, [rates])| {
                let times = rates.iter().map(|rate| 1e9 / rate).collect_vec();
                let row = run
                    .row("limit", *provider)
                    .with("primitive", self.to_string());
                row.median("ns_per_op", &times, 1.0)
            });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_every_provider_works() {
        for &provider in Provider::ALL {
            for primitive in Primitive::all() {
                if primitive.is_usable_with(provider) {
                    let mut operation = primitive.of(provider).unwrap();
                    // operations that change their input must remain repeatable
                    operation().unwrap();
                    operation().unwrap();
                } else {
                    assert!(primitive.of(provider).is_err());
                }
            }
        }
    }
}
