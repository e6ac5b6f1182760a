use std::string::ToString;
use std::vec;

use pki_types::PrivatePkcs8KeyDer;
use rustls_core::crypto::KeyProvider;

use super::*;
use crate::enums::{SignatureAlgorithm, SignatureScheme};
use crate::error::CertificateError;
use crate::providers::any_provider;

fn identity() -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let identity = rcgen::generate_simple_self_signed(["a.example".to_string()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
    (identity.cert.der().clone(), key.into())
}

/// A key that does not return its public key, and the provider of such keys.
#[derive(Debug)]
struct Opaque;

impl SigningKey for Opaque {
    fn choose_scheme(&self, _: &[SignatureScheme]) -> Option<alloc::boxed::Box<dyn Signer>> {
        None
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl KeyProvider for Opaque {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        Ok(Arc::new(Self))
    }
}

#[test]
fn keys_match_detects_mismatches() {
    let (cert, key) = identity();
    let (other_cert, _) = identity();
    let mut pair = CertifiedKey::from_der(vec![cert.clone()], key, &any_provider()).unwrap();
    assert_eq!(pair.keys_match(), Ok(()));
    assert_eq!(pair.end_entity_cert(), Ok(&cert));

    for (chain, error) in [
        (vec![other_cert, cert], InconsistentKeys::KeyMismatch.into()),
        (vec![], Error::NoCertificatesPresented),
        (vec![vec![0].into()], CertificateError::BadEncoding.into()),
    ] {
        pair.cert = chain;
        assert_eq!(pair.keys_match(), Err(error));
    }
}

#[test]
fn keys_without_public_key_are_not_checked() {
    static OPAQUE: Opaque = Opaque;
    let mut provider = any_provider();
    provider.key_provider = &OPAQUE;

    for chain in [vec![identity().0], vec![vec![0].into()], vec![]] {
        let pair = CertifiedKey::from_der(chain, identity().1, &provider).unwrap();
        assert_eq!(pair.keys_match(), Err(InconsistentKeys::Unknown.into()));
    }
}
