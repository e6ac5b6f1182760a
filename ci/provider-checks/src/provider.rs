//! Checks of a whole provider.

use rustls_core::crypto::{SecureRandom, SupportedKxGroup};
use rustls_core::enums::NamedGroup;
use rustls_core::provider::CryptoProvider;
use rustls_core::suites::SupportedCipherSuite;

/// Checks that `fill` writes the whole buffer with bytes that look random.
pub fn check_random(random: &dyn SecureRandom) {
    let mut buf = [0; 4096];
    random.fill(&mut buf).unwrap();
    let zeros = buf.iter().filter(|byte| **byte == 0).count();
    assert!(zeros < 256, "{zeros} zeros of 16 expected");
    assert!(buf[4064..] != [0; 32]);
}

/// Checks that both sides of every group agree.
pub fn check_groups(groups: &[&dyn SupportedKxGroup]) {
    for group in groups {
        let client = group.start().unwrap();
        let server = group.start_and_complete(client.pub_key()).unwrap();
        assert_eq!((server.group, client.group()), (group.name(), group.name()));
        let secret = client.complete(&server.pub_key).unwrap();
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
    }
}

/// Checks FIPS approval. In a FIPS-approved library, everything except ChaCha20 and X25519 is
/// approved; a provider is approved if all its parts are.
pub fn check_approval(
    provider: &CryptoProvider,
    suites: &[SupportedCipherSuite],
    groups: &[&dyn SupportedKxGroup],
    approved: bool,
) {
    for suite in suites {
        let is_chacha20 = format!("{suite:?}").contains("CHACHA20");
        let expected = approved && !is_chacha20;
        assert_eq!(suite.fips(), expected, "{suite:?}");
        assert_eq!(suite.common().hash_provider.fips(), approved);
        match suite {
            SupportedCipherSuite::Tls12(suite) => {
                assert_eq!(suite.aead_alg.fips(), expected, "{suite:?}");
                assert_eq!(suite.prf_provider.fips(), approved);
            }
            SupportedCipherSuite::Tls13(suite) => {
                assert_eq!(suite.aead_alg.fips(), expected, "{suite:?}");
                assert_eq!(suite.quic.map(|it| it.fips()), Some(expected));
                assert_eq!(suite.hkdf_provider.fips(), approved);
            }
        }
    }
    for group in groups {
        let is_x25519 = group.name() == NamedGroup::X25519;
        assert_eq!(group.fips(), approved && !is_x25519, "{group:?}");
    }
    assert_eq!(provider.secure_random.fips(), approved);
    assert_eq!(provider.key_provider.fips(), approved);
    assert_eq!(provider.fips(), approved);
}
