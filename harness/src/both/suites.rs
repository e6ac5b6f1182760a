//! Cipher suites with changed parts, for one crate.

use super::tls::{CipherSuiteCommon, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};
use crate::providers::leak;

/// Returns `suite` after the change for its version.
pub fn changed(
    suite: SupportedCipherSuite,
    tls12: impl FnOnce(&mut Tls12CipherSuite),
    tls13: impl FnOnce(&mut Tls13CipherSuite),
) -> SupportedCipherSuite {
    match suite {
        SupportedCipherSuite::Tls12(suite) => {
            let common = copy(&suite.common);
            let mut suite = Tls12CipherSuite { common, ..*suite };
            tls12(&mut suite);
            SupportedCipherSuite::Tls12(leak(suite))
        }
        SupportedCipherSuite::Tls13(suite) => {
            let common = copy(&suite.common);
            let mut suite = Tls13CipherSuite { common, ..*suite };
            tls13(&mut suite);
            SupportedCipherSuite::Tls13(leak(suite))
        }
    }
}

/// Copies `common`, whose type does not implement `Clone`.
fn copy(common: &CipherSuiteCommon) -> CipherSuiteCommon {
    CipherSuiteCommon {
        suite: common.suite,
        hash_provider: common.hash_provider,
        confidentiality_limit: common.confidentiality_limit,
    }
}
