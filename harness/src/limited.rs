//! A crypto provider whose keys wear out after few records.

use rustls::crypto::CryptoProvider;
use rustls::{CipherSuiteCommon, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

use crate::configs::Provider;

/// The suites of `provider`, whose keys may protect only `limit` records.
pub fn provider_with_limit(provider: Provider, limit: u64) -> CryptoProvider {
    let limited = |common: &CipherSuiteCommon| CipherSuiteCommon {
        suite: common.suite,
        hash_provider: common.hash_provider,
        confidentiality_limit: limit,
    };
    let mut provider = provider.this();
    for suite in &mut provider.cipher_suites {
        *suite = match *suite {
            SupportedCipherSuite::Tls12(suite) => {
                SupportedCipherSuite::Tls12(Box::leak(Box::new(Tls12CipherSuite {
                    common: limited(&suite.common),
                    ..*suite
                })))
            }
            SupportedCipherSuite::Tls13(suite) => {
                SupportedCipherSuite::Tls13(Box::leak(Box::new(Tls13CipherSuite {
                    common: limited(&suite.common),
                    ..*suite
                })))
            }
        };
    }
    provider
}
