use pki_types::PrivateKeyDer;

use super::*;
use crate::crypto::GetRandomFailed;
use crate::crypto::toy::{TLS12_SUITE, TLS13_SUITE, ToyGroup};
use crate::enums::NamedGroup;
use crate::error::Error;
use crate::sign::SigningKey;

/// Zero bytes instead of random ones.
#[derive(Debug)]
struct Zeros;

impl SecureRandom for Zeros {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        buf.fill(0);
        Ok(())
    }
}

#[derive(Debug)]
struct NoKeys;

impl KeyProvider for NoKeys {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        Err(Error::General("no keys here".into()))
    }
}

fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: alloc::vec![(&TLS13_SUITE).into(), (&TLS12_SUITE).into()],
        kx_groups: alloc::vec![&ToyGroup(NamedGroup::X25519)],
        signature_verification_algorithms: WebPkiSupportedAlgorithms {
            all: &[],
            mapping: &[],
        },
        secure_random: &Zeros,
        key_provider: &NoKeys,
    }
}

#[test]
fn the_default_provider_is_installed_once() {
    // no other test of this process may install a default
    assert!(CryptoProvider::get_default().is_none());
    provider().install_default().unwrap();
    let first = CryptoProvider::get_default().unwrap();
    assert_eq!(first.cipher_suites.len(), 2);

    let mut second = provider();
    second.cipher_suites.pop();
    let refused = second.install_default().unwrap_err();
    assert_eq!(refused.cipher_suites.len(), 1);
    assert!(Arc::ptr_eq(CryptoProvider::get_default().unwrap(), first));
}

#[test]
fn a_provider_is_approved_if_all_its_parts_are() {
    #[derive(Debug)]
    struct Approved;

    impl SecureRandom for Approved {
        fn fill(&self, _: &mut [u8]) -> Result<(), GetRandomFailed> {
            Err(GetRandomFailed)
        }

        fn fips(&self) -> bool {
            true
        }
    }

    impl KeyProvider for Approved {
        fn load_private_key(
            &self,
            _: PrivateKeyDer<'static>,
        ) -> Result<Arc<dyn SigningKey>, Error> {
            Err(GetRandomFailed.into())
        }

        fn fips(&self) -> bool {
            true
        }
    }

    let approved = || CryptoProvider {
        cipher_suites: alloc::vec![],
        kx_groups: alloc::vec![],
        secure_random: &Approved,
        key_provider: &Approved,
        ..provider()
    };
    assert!(approved().fips());
    let not_approved = [
        CryptoProvider {
            cipher_suites: provider().cipher_suites,
            ..approved()
        },
        CryptoProvider {
            kx_groups: provider().kx_groups,
            ..approved()
        },
        CryptoProvider {
            secure_random: &Zeros,
            ..approved()
        },
        CryptoProvider {
            key_provider: &NoKeys,
            ..approved()
        },
    ];
    for provider in not_approved {
        assert!(!provider.fips(), "{provider:?}");
    }
    assert_eq!(Error::from(GetRandomFailed), Error::FailedToGetRandomBytes);
}
