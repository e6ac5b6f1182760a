use alloc::format;

use super::*;
use crate::crypto::toy::{TLS12_SUITE, TLS13_SUITE};
use crate::versions::{TLS12, TLS13};

#[derive(Debug)]
struct Group(NamedGroup);

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(Exchange(self.0)))
    }

    fn name(&self) -> NamedGroup {
        self.0
    }
}

struct Exchange(NamedGroup);

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        Ok(peer_pub_key.into())
    }

    fn pub_key(&self) -> &[u8] {
        b"ours"
    }

    fn group(&self) -> NamedGroup {
        self.0
    }
}

#[test]
fn leading_zeros_are_stripped_from_finite_field_secrets_in_tls12_only() {
    let complete = |group, version| {
        Box::new(Exchange(group))
            .complete_for_tls_version(&[0, 0, 1, 0], version)
            .unwrap()
            .secret_bytes()
            .to_vec()
    };
    assert_eq!(complete(NamedGroup::FFDHE3072, &TLS12), [1, 0]);
    assert_eq!(complete(NamedGroup::FFDHE3072, &TLS13), [0, 0, 1, 0]);
    assert_eq!(complete(NamedGroup::X25519, &TLS12), [0, 0, 1, 0]);
    assert_eq!(complete(NamedGroup::X25519, &TLS13), [0, 0, 1, 0]);
}

#[test]
fn start_and_complete_returns_share_and_secret() {
    let done = Group(NamedGroup::X25519)
        .start_and_complete(b"theirs")
        .unwrap();
    assert_eq!(done.group, NamedGroup::X25519);
    assert_eq!(done.pub_key, b"ours");
    assert_eq!(done.secret.secret_bytes(), b"theirs");
}

#[test]
fn defaults_of_a_group() {
    let x25519 = Group(NamedGroup::X25519);
    assert!(x25519.ffdhe_group().is_none());
    assert!(!x25519.fips());
    assert!(x25519.usable_for_version(ProtocolVersion::TLSv1_2));
    assert!(x25519.usable_for_version(ProtocolVersion::TLSv1_3));
    assert_eq!(
        Group(NamedGroup::FFDHE2048).ffdhe_group(),
        Some(ffdhe_groups::FFDHE2048)
    );

    let exchange = x25519.start().unwrap();
    assert!(exchange.hybrid_component().is_none());
    assert!(matches!(
        exchange.complete_hybrid_component(b"theirs"),
        Err(Error::General(_))
    ));
}

#[test]
fn debug_of_verification_algorithms_lists_schemes() {
    let algorithms = WebPkiSupportedAlgorithms {
        all: &[],
        mapping: &[
            (SignatureScheme::ED25519, &[]),
            (SignatureScheme::RSA_PSS_SHA256, &[]),
        ],
    };
    assert_eq!(
        format!("{algorithms:?}"),
        "WebPkiSupportedAlgorithms { all: [ .. ], mapping: [ED25519, RSA_PSS_SHA256] }"
    );
    assert_eq!(
        algorithms.supported_schemes(),
        [SignatureScheme::ED25519, SignatureScheme::RSA_PSS_SHA256]
    );
    assert!(algorithms.fips());
}

/// Zero bytes, as if they were random.
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
        kx_groups: alloc::vec![&Group(NamedGroup::X25519)],
        signature_verification_algorithms: WebPkiSupportedAlgorithms {
            all: &[],
            mapping: &[],
        },
        secure_random: &Zeros,
        key_provider: &NoKeys,
    }
}

#[test]
fn default_provider_is_installed_once() {
    // no other test of this process may install one
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
fn provider_is_approved_when_all_of_it_is() {
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

#[test]
fn shared_secret_is_what_it_was_made_of() {
    assert_eq!(SharedSecret::from(alloc::vec![0, 1]).secret_bytes(), [0, 1]);
    assert_eq!(SharedSecret::from(&[0, 1][..]).secret_bytes(), [0, 1]);
}
