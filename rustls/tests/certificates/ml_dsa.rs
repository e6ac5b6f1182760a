//! Chains and handshake signatures of ML-DSA, with this crate and upstream on either side.
//! aws-lc-rs verifies them, ring does not. No provider signs with ML-DSA, so the keys are the
//! application's.

use std::sync::{Arc, OnceLock};

use harness::peers::configs::{Provider, SERVER_NAME, Versions, product};
use harness::peers::endpoints::{Endpoint, exchange, handshake, talk_and_close};
use pki_types::CertificateDer;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SignatureAlgorithm,
};

/// The parameter sets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Set {
    MlDsa44,
    MlDsa65,
    MlDsa87,
}

const SETS: [Set; 3] = [Set::MlDsa44, Set::MlDsa65, Set::MlDsa87];

/// A chain with one authority, both with keys of the same parameter set.
struct Identity {
    root: CertificateDer<'static>,
    end_entity: CertificateDer<'static>,
    key: KeyPair,
}

impl Set {
    fn algorithm(self) -> &'static SignatureAlgorithm {
        match self {
            Self::MlDsa44 => &rcgen::PKCS_ML_DSA_44,
            Self::MlDsa65 => &rcgen::PKCS_ML_DSA_65,
            Self::MlDsa87 => &rcgen::PKCS_ML_DSA_87,
        }
    }

    /// Returns the code point of draft-ietf-tls-mldsa.
    fn scheme(self) -> u16 {
        0x0904 + self as u16
    }

    fn identity(self) -> &'static Identity {
        static MADE: [OnceLock<Identity>; SETS.len()] = [const { OnceLock::new() }; SETS.len()];
        MADE[self as usize].get_or_init(|| {
            let generate = || KeyPair::generate_for(self.algorithm()).unwrap();
            let mut ca = CertificateParams::new(Vec::new()).unwrap();
            ca.distinguished_name.push(DnType::CommonName, "authority");
            ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let ca = CertifiedIssuer::self_signed(ca, generate()).unwrap();
            let key = generate();
            let params = CertificateParams::new(vec![SERVER_NAME.to_owned()]).unwrap();
            Identity {
                root: ca.der().clone(),
                end_entity: params.signed_by(&key, &ca).unwrap().der().clone(),
                key,
            }
        })
    }
}

/// The chain, the signatures and the versions of one side.
#[derive(Clone, Copy, Debug)]
struct Setup {
    provider: Provider,
    versions: Versions,
    chain: Set,
    /// The scheme that the signatures claim.
    scheme: u16,
    is_tampered: bool,
}

impl Setup {
    fn new(set: Set) -> Self {
        Self {
            provider: Provider::AwsLc,
            versions: Versions::Both,
            chain: set,
            scheme: set.scheme(),
            is_tampered: false,
        }
    }
}

macro_rules! ends {
    ($module:ident, $tls:ident, $endpoint:ident) => {
        mod $module {
            use harness::peers::configs::$module::trusted;
            use harness::peers::endpoints::$endpoint;
            use rcgen::SigningKey as _;
            use $tls::server::WebPkiClientVerifier;
            use $tls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
            use $tls::version::{TLS12, TLS13};
            use $tls::{ClientConfig, Error, ServerConfig, SignatureAlgorithm, SignatureScheme};

            use super::*;

            #[derive(Debug, Clone)]
            struct Key(Setup);

            impl SigningKey for Key {
                fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
                    let is_offered = offered.contains(&self.0.chain.scheme().into());
                    is_offered.then(|| Box::new(self.clone()) as _)
                }

                fn algorithm(&self) -> SignatureAlgorithm {
                    SignatureAlgorithm::Unknown(self.0.chain.scheme() as u8)
                }
            }

            impl Signer for Key {
                fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
                    let mut signature = self.0.chain.identity().key.sign(message).unwrap();
                    signature[1000] ^= u8::from(self.0.is_tampered);
                    Ok(signature)
                }

                fn scheme(&self) -> SignatureScheme {
                    self.0.scheme.into()
                }
            }

            fn certified(setup: Setup) -> Arc<SingleCertAndKey> {
                let chain = vec![setup.chain.identity().end_entity.clone()];
                Arc::new(CertifiedKey::new(chain, Arc::new(Key(setup))).into())
            }

            pub(super) fn client(setup: Setup) -> $endpoint {
                let provider = Arc::new(setup.provider.$module());
                let config = ClientConfig::builder_with_provider(provider)
                    .with_protocol_versions(&setup.versions.choose(&TLS12, &TLS13))
                    .unwrap()
                    .with_root_certificates(trusted([&setup.chain.identity().root]))
                    .with_client_cert_resolver(certified(setup));
                $endpoint::client(config)
            }

            /// Creates a server that demands a certificate.
            pub(super) fn server(setup: Setup) -> $endpoint {
                let provider = Arc::new(setup.provider.$module());
                let roots = trusted([&setup.chain.identity().root]);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
                let config = ServerConfig::builder_with_provider(provider)
                    .with_protocol_versions(&setup.versions.choose(&TLS12, &TLS13))
                    .unwrap()
                    .with_client_cert_verifier(verifier.build().unwrap())
                    .with_cert_resolver(certified(setup));
                $endpoint::server(config)
            }
        }
    };
}

ends!(this, rustls, ThisBuffered);
ends!(upstream, rustls_upstream, UpstreamBuffered);

type Make = fn(Setup) -> Box<dyn Endpoint>;

/// Clients and servers, of which at least one belongs to this crate.
const PAIRS: [(Make, Make); 3] = [
    (
        |it| Box::new(this::client(it)),
        |it| Box::new(this::server(it)),
    ),
    (
        |it| Box::new(this::client(it)),
        |it| Box::new(upstream::server(it)),
    ),
    (
        |it| Box::new(upstream::client(it)),
        |it| Box::new(this::server(it)),
    ),
];

/// Two ends of upstream, to compare errors with.
const UPSTREAM: (Make, Make) = (
    |it| Box::new(upstream::client(it)),
    |it| Box::new(upstream::server(it)),
);

/// Asserts that the handshake fails with the error of two ends of upstream.
#[track_caller]
fn assert_refused((client, server): (Make, Make), of_client: Setup, of_server: Setup) {
    let expected = exchange(&mut *UPSTREAM.0(of_client), &mut *UPSTREAM.1(of_server));
    let found = exchange(&mut *client(of_client), &mut *server(of_server));
    assert!(found.is_err(), "{of_client:?} {of_server:?}");
    assert_eq!(found, expected, "{of_client:?} {of_server:?}");
}

#[test]
fn both_sides_authenticate_with_ml_dsa() {
    for (set, (client, server)) in product(SETS, PAIRS) {
        let setup = Setup::new(set);
        let (mut client, mut server) = (client(setup), server(setup));
        handshake(&mut *client, &mut *server);
        let chain = [set.identity().end_entity.to_vec()];
        assert_eq!(client.peer_certificates(), chain);
        assert_eq!(server.peer_certificates(), chain);
        talk_and_close(&mut *client, &mut *server);
    }
}

/// Tries signatures that were changed or claim another scheme, ring or TLS 1.2 on one side, and
/// chains of another authority.
#[test]
fn wrong_signatures_authorities_providers_and_versions_are_rejected() {
    for (set, pair) in product(SETS, PAIRS) {
        let right = Setup::new(set);
        let other = Setup::new(SETS[(set as usize + 1) % SETS.len()]);
        let wrong = |change: &dyn Fn(&mut Setup)| {
            let mut wrong = right;
            change(&mut wrong);
            wrong
        };
        for wrong in [
            wrong(&|it| it.is_tampered = true),
            wrong(&|it| it.scheme = other.scheme),
            // ring verifies no ML-DSA, so its clients do not offer it, and its servers do not
            // request it
            wrong(&|it| it.provider = Provider::Ring),
            // draft-ietf-tls-mldsa §4: ML-DSA is for TLS 1.3 only
            wrong(&|it| it.versions = Versions::Tls12),
        ] {
            assert_refused(pair, right, wrong);
            assert_refused(pair, wrong, right);
        }
        assert_refused(pair, right, other);
    }
}
