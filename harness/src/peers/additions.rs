//! The additions: cipher suites and extensions that this crate supports and rustls 0.23.46 does
//! not.
//!
//! Every comparison of the two crates leaves out the suites. Only those of messages
//! (`rustls/src/msgs/tests/upstream.rs`) and of the TLS 1.2 ClientHello
//! (`rustls/tests/tls12/client/hello.rs`) leave out the extensions. These lists alone determine
//! which.
//!
//! [`Provider::this`](super::configs::Provider::this) has no added suite, so tests over its suites
//! need no change. A test of an added suite takes
//! [`Provider::this_suites`](super::configs::Provider::this_suites).

use rustls::SupportedCipherSuite;

/// The code points of added cipher suites.
pub const SUITES: &[u16] = &[];

/// The types of added extensions: those that this crate reads or sends, and upstream ignores.
pub const EXTENSIONS: &[u16] = &[];

/// True if upstream also has this suite.
pub fn is_shared(suite: &SupportedCipherSuite) -> bool {
    !SUITES.contains(&suite.suite().into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::peers::configs::PROVIDERS;

    #[test]
    fn the_list_has_exactly_the_suites_that_upstream_lacks() {
        let mut added = BTreeSet::new();
        for provider in PROVIDERS {
            let theirs = provider.upstream().cipher_suites;
            let theirs: BTreeSet<u16> = theirs.iter().map(|it| it.suite().into()).collect();
            let ours = provider.this_suites();
            let ours: BTreeSet<u16> = ours.iter().map(|it| it.suite().into()).collect();
            assert!(ours.is_superset(&theirs), "{provider:?}");
            added.extend(ours.difference(&theirs).copied());
        }
        assert_eq!(added, SUITES.iter().copied().collect());
    }
}
