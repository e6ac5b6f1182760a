//! Contents of providers, their order and their properties match upstream's.

use harness::peers::additions;
use harness::peers::configs::{PROVIDERS, Provider};

macro_rules! providers {
    ($module:ident, $tls:ident, $groups:ident) => {
        mod $module {
            use $tls::crypto::{CryptoProvider, SupportedKxGroup};
            use $tls::{
                ALL_VERSIONS, DEFAULT_VERSIONS, NamedGroup, SignatureAlgorithm,
                SupportedCipherSuite, SupportedProtocolVersion,
            };

            use super::*;

            pub(super) fn lists(provider: Provider) -> Vec<String> {
                let names = |groups: &[&dyn SupportedKxGroup]| {
                    let names = groups.iter().map(|group| group.name());
                    format!("groups {:?}", names.collect::<Vec<_>>())
                };
                let suites = |suites: &[SupportedCipherSuite]| {
                    let is_shared =
                        |suite: &$tls::CipherSuite| !additions::SUITES.contains(&u16::from(*suite));
                    let names = suites.iter().map(|suite| suite.suite()).filter(is_shared);
                    format!("suites {:?}", names.collect::<Vec<_>>())
                };
                // in a FIPS build, this crate's list lacks the group that is not approved
                let defaults = |groups: &[&'static dyn SupportedKxGroup]| {
                    let mut groups = groups.to_vec();
                    groups.retain(|group| {
                        !cfg!(feature = "fips") || group.name() != NamedGroup::X25519
                    });
                    names(&groups)
                };
                macro_rules! of {
                    ($name:ident) => {
                        [
                            suites($tls::crypto::$name::ALL_CIPHER_SUITES),
                            suites($tls::crypto::$name::DEFAULT_CIPHER_SUITES),
                            names($tls::crypto::$name::ALL_KX_GROUPS),
                            defaults($tls::crypto::$name::DEFAULT_KX_GROUPS),
                            suites(&$tls::crypto::$name::default_provider().cipher_suites),
                            names(&$tls::crypto::$name::default_provider().kx_groups),
                        ]
                    };
                }
                match provider {
                    Provider::AwsLc => of!(aws_lc_rs).to_vec(),
                    Provider::Ring => of!(ring).to_vec(),
                }
            }

            /// Describes every property of the parts of a provider.
            pub(super) fn parts(provider: Provider) -> Vec<String> {
                let CryptoProvider {
                    cipher_suites,
                    signature_verification_algorithms: algorithms,
                    secure_random,
                    key_provider,
                    ..
                } = provider.$module();
                let mut log = vec![
                    format!("{algorithms:?} {:?}", algorithms.supported_schemes()),
                    format!("{} {}", secure_random.fips(), key_provider.fips()),
                    format!("{} {:?}", algorithms.fips(), algorithms.all),
                ];
                for (scheme, algorithms) in algorithms.mapping {
                    let ids = algorithms.iter().map(|algorithm| {
                        let key_id = algorithm.public_key_alg_id();
                        let (id, fips) = (algorithm.signature_alg_id(), algorithm.fips());
                        format!("{algorithm:?} {id:?} {key_id:?} {fips}")
                    });
                    log.push(format!("{scheme:?} {:?}", ids.collect::<Vec<_>>()));
                }
                for group in &provider.$groups() {
                    let share = group.start().unwrap();
                    log.push(format!(
                        "{:?} {} {} {} {:?} {} {:?}",
                        group.name(),
                        group.fips(),
                        group.usable_for_version($tls::ProtocolVersion::TLSv1_2),
                        group.usable_for_version($tls::ProtocolVersion::TLSv1_3),
                        group.ffdhe_group().is_some(),
                        share.pub_key().len(),
                        share
                            .hybrid_component()
                            .map(|(group, key)| (group, key.len())),
                    ));
                }
                for suite in &cipher_suites {
                    log.extend(self::suite(suite, &cipher_suites));
                }
                log
            }

            fn suite(suite: &SupportedCipherSuite, all: &[SupportedCipherSuite]) -> Vec<String> {
                const ALGORITHMS: [SignatureAlgorithm; 6] = [
                    SignatureAlgorithm::RSA,
                    SignatureAlgorithm::ECDSA,
                    SignatureAlgorithm::ED25519,
                    SignatureAlgorithm::ED448,
                    SignatureAlgorithm::DSA,
                    SignatureAlgorithm::Unknown(77),
                ];
                let usable = ALGORITHMS.map(|of| suite.usable_for_signature_algorithm(of));
                let mut log = vec![format!(
                    "{suite:?} {:?} {:?} {} {usable:?}",
                    suite.suite(),
                    suite.version(),
                    suite.fips()
                )];
                match suite {
                    SupportedCipherSuite::Tls13(suite) => {
                        let hash = suite.common.hash_provider;
                        let resumed = all.iter().filter_map(SupportedCipherSuite::tls13);
                        let from = resumed.map(|other| suite.can_resume_from(other).is_some());
                        log.push(format!(
                            "{suite:?} {:?} {} {} {} {:?} {:?}",
                            hash.algorithm(),
                            hash.output_len(),
                            suite.common.confidentiality_limit,
                            suite.aead_alg.key_len(),
                            suite.quic.map(|quic| (quic.aead_key_len(), quic.fips())),
                            from.collect::<Vec<_>>(),
                        ));
                    }
                    SupportedCipherSuite::Tls12(suite) => {
                        let hash = suite.common.hash_provider;
                        let shape = suite.aead_alg.key_block_shape();
                        let offered: Vec<_> = suite.sign.iter().rev().copied().collect();
                        log.push(format!(
                            "{suite:?} {:?} {} {} {} {} {} {:?} {:?} {:?}",
                            hash.algorithm(),
                            hash.output_len(),
                            suite.common.confidentiality_limit,
                            shape.enc_key_len,
                            shape.fixed_iv_len,
                            shape.explicit_nonce_len,
                            suite.kx,
                            suite.sign,
                            suite.resolve_sig_schemes(&offered),
                        ));
                    }
                }
                log
            }

            /// Describes values that are the same for all providers.
            pub(super) fn constants() -> Vec<String> {
                let versions = |of: &[&SupportedProtocolVersion]| {
                    let versions = of.iter().map(|it| (it.version, format!("{it:?}")));
                    format!("{:?}", versions.collect::<Vec<_>>())
                };
                let compressors = $tls::compress::default_cert_compressors().iter();
                let compressors = compressors.map(|it| it.algorithm()).collect::<Vec<_>>();
                let decompressors = $tls::compress::default_cert_decompressors().iter();
                let decompressors = decompressors.map(|it| it.algorithm()).collect::<Vec<_>>();
                vec![
                    versions(ALL_VERSIONS),
                    versions(DEFAULT_VERSIONS),
                    format!("{}", $tls::crypto::cipher::NONCE_LEN),
                    format!("{}", $tls::crypto::tls13::OkmBlock::MAX_LEN),
                    format!("{}", $tls::crypto::hash::Output::MAX_LEN),
                    format!("{}", $tls::crypto::hmac::Tag::MAX_LEN),
                    format!("{:?}", $tls::quic::Version::default()),
                    format!("{:?}", $tls::compress::CompressionCache::default()),
                    format!("{compressors:?} {decompressors:?}"),
                ]
            }
        }
    };
}

providers!(this, rustls, this_groups);
providers!(upstream, rustls_upstream, upstream_groups);

#[test]
fn lists_and_their_order_match_upstream() {
    for provider in PROVIDERS {
        assert_eq!(this::lists(provider), upstream::lists(provider));
    }
}

#[test]
fn parts_of_providers_match_upstream() {
    for provider in PROVIDERS {
        let (ours, theirs) = (this::parts(provider), upstream::parts(provider));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs);
        }
        assert_eq!(ours.len(), theirs.len());
    }
}

#[test]
fn constants_match_upstream() {
    assert_eq!(this::constants(), upstream::constants());
}
