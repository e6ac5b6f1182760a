//! The rules of the verifiers that use webpki: a digest of everything their verdict depends on.

mod known_roots;

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{SignatureVerificationAlgorithm, TrustAnchor};
use rustls_core::crypto::hash::{Context, Hash};
use webpki::{ExpirationPolicy, RevocationCheckDepth, UnknownStatusPolicy};

use super::RootCertStore;
use super::chain::{RevocationPolicy, Usage};
use crate::certificates::{RevocationList, VerifierRules, is_sha256};

/// The version of the digest, and of the code whose verdicts it stands for. Machines that share
/// sessions may run different releases of this library.
///
/// The minimum version of webpki is part of it, because another version may reject what this one
/// accepts. An application that raises webpki alone keeps its rules; the acceptances in its
/// sessions end after a day.
const FORMAT: &str = "rustls-inplace 1, rustls-webpki 0.103.16";

/// Everything that a verdict depends on, apart from the chain and the time.
pub(super) struct RulesInputs<'a> {
    pub(super) usage: Usage,
    pub(super) roots: &'a Arc<RootCertStore>,
    /// In this order: if two lists cover the same certificates, the first one counts.
    pub(super) crls: &'a [Arc<RevocationList>],
    pub(super) revocation: RevocationPolicy,
    pub(super) algorithms: Algorithms,
}

type Algorithms = &'static [&'static dyn SignatureVerificationAlgorithm];

impl RulesInputs<'_> {
    /// Hashes the inputs. Returns `None` if `sha256` is another function.
    ///
    /// With a stub, as fuzzers use, all rules could be equal. Verifiers with a correct hash would
    /// rely on its digests, too: those of roots and lists are shared in the whole process.
    pub(super) fn digest(&self, sha256: &'static dyn Hash) -> Option<VerifierRules> {
        if !is_sha256(sha256) {
            return None;
        }
        let mut digest = Digest::start(sha256);
        digest.add(FORMAT.as_bytes());
        digest.add(&[
            match self.usage {
                Usage::ServerAuth => 1,
                Usage::ClientAuth => 2,
            },
            match self.revocation.depth {
                RevocationCheckDepth::EndEntity => 1,
                RevocationCheckDepth::Chain => 2,
            },
            match self.revocation.unknown_status {
                UnknownStatusPolicy::Allow => 1,
                UnknownStatusPolicy::Deny => 2,
            },
            match self.revocation.expiration {
                ExpirationPolicy::Ignore => 1,
                ExpirationPolicy::Enforce => 2,
            },
        ]);
        let roots = known_roots::digest(self.roots, self.algorithms, || {
            of_roots(&self.roots.roots, self.algorithms, sha256)
        })?;
        digest.add(&roots);
        digest.add_count(self.crls.len());
        for list in self.crls {
            digest.add(list.sha256(sha256)?);
        }
        digest.finish().map(VerifierRules::from_digest)
    }
}

/// Hashes the long inputs, which many verifiers have in common.
fn of_roots(
    roots: &[TrustAnchor<'static>],
    algorithms: Algorithms,
    sha256: &'static dyn Hash,
) -> Option<[u8; 32]> {
    let mut digest = Digest::start(sha256);
    let mut roots: Vec<_> = roots.iter().map(root_key).collect();
    // their order is that of files in a folder, which differs between machines. It decides nothing
    // but which of two valid paths is found first
    roots.sort_unstable();
    digest.add_count(roots.len());
    for (subject, key, constraints) in roots {
        digest.add(subject);
        digest.add(key);
        // no constraints differ from empty ones
        digest.add_count(usize::from(constraints.is_some()));
        digest.add(constraints.unwrap_or_default());
    }

    digest.add_count(algorithms.len());
    for algorithm in algorithms {
        digest.add(algorithm.public_key_alg_id().as_ref());
        digest.add(algorithm.signature_alg_id().as_ref());
        digest.add_count(usize::from(algorithm.fips()));
        // distinguishes implementations that have the same identifiers, but other `Debug` texts
        digest.add(format!("{algorithm:?}").as_bytes());
    }
    digest.finish()
}

/// Returns the parts of a trust anchor: subject, public key, name constraints.
fn root_key<'a>(root: &'a TrustAnchor<'static>) -> (&'a [u8], &'a [u8], Option<&'a [u8]>) {
    (
        &root.subject,
        &root.subject_public_key_info,
        root.name_constraints.as_deref(),
    )
}

/// A hash over values, each with its length.
struct Digest(Box<dyn Context>);

impl Digest {
    fn start(sha256: &'static dyn Hash) -> Self {
        Self(sha256.start())
    }

    fn add(&mut self, value: &[u8]) {
        self.add_count(value.len());
        self.0.update(value);
    }

    fn add_count(&mut self, count: usize) {
        self.0.update(&(count as u64).to_be_bytes());
    }

    /// Returns `None` if the hash has another length.
    fn finish(self) -> Option<[u8; 32]> {
        self.0.finish().as_ref().try_into().ok()
    }
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
