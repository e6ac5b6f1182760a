use alloc::vec;

use pki_types::{PrivatePkcs1KeyDer, PrivateSec1KeyDer};

use super::*;

/// Accepts keys encoded as `[kind]`, bare or wrapped in PKCS#8. A signature is the scheme followed
/// by the message.
struct Toy(KeyKind);

impl KeyPair for Toy {
    fn from_pkcs8(kind: KeyKind, der: &[u8]) -> Result<Self, KeyRejected> {
        let expected = [kind as u8];
        if der == expected || der == &into_pkcs8(kind, &expected)[..] {
            return Ok(Self(kind));
        }
        Err(format!("not {kind:?} indeed").into())
    }

    fn public_key(&self) -> impl AsRef<[u8]> {
        [0xab; 4]
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Option<Vec<u8>> {
        assert!(self.0.schemes().contains(&scheme));
        (message != b"fail").then(|| [&scheme.to_array(), message].concat())
    }
}

const ALL: [KeyKind; 5] = KeyKind::ALL;

fn pkcs8(kind: KeyKind) -> PrivateKeyDer<'static> {
    PrivateKeyDer::Pkcs8(vec![kind as u8].into())
}

fn loaded(kind: KeyKind) -> Arc<dyn SigningKey> {
    any_supported_type::<Toy>(&pkcs8(kind)).unwrap()
}

#[test]
fn each_kind_of_key_loads_only_from_its_encodings() {
    for kind in ALL {
        let bytes = vec![kind as u8];
        assert_eq!(loaded(kind).algorithm(), kind.algorithm());
        let pkcs1 = PrivateKeyDer::Pkcs1(PrivatePkcs1KeyDer::from(bytes.clone()));
        let sec1 = PrivateKeyDer::Sec1(PrivateSec1KeyDer::from(bytes.clone()));
        let is_ecdsa = kind.algorithm() == SignatureAlgorithm::ECDSA;
        let is_rsa = kind == KeyKind::Rsa;
        assert_eq!(any_supported_type::<Toy>(&pkcs1).is_ok(), is_rsa);
        assert_eq!(any_supported_type::<Toy>(&sec1).is_ok(), is_ecdsa);
        assert_eq!(any_ecdsa_type::<Toy>(&sec1).is_ok(), is_ecdsa);
        assert_eq!(any_ecdsa_type::<Toy>(&pkcs8(kind)).is_ok(), is_ecdsa);
        let eddsa = any_eddsa_type::<Toy>(&bytes.into());
        assert_eq!(eddsa.is_ok(), kind == KeyKind::Ed25519);
        let by_provider = KeyLoader::<Toy>::NEW.load_private_key(pkcs8(kind));
        assert_eq!(by_provider.unwrap().algorithm(), kind.algorithm());
    }
}

#[test]
fn a_rejection_states_the_reasons_of_the_library() {
    let nothing = PrivateKeyDer::Sec1(vec![99].into());
    let refused = any_supported_type::<Toy>(&nothing).unwrap_err();
    assert_eq!(
        refused,
        Error::General(
            "failed to parse private key as RSA, ECDSA, or EdDSA (as Rsa: not in this encoding; \
             as EcdsaP256: not EcdsaP256 indeed; as EcdsaP384: not EcdsaP384 indeed; \
             as EcdsaP521: not EcdsaP521 indeed; as Ed25519: not in this encoding)"
                .into()
        )
    );
}

#[test]
fn a_key_in_its_own_encoding_is_wrapped_in_pkcs8() {
    // RFC 5958 §2: version 0, AlgorithmIdentifier of RSA with NULL (RFC 8017 §A.1), the key
    assert_eq!(
        into_pkcs8(KeyKind::Rsa, b"key")[..],
        *b"\x30\x17\x02\x01\0\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\0\x04\x03key"
    );
}

#[test]
fn a_signer_uses_the_first_offered_scheme_of_the_key() {
    for kind in ALL {
        let key = loaded(kind);
        for from in 0..kind.schemes().len() {
            let mut offered = kind.schemes()[from..].to_vec();
            offered.reverse();
            offered.insert(0, SignatureScheme::ML_DSA_44);
            let signer = key.choose_scheme(&offered).unwrap();
            let scheme = kind.schemes()[from];
            assert_eq!(signer.scheme(), scheme);
            let signature = signer.sign(b"message").unwrap();
            assert_eq!(signature, [&scheme.to_array()[..], b"message"].concat());
            assert!(matches!(signer.sign(b"fail"), Err(Error::General(_))));
        }
        assert!(key.choose_scheme(&[SignatureScheme::ML_DSA_44]).is_none());
        assert!(key.choose_scheme(&[]).is_none());
    }
}

#[test]
fn a_public_key_has_the_algorithm_identifier_of_its_kind() {
    for kind in ALL {
        let key = loaded(kind);
        let expected = public_key_to_spki(&kind.algorithm_id(), [0xab; 4]);
        assert_eq!(key.public_key(), Some(expected));
        assert!(!KeyLoader::<Toy>::NEW.fips());
    }
}

#[test]
fn debug_shows_kind_and_scheme() {
    let key = loaded(KeyKind::Ed25519);
    let signer = key.choose_scheme(&[SignatureScheme::ED25519]).unwrap();
    assert_eq!(
        format!("{key:?} {signer:?} {:?}", KeyLoader::<Toy>::NEW),
        "SigningKey { kind: Ed25519, .. } Signer { scheme: ED25519, .. } KeyLoader"
    );
}
