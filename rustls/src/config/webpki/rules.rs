//! The rules of the webpki verifiers: a digest of everything that their verdict depends on.

mod known_roots;

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use std::sync::OnceLock;

use pki_types::{SignatureVerificationAlgorithm, TrustAnchor};
use rustls_core::crypto::hash::{Context, Hash, HashAlgorithm};
use rustls_core::provider::CryptoProvider;
use webpki::{ExpirationPolicy, RevocationCheckDepth, UnknownStatusPolicy};

use super::RootCertStore;
use super::policy::{RevocationPolicy, Usage};
use crate::certificates::{RevocationList, VerifierRules, any_sha2, is_correct};
use crate::config::verify::DigestsRules;
use crate::logging::warn;

/// The version of the digest, and of the code whose verdicts it covers. Machines that share
/// sessions may run different releases of this library.
///
/// The minimum webpki version is part of this text, because another version may reject what this
/// one accepts. An application that upgrades only webpki keeps its rules; the acceptances in its
/// sessions end after a day.
const FORMAT: &str = "rustls-inplace 1, rustls-webpki 0.103.16";

/// Everything that a verdict depends on, apart from the chain, the server's name and the time.
#[derive(Clone, Copy)]
pub(super) struct RulesInputs<'a> {
    pub(super) usage: Usage,
    pub(super) roots: &'a Arc<RootCertStore>,
    /// The revocation lists. Their order matters: if two cover the same certificates, the first one
    /// is used.
    pub(super) crls: &'a [Arc<RevocationList>],
    pub(super) revocation: RevocationPolicy,
    pub(super) algorithms: Algorithms,
}

type Algorithms = &'static [&'static dyn SignatureVerificationAlgorithm];

/// The rules of a verifier. They are digested on first use, usually in a handshake.
///
/// They are not digested earlier, because hashing a typical root store takes as long as a few
/// signatures, and some programs create a configuration for each connection, or never use it.
pub(super) struct LazyRules {
    usage: Usage,
    roots: Arc<RootCertStore>,
    crls: Vec<Arc<RevocationList>>,
    revocation: RevocationPolicy,
    algorithms: Algorithms,
    hash: Option<&'static dyn Hash>,
    digest: OnceLock<Option<VerifierRules>>,
}

impl LazyRules {
    /// Creates the rules of a verifier that uses `provider`.
    pub(super) fn new(inputs: &RulesInputs<'_>, provider: &CryptoProvider) -> Self {
        let hash = any_sha2(provider);
        if hash.is_none() {
            warn!(
                "each certificate chain is verified in full in each handshake, because no cipher \
                 suite of the crypto provider uses SHA-256, SHA-384 or SHA-512"
            );
        }
        Self {
            usage: inputs.usage,
            roots: inputs.roots.clone(),
            crls: inputs.crls.to_vec(),
            revocation: inputs.revocation,
            algorithms: inputs.algorithms,
            hash,
            digest: OnceLock::new(),
        }
    }
}

impl DigestsRules for LazyRules {
    fn digest(&self) -> Option<VerifierRules> {
        if let Some(known) = self.digest.get() {
            return *known;
        }
        // compute it outside `get_or_init`, because other threads must not wait for the provider's
        // code
        let computed = self.hash.and_then(|hash| {
            let inputs = RulesInputs {
                usage: self.usage,
                roots: &self.roots,
                crls: &self.crls,
                revocation: self.revocation,
                algorithms: self.algorithms,
            };
            let digest = inputs.digest(hash);
            if digest.is_none() {
                warn!(
                    "each certificate chain is verified in full in each handshake, because a hash \
                     function of the crypto provider returns wrong results"
                );
            }
            digest
        });
        *self.digest.get_or_init(|| computed)
    }
}

impl fmt::Debug for LazyRules {
    /// Prints the digest if it is known. Printing must not hash the roots.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LazyRules").field(&self.digest).finish()
    }
}

impl RulesInputs<'_> {
    /// Hashes the inputs. Returns `None` if `hash` does not belong to the SHA-2 family, or computes
    /// wrong results.
    ///
    /// With a stub, as in fuzzers, all rules could be equal. Verifiers with a correct hash would
    /// rely on the stub's digests, too, because digests of roots and lists are shared across the
    /// process.
    fn digest(&self, hash: &'static dyn Hash) -> Option<VerifierRules> {
        if !is_correct(hash) {
            return None;
        }
        let mut digest = Digest::start(hash);
        digest.add(FORMAT.as_bytes());
        // all machines with SHA-256 get the same digest, even if their other suites differ
        if hash.algorithm() != HashAlgorithm::SHA256 {
            digest.add(&[hash.algorithm().into()]);
        }
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
        let algorithm = hash.algorithm();
        let roots = known_roots::digest(self.roots, self.algorithms, algorithm, || {
            of_roots(&self.roots.roots, self.algorithms, hash)
        })?;
        digest.add(&roots);
        digest.add_count(self.crls.len());
        for list in self.crls {
            digest.add(&list.digest(hash)?);
        }
        digest.finish().map(VerifierRules::from_digest)
    }
}

/// Hashes the roots and the algorithms, which are long, and the same for many verifiers.
fn of_roots(
    roots: &[TrustAnchor<'static>],
    algorithms: Algorithms,
    hash: &'static dyn Hash,
) -> Option<[u8; 32]> {
    let mut digest = Digest::start(hash);
    let mut roots: Vec<_> = roots.iter().map(root_key).collect();
    // sort them, because the order of files in a folder differs between machines and does not
    // affect the verdict
    roots.sort_unstable();
    digest.add_count(roots.len());
    for (subject, key, constraints) in roots {
        digest.add(subject);
        digest.add(key);
        // absent constraints differ from empty ones
        digest.add_count(usize::from(constraints.is_some()));
        digest.add(constraints.unwrap_or_default());
    }

    digest.add_count(algorithms.len());
    for algorithm in algorithms {
        digest.add(algorithm.public_key_alg_id().as_ref());
        digest.add(algorithm.signature_alg_id().as_ref());
        digest.add_count(usize::from(algorithm.fips()));
        // distinguishes implementations that have the same identifiers but different `Debug` texts
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
    fn start(hash: &'static dyn Hash) -> Self {
        Self(hash.start())
    }

    fn add(&mut self, value: &[u8]) {
        self.add_count(value.len());
        self.0.update(value);
    }

    fn add_count(&mut self, count: usize) {
        self.0.update(&(count as u64).to_be_bytes());
    }

    /// Returns the first 32 bytes of the hash, or `None` if it is shorter.
    fn finish(self) -> Option<[u8; 32]> {
        self.0.finish().as_ref().first_chunk().copied()
    }
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
