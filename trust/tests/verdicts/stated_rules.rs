//! A wrapper that adds rules to a verifier without any.

use std::sync::Arc;

use harness::peers::configs::Provider;
use harness::verifiers::hooked::{Hook, Hooked};
use rustls::client::danger::VerifierRules;

/// A hook that states the rules of a verifier whose verdict depends on neither time nor name.
#[derive(Debug)]
pub(crate) struct StatedRules(VerifierRules);

impl Hook for StatedRules {
    fn called(&self, _: &'static str) -> bool {
        false
    }

    fn rules(&self) -> Option<VerifierRules> {
        Some(self.0)
    }
}

/// Adds rules to `inner`. `trusted` is everything on which its verdict depends.
pub(crate) fn with_rules<V: ?Sized>(
    inner: Arc<V>,
    trusted: &[u8],
    provider: Provider,
) -> Arc<Hooked<V, StatedRules>> {
    let suites = provider.this().cipher_suites;
    let hash = suites
        .iter()
        .filter_map(|suite| suite.tls13())
        .map(|suite| suite.common.hash_provider)
        .find(|hash| hash.output_len() == VerifierRules::LEN)
        .unwrap();
    let digest = hash.hash(&[b"one raw public key 1", trusted].concat());
    let rules = VerifierRules::from_digest(digest.as_ref().try_into().unwrap());
    Hooked::new(inner, StatedRules(rules))
}
