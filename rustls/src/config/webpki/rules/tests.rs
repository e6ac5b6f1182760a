use std::collections::HashMap;
use std::string::String;
use std::{format, fs, vec};

use pki_types::{AlgorithmIdentifier, Der, InvalidSignature};

use super::*;
use crate::certificates::Stub;
use crate::config::webpki::tests::pki::{crl, intermediate, root};
use crate::config::webpki::tests::providers;
use crate::crypto::CryptoProvider;

fn nothing<T>(_: &mut T) {}

type Change<'a> = &'a dyn Fn(&mut Inputs);

/// A digest's inputs, owned.
struct Inputs {
    usage: Usage,
    roots: Vec<TrustAnchor<'static>>,
    crls: Vec<Arc<RevocationList>>,
    revocation: RevocationPolicy,
    algorithms: Vec<&'static dyn SignatureVerificationAlgorithm>,
}

impl Inputs {
    fn rules(&self, provider: &CryptoProvider) -> VerifierRules {
        let inputs = RulesInputs {
            usage: self.usage,
            roots: &Arc::new(self.roots.iter().cloned().collect()),
            crls: &self.crls,
            revocation: self.revocation,
            algorithms: Vec::leak(self.algorithms.clone()),
        };
        let sha256 = crate::certificates::sha256(provider).unwrap();
        inputs.digest(sha256).unwrap()
    }
}

fn anchor(subject: &[u8], key: &[u8], constraints: Option<&[u8]>) -> TrustAnchor<'static> {
    TrustAnchor {
        subject: Der::from(subject.to_vec()),
        subject_public_key_info: Der::from(key.to_vec()),
        name_constraints: constraints.map(|constraints| Der::from(constraints.to_vec())),
    }
}

/// An algorithm with another one's identifiers.
#[derive(Debug)]
struct Stricter(&'static dyn SignatureVerificationAlgorithm, bool);

impl SignatureVerificationAlgorithm for Stricter {
    fn verify_signature(&self, _: &[u8], _: &[u8], _: &[u8]) -> Result<(), InvalidSignature> {
        Err(InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.0.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.0.signature_alg_id()
    }

    fn fips(&self) -> bool {
        self.1
    }
}

#[test]
fn every_input_changes_the_digest() {
    let issuer = root("Root", nothing);
    let other = intermediate("Other", &issuer, nothing);
    let list =
        |issuer, serials: &[u8]| RevocationList::from_der(crl(issuer, serials, |_| ())).unwrap();
    let lists = [list(&issuer, &[1]), list(&other, &[2]), list(&issuer, &[3])];

    for (provider, _) in providers() {
        let all = provider.signature_verification_algorithms.all;
        let inputs = || Inputs {
            usage: Usage::ServerAuth,
            roots: vec![anchor(b"one", b"key", None), anchor(b"two", b"key", None)],
            crls: lists[..2].to_vec(),
            revocation: RevocationPolicy::default(),
            algorithms: all.to_vec(),
        };
        let stricter = |fips| -> &'static dyn SignatureVerificationAlgorithm {
            Box::leak(Box::new(Stricter(all[0], fips)))
        };
        let changes: &[(&str, Change<'_>)] = &[
            ("usage", &|it| it.usage = Usage::ClientAuth),
            ("depth", &|it| {
                it.revocation.depth = RevocationCheckDepth::EndEntity;
            }),
            ("unknown status", &|it| {
                it.revocation.unknown_status = UnknownStatusPolicy::Allow;
            }),
            ("expiry of lists", &|it| {
                it.revocation.expiration = ExpirationPolicy::Enforce;
            }),
            ("one root less", &|it| drop(it.roots.pop())),
            ("one root twice", &|it| it.roots.push(it.roots[0].clone())),
            ("a subject", &|it| {
                it.roots[0] = anchor(b"oNe", b"key", None)
            }),
            ("a key", &|it| it.roots[0] = anchor(b"one", b"kEy", None)),
            ("a boundary", &|it| {
                it.roots[0] = anchor(b"onek", b"ey", None)
            }),
            ("constraints", &|it| {
                it.roots[0] = anchor(b"one", b"key", Some(b"names"));
            }),
            ("empty constraints", &|it| {
                it.roots[0] = anchor(b"one", b"key", Some(b""));
            }),
            ("no lists", &|it| it.crls.clear()),
            ("one list less", &|it| drop(it.crls.pop())),
            ("another list", &|it| it.crls[0] = lists[2].clone()),
            ("lists in another order", &|it| it.crls.reverse()),
            ("one algorithm less", &|it| it.algorithms.truncate(1)),
            ("algorithms in another order", &|it| it.algorithms.reverse()),
            ("another implementation", &|it| {
                it.algorithms[0] = stricter(false);
            }),
            ("a certified implementation", &|it| {
                it.algorithms[0] = stricter(true);
            }),
            ("nothing", &|_| ()),
        ];
        let mut seen = HashMap::<VerifierRules, &str>::new();
        for (name, change) in changes {
            let mut changed = inputs();
            change(&mut changed);
            let previous = seen.insert(changed.rules(&provider), name);
            assert_eq!(previous, None, "{name} changes nothing");
        }
    }
}

#[test]
fn order_of_roots_and_other_objects_do_not_change_the_digest() {
    let issuer = root("Root", nothing);
    let list = crl(&issuer, &[1], |_| ());
    for (provider, _) in providers() {
        let inputs = |reverse: bool| {
            let mut roots = vec![
                anchor(b"one", b"key", None),
                anchor(b"two", b"key", Some(b"names")),
                anchor(b"one", b"another key", None),
            ];
            if reverse {
                roots.reverse();
            }
            Inputs {
                usage: Usage::ClientAuth,
                roots,
                crls: vec![RevocationList::from_der(list.clone()).unwrap()],
                revocation: RevocationPolicy::default(),
                algorithms: provider.signature_verification_algorithms.all.to_vec(),
            }
        };
        let expected = inputs(false).rules(&provider);
        assert_eq!(inputs(true).rules(&provider), expected);
        // machines that share sessions compute the same digest
        let again = inputs(false).rules(&provider.clone());
        assert_eq!(again, expected);
    }
}

/// Digests of roots and lists are shared across the process.
#[test]
fn a_stub_hash_yields_no_digest_and_does_not_affect_others() {
    let issuer = root("Root of a stub", nothing);
    let list = crl(&issuer, &[1], |_| ());
    for (provider, _) in providers() {
        let sha256 = crate::certificates::sha256(&provider).unwrap();
        let rules_after = |first: &'static dyn Hash, lists: &[_]| {
            let inputs = RulesInputs {
                usage: Usage::ServerAuth,
                roots: &Arc::new(RootCertStore {
                    roots: vec![anchor(b"subject", b"key", None)],
                }),
                crls: lists,
                revocation: RevocationPolicy::default(),
                algorithms: provider.signature_verification_algorithms.all,
            };
            let first = inputs.digest(first);
            (inputs.digest(sha256).unwrap(), first.is_some())
        };
        let lists = || [RevocationList::from_der(list.clone()).unwrap()];
        let (expected, _) = rules_after(sha256, &lists());
        assert_eq!(rules_after(&Stub, &lists()), (expected, false));
        let (expected, _) = rules_after(sha256, &[]);
        assert_eq!(rules_after(&Stub, &[]), (expected, false));
    }
}

/// A provider without SHA-256 uses a different hash. Its digests differ from those of other hashes.
#[test]
fn rules_of_different_hashes_differ() {
    let issuer = root("Root of another hash", nothing);
    let list = RevocationList::from_der(crl(&issuer, &[1], |_| ())).unwrap();
    for (provider, _) in providers() {
        let without = |algorithm| {
            let mut provider = (*provider).clone();
            let suites = &mut provider.cipher_suites;
            suites.retain(|suite| suite.common().hash_provider.algorithm() != algorithm);
            any_sha2(&provider).unwrap()
        };
        let (sha256, sha384) = (
            without(HashAlgorithm::SHA384),
            without(HashAlgorithm::SHA256),
        );
        assert_eq!(sha256.algorithm(), HashAlgorithm::SHA256);
        assert_eq!(sha384.algorithm(), HashAlgorithm::SHA384);
        assert!(is_correct(sha256) && is_correct(sha384) && !is_correct(&Stub));
        // a provider with SHA-256 uses it, even if other suites come first
        let mut reversed = (*provider).clone();
        reversed.cipher_suites.reverse();
        for provider in [&*provider, &reversed] {
            let found = any_sha2(provider).unwrap();
            assert_eq!(found.algorithm(), HashAlgorithm::SHA256);
        }

        let roots = Arc::new(RootCertStore {
            roots: vec![anchor(b"subject", b"key", None)],
        });
        let lists = [list.clone()];
        let inputs = RulesInputs {
            usage: Usage::ServerAuth,
            roots: &roots,
            crls: &lists,
            revocation: RevocationPolicy::default(),
            algorithms: provider.signature_verification_algorithms.all,
        };
        let rules = |hash| inputs.digest(hash).unwrap();
        let (first, second) = (rules(sha256), rules(sha384));
        assert_ne!(first, second);
        // the digests of roots and lists are remembered for each hash
        assert_eq!((rules(sha256), rules(sha384)), (first, second));
        assert_ne!(list.digest(sha256), list.digest(sha384));
        let expected = sha384.hash(list.der());
        assert_eq!(list.digest(sha384).unwrap(), expected.as_ref()[..32]);
    }
}

/// An algorithm with a short name and any identifiers.
#[derive(Debug)]
struct Named;

impl SignatureVerificationAlgorithm for Named {
    fn verify_signature(&self, _: &[u8], _: &[u8], _: &[u8]) -> Result<(), InvalidSignature> {
        Err(InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        AlgorithmIdentifier::from_slice(b"the key")
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        AlgorithmIdentifier::from_slice(b"the signature")
    }

    fn fips(&self) -> bool {
        true
    }
}

/// Pins the encoding of the hash input. Servers that share sessions must agree on it, so any change
/// requires a new `FORMAT`.
#[test]
fn the_digest_covers_every_input_with_its_length() {
    fn count(count: u64) -> Vec<u8> {
        count.to_be_bytes().to_vec()
    }
    fn value(value: &[u8]) -> Vec<u8> {
        [&count(value.len() as u64), value].concat()
    }

    let list = crl(&root("Root", nothing), &[1], |_| ());
    let long_key = [7; 300];
    let strict = RevocationPolicy {
        expiration: ExpirationPolicy::Enforce,
        ..RevocationPolicy::default()
    };
    let lenient = RevocationPolicy {
        depth: RevocationCheckDepth::EndEntity,
        unknown_status: UnknownStatusPolicy::Allow,
        expiration: ExpirationPolicy::Ignore,
    };
    for (provider, _) in providers() {
        let sha256 = crate::certificates::sha256(&provider).unwrap();
        let digest = |parts: &[Vec<u8>]| sha256.hash(&parts.concat()).as_ref().to_vec();
        let long_inputs = digest(&[
            count(2),
            [value(b"one"), value(b"key"), count(0), value(b"")].concat(),
            [value(b"two"), value(&long_key), count(1), value(b"names")].concat(),
            count(1),
            [value(b"the key"), value(b"the signature")].concat(),
            [count(1), value(b"Named")].concat(),
        ]);
        for (usage, revocation, settings) in [
            (Usage::ServerAuth, lenient, [1, 1, 1, 1]),
            (Usage::ClientAuth, strict, [2, 2, 2, 2]),
        ] {
            let inputs = Inputs {
                usage,
                roots: vec![
                    anchor(b"two", &long_key, Some(b"names")),
                    anchor(b"one", b"key", None),
                ],
                crls: vec![RevocationList::from_der(list.clone()).unwrap()],
                revocation,
                algorithms: vec![&Named],
            };
            let expected = digest(&[
                value(FORMAT.as_bytes()),
                value(&settings),
                value(&long_inputs),
                count(1),
                value(&digest(&[list.to_vec()])),
            ]);
            assert_eq!(inputs.rules(&provider).as_ref(), expected, "{usage:?}");
        }
    }
}

/// The digest names the minimum version of webpki.
#[test]
fn the_format_names_the_version_of_webpki() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    // absent in a published package
    let Ok(manifest) = fs::read_to_string(manifest) else {
        return;
    };
    let mut lines = manifest.lines();
    let webpki = lines.find(|line| line.starts_with("webpki = ")).unwrap();
    let version = FORMAT.rsplit(' ').next().unwrap();
    let expected: String = format!("version = \"{version}\"");
    assert!(webpki.contains(&expected), "{webpki}");
}
