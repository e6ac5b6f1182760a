//! Loads private keys written by OpenSSL (`tests/keys/generate.sh`) with both providers, and checks
//! their signatures.

use std::path::Path;
use std::sync::Arc;

use pki_types::pem::PemObject;
use pki_types::{
    InvalidSignature, PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer,
};
use rustls_core::crypto::WebPkiSupportedAlgorithms;
use rustls_core::enums::{SignatureAlgorithm, SignatureScheme};
use rustls_core::error::Error;
use rustls_core::sign::SigningKey;
use rustls_provider_aws_lc as aws_lc;
use rustls_provider_ring as ring;
use rustls_upstream as upstream;

use crate::Provider;

/// The files, with the kind of each key, its schemes in order of preference, and the length of the
/// public key at the end of the SubjectPublicKeyInfo.
const KEYS: &[Key] = &[
    ("rsa-2048.pkcs8", SignatureAlgorithm::RSA, RSA, 270),
    ("rsa-2048.pkcs1", SignatureAlgorithm::RSA, RSA, 270),
    ("ecdsa-P-256.pkcs8", SignatureAlgorithm::ECDSA, P256, 65),
    ("ecdsa-P-256.sec1", SignatureAlgorithm::ECDSA, P256, 65),
    ("ecdsa-P-384.pkcs8", SignatureAlgorithm::ECDSA, P384, 97),
    ("ecdsa-P-384.sec1", SignatureAlgorithm::ECDSA, P384, 97),
    ("ecdsa-P-521.pkcs8", SignatureAlgorithm::ECDSA, P521, 133),
    ("ecdsa-P-521.sec1", SignatureAlgorithm::ECDSA, P521, 133),
    ("ed25519.pkcs8", SignatureAlgorithm::ED25519, ED25519, 32),
];

type Key = (
    &'static str,
    SignatureAlgorithm,
    &'static [SignatureScheme],
    usize,
);

const RSA: &[SignatureScheme] = &[
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PKCS1_SHA512,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA256,
];
const P256: &[SignatureScheme] = &[SignatureScheme::ECDSA_NISTP256_SHA256];
const P384: &[SignatureScheme] = &[SignatureScheme::ECDSA_NISTP384_SHA384];
const P521: &[SignatureScheme] = &[SignatureScheme::ECDSA_NISTP521_SHA512];
const ED25519: &[SignatureScheme] = &[SignatureScheme::ED25519];

fn read(name: &str) -> PrivateKeyDer<'static> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keys");
    PrivateKeyDer::from_pem_file(dir.join(format!("{name}.pem"))).unwrap()
}

fn load(provider: Provider, name: &str) -> Result<Arc<dyn SigningKey>, Error> {
    provider.ours().key_provider.load_private_key(read(name))
}

impl Provider {
    /// Returns the keys of [`KEYS`] that this provider can load: ring has no P-521.
    fn keys(self) -> impl Iterator<Item = &'static Key> {
        KEYS.iter()
            .filter(move |key| self == Self::AwsLc || !key.0.contains("P-521"))
    }
}

#[test]
fn both_providers_verify_signatures_of_keys_in_every_encoding() {
    for provider in Provider::ALL {
        for &(name, algorithm, schemes, public_key_len) in provider.keys() {
            let key = load(provider, name).unwrap();
            assert_eq!(key.algorithm(), algorithm);
            let spki = key.public_key().unwrap();
            let public_key = &spki[spki.len() - public_key_len..];

            for &scheme in schemes {
                let signer = key.choose_scheme(&[scheme]).unwrap();
                assert_eq!(signer.scheme(), scheme);
                let signature = signer.sign(b"message").unwrap();
                for algorithms in verifiers(scheme) {
                    verify(algorithms, scheme, public_key, b"message", &signature).unwrap();
                    verify(algorithms, scheme, public_key, b"massage", &signature).unwrap_err();
                }
            }
        }
    }
}

/// Returns the verifiers of `scheme`.
fn verifiers(scheme: SignatureScheme) -> Vec<WebPkiSupportedAlgorithms> {
    let all = [aws_lc::SUPPORTED_SIG_ALGS, ring::SUPPORTED_SIG_ALGS];
    let able: Vec<_> = all
        .into_iter()
        .filter(|algorithms| algorithms.supported_schemes().contains(&scheme))
        .collect();
    assert!(!able.is_empty());
    able
}

/// Verifies like TLS 1.3, with the first algorithm of the scheme.
fn verify(
    algorithms: WebPkiSupportedAlgorithms,
    scheme: SignatureScheme,
    public_key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), InvalidSignature> {
    let (_, algorithms) = algorithms
        .mapping
        .iter()
        .find(|(mapped, _)| *mapped == scheme)
        .unwrap();
    algorithms[0].verify_signature(public_key, message, signature)
}

#[test]
fn preferences_and_public_keys_match_upstream() {
    for provider in Provider::ALL {
        for &(name, _, schemes, _) in provider.keys() {
            let ours = load(provider, name).unwrap();
            let theirs = provider.upstream();
            let theirs = theirs.key_provider.load_private_key(read(name)).unwrap();
            assert_eq!(ours.public_key(), theirs.public_key(), "{name}");

            // the key's order of preference is used, not that of the offer
            let mut offer = schemes.to_vec();
            offer.reverse();
            while let Some(signer) = ours.choose_scheme(&offer) {
                let their_offer: Vec<_> = offer
                    .iter()
                    .map(|scheme| upstream::SignatureScheme::from(u16::from(*scheme)))
                    .collect();
                let their_signer = theirs.choose_scheme(&their_offer).unwrap();
                let (ours, theirs) = (signer.scheme(), their_signer.scheme());
                assert_eq!(u16::from(ours), u16::from(theirs), "{name}");
                offer.retain(|scheme| *scheme != signer.scheme());
            }
            assert_eq!(offer, []);
        }
    }
}

#[test]
fn unsuitable_keys_are_rejected() {
    for provider in Provider::ALL {
        // too short for RSA; a key for key agreement, not for signing
        for name in ["rsa-1024.pkcs8", "x25519.pkcs8"] {
            assert_general(load(provider, name));
            let theirs = provider.upstream();
            assert!(theirs.key_provider.load_private_key(read(name)).is_err());
        }
    }
    assert_general(load(Provider::Ring, "ecdsa-P-521.pkcs8"));
    assert_general(load(Provider::Ring, "ecdsa-P-521.sec1"));
}

#[test]
fn truncated_keys_are_rejected() {
    for provider in Provider::ALL {
        for (name, ..) in provider.keys() {
            let complete = read(name);
            let complete = complete.secret_der();
            for len in 0..complete.len() {
                for der in labelled(&complete[..len]) {
                    assert_general(provider.ours().key_provider.load_private_key(der));
                }
            }
        }
    }
}

/// A library may accept encodings other than the one that the label names, but only those that
/// upstream accepts.
#[test]
fn mislabelled_keys_are_treated_like_upstream() {
    for provider in Provider::ALL {
        for (name, ..) in KEYS {
            for der in labelled(read(name).secret_der()) {
                let theirs = provider.upstream().key_provider;
                let theirs = theirs.load_private_key(der.clone_key());
                let ours = provider.ours().key_provider.load_private_key(der);
                assert_eq!(ours.is_ok(), theirs.is_ok(), "{provider:?} {name}");
            }
        }
    }
}

/// Returns `der` under each of the three labels.
fn labelled(der: &[u8]) -> [PrivateKeyDer<'static>; 3] {
    [
        PrivatePkcs1KeyDer::from(der.to_vec()).into(),
        PrivatePkcs8KeyDer::from(der.to_vec()).into(),
        PrivateSec1KeyDer::from(der.to_vec()).into(),
    ]
}

fn assert_general(loaded: Result<Arc<dyn SigningKey>, Error>) {
    assert!(matches!(loaded, Err(Error::General(_))), "{loaded:?}");
}
