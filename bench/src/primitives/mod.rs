//! `primitives`: the cryptographic operations of handshakes, called in the provider's library
//! directly. The limit of a handshake consists of them, too.

pub(crate) mod aws_lc_rs;
pub(crate) mod ring;

use core::fmt;

use bench_allocator::Kind;
use serde::{Deserialize, Serialize};

use crate::cli::{Cipher, Group, KeyType, PrimitivesArgs, Provider, RunArgs, Version};
pub(crate) use crate::measure::Operation;
use crate::measure::{self, Plan, Repeated, Work};
use crate::plot::Point;
use crate::report::{self, Cell, Job};
use crate::statistics::{Summary, rounded};
use crate::workload::{Result, Role};

/// An operation of a cryptographic library. Lengths are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        for group in Group::ALL {
            all.push(Self::Share(group));
            all.push(Self::Exchange(group, Role::Client));
            if group == Group::X25519MlKem768 {
                all.push(Self::Exchange(group, Role::Server));
            }
        }
        for key_type in KeyType::ALL {
            all.extend([Self::Sign(key_type, 130), Self::Verify(key_type, 130)]);
        }
        for hash in [Hash::Sha256, Hash::Sha384] {
            all.push(Self::Hash(hash, vec![1024]));
            all.push(Self::Mac(hash, vec![54]));
            all.push(Self::Mac(hash, vec![54; 4]));
        }
        for cipher in [
            Cipher::Aes128Gcm,
            Cipher::Aes256Gcm,
            Cipher::Chacha20Poly1305,
        ] {
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
            Provider::AwsLcRs => aws_lc_rs::library::operation(self),
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

/// One line of the result.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    bench: String,
    #[serde(rename = "impl")]
    implementation: String,
    provider: String,
    primitive: String,
    allocator: String,
    /// The median over the rounds.
    ns_per_op: f64,
    /// The 10th and 90th percentile of it.
    ns_per_op_spread: (f64, f64),
}

impl Job for PrimitivesArgs {
    type Row = Row;

    const NOTES: &'static str = "\
The provider's library alone, without TLS; an HMAC with its key is a step of HKDF or of TLS 1.2's PRF.
Nanoseconds: median over the rounds and its 10th to 90th percentile. Figures compare within this run only.";

    const UNIT: &'static str = "ns";

    fn args(&self) -> &RunArgs {
        &self.run
    }

    fn title(&self) -> String {
        "cryptographic operations".to_owned()
    }

    fn check(&self) -> Result<()> {
        if self.chosen().is_empty() {
            let all = Primitive::all().into_iter();
            let all: Vec<_> = all.map(|primitive| primitive.to_string()).collect();
            return Err(format!(
                "no operation has \"{}\" in its name; the operations are:\n  {}",
                self.filter,
                all.join("\n  ")
            )
            .into());
        }
        Ok(())
    }

    fn measure(&self, allocator: Kind) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for primitive in self.chosen() {
            let mut providers = self.run.provider.providers();
            providers.retain(|provider| primitive.is_usable_with(*provider));
            let build = || -> Result<Vec<_>> {
                let operations = providers.iter().map(|provider| primitive.of(*provider));
                operations.map(|built| Repeated::new(built?)).collect()
            };
            let work = Work {
                build: &build,
                batch_len: 1,
                label: format!("{} · {primitive}", allocator.name()),
            };
            let plan = Plan::new(SHARE * self.time.multiplier, providers.len(), 1);
            let rates = measure::interleaved(&plan, &work)?;
            for (provider, [rates]) in providers.iter().zip(rates) {
                let times = rates.iter().map(|rate| 1e9 / rate).collect();
                let times = Summary::of(times).ok_or("nothing was measured")?;
                rows.push(Row {
                    bench: "primitives".to_owned(),
                    implementation: "limit".to_owned(),
                    provider: provider.name().to_owned(),
                    primitive: primitive.to_string(),
                    allocator: allocator.name().to_owned(),
                    ns_per_op: rounded(times.median, 1),
                    ns_per_op_spread: report::spread(&times, 1.0),
                });
            }
        }
        Ok(rows)
    }
}

/// The measuring time of one operation as a part of that of a comparison of connections, because
/// there are many.
const SHARE: f64 = 0.2;

impl PrimitivesArgs {
    /// The operations to measure.
    fn chosen(&self) -> Vec<Primitive> {
        let filter = self.filter.to_lowercase();
        let providers = self.run.provider.providers();
        let mut chosen = Primitive::all();
        chosen.retain(|primitive| {
            let mut providers = providers.iter();
            providers.any(|provider| primitive.is_usable_with(*provider))
                && primitive.to_string().to_lowercase().contains(&filter)
        });
        chosen
    }
}

impl report::Row for Row {
    const TABLE_ONLY: &'static [&'static str] = &["ns_per_op_spread"];

    fn heading(&self) -> String {
        "Cryptographic operations".to_owned()
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = vec![
            Cell::text("allocator", &self.allocator),
            Cell::text("operation", &self.primitive),
            Cell::text("provider", &self.provider),
        ];
        cells.extend(Cell::rate("ns", self.ns_per_op, self.ns_per_op_spread));
        cells
    }

    fn point(&self) -> Option<Point> {
        Some(Point {
            group: format!("{} · {}", self.allocator, self.primitive),
            series: self.provider.clone(),
            threads: 1,
            value: self.ns_per_op,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn args(more: &[&str]) -> PrimitivesArgs {
        let fixed = ["bench", "primitives", "--multiplier=0.001"];
        match Cli::try_parse_from(fixed.iter().chain(more))
            .unwrap()
            .command
        {
            Command::Primitives(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_operation_of_every_provider_works() {
        for provider in Provider::ALL {
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

    #[test]
    fn the_filter_selects_operations_by_name() {
        let rows = args(&["x25519"]).measure(Kind::System).unwrap();
        let names: Vec<_> = rows.iter().map(|row| &row.primitive[..]).collect();
        let (share, secret) = ("X25519 share", "X25519 share and secret");
        assert_eq!(names[..4], [share, share, secret, secret]);
        // three rows of the hybrid group, on one provider
        assert_eq!(names.len(), 7);
        assert!(rows.iter().all(|row| row.ns_per_op > 0.0));
        let error = args(&["x448"]).check().unwrap_err().to_string();
        assert!(error.contains("X25519 share"), "{error}");

        let json = report::json(&rows[0]).unwrap();
        let keys: Vec<_> = json.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "allocator",
                "bench",
                "impl",
                "ns_per_op",
                "primitive",
                "provider"
            ]
        );
    }
}
