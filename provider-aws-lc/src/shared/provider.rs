//! The provider as a whole: what its parts are put together to.

use alloc::sync::Arc;

use pki_types::PrivateKeyDer;
use rustls_core::crypto::{GetRandomFailed, KeyProvider, SecureRandom};
use rustls_core::error::Error;
use rustls_core::provider::CryptoProvider;
use rustls_core::sign::SigningKey;
use rustls_core::suites::SupportedCipherSuite;

use super::cipher_suite::*;
use super::sign::any_supported_type;
use crate::backend::rand::SecureRandom as _;
use crate::backend::{self, rand};
use crate::{DEFAULT_CIPHER_SUITES, DEFAULT_KX_GROUPS, SUPPORTED_SIG_ALGS};

/// A provider of [`DEFAULT_CIPHER_SUITES`], [`DEFAULT_KX_GROUPS`] and the rest of this module.
pub fn default_provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: DEFAULT_CIPHER_SUITES.to_vec(),
        kx_groups: DEFAULT_KX_GROUPS.to_vec(),
        signature_verification_algorithms: SUPPORTED_SIG_ALGS,
        secure_random: &Random,
        key_provider: &KeyLoader,
    }
}

/// All cipher suites, most preferred first.
pub static ALL_CIPHER_SUITES: &[SupportedCipherSuite] = &[
    TLS13_AES_256_GCM_SHA384,
    TLS13_AES_128_GCM_SHA256,
    TLS13_CHACHA20_POLY1305_SHA256,
    #[cfg(feature = "tls12")]
    TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    #[cfg(feature = "tls12")]
    TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    #[cfg(feature = "tls12")]
    TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    #[cfg(feature = "tls12")]
    TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    #[cfg(feature = "tls12")]
    TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    #[cfg(feature = "tls12")]
    TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
];

/// The library's source of randomness.
#[derive(Debug)]
pub(crate) struct Random;

impl SecureRandom for Random {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        rand::SystemRandom::new()
            .fill(buf)
            .map_err(|_| GetRandomFailed)
    }

    fn fips(&self) -> bool {
        backend::fips()
    }
}

#[derive(Debug)]
struct KeyLoader;

impl KeyProvider for KeyLoader {
    fn load_private_key(
        &self,
        key_der: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn SigningKey>, Error> {
        any_supported_type(&key_der)
    }

    fn fips(&self) -> bool {
        backend::fips()
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use rustls_core::enums::NamedGroup;

    use super::*;

    #[test]
    fn randomness_fills_the_whole_buffer() {
        let mut buf = [0; 4096];
        default_provider().secure_random.fill(&mut buf).unwrap();
        let zeros = buf.iter().filter(|byte| **byte == 0).count();
        assert!(zeros < 256, "{zeros} zeros of 16 expected");
        assert!(buf[4064..] != [0; 32]);
    }

    #[test]
    fn both_sides_of_every_group_agree() {
        for group in crate::ALL_KX_GROUPS {
            let client = group.start().unwrap();
            let server = group.start_and_complete(client.pub_key()).unwrap();
            assert_eq!((server.group, client.group()), (group.name(), group.name()));
            let secret = client.complete(&server.pub_key).unwrap();
            assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
        }
    }

    /// All but ChaCha20 and X25519 is approved, if the library is.
    #[test]
    fn parts_are_approved_as_far_as_the_library_is() {
        let approved = backend::fips();
        for suite in ALL_CIPHER_SUITES {
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
        for group in crate::ALL_KX_GROUPS {
            let is_x25519 = group.name() == NamedGroup::X25519;
            assert_eq!(group.fips(), approved && !is_x25519, "{group:?}");
        }
        let provider = default_provider();
        assert_eq!(provider.secure_random.fips(), approved);
        assert_eq!(provider.key_provider.fips(), approved);
        assert_eq!(provider.fips(), approved);
    }
}
