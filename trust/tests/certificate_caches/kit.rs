//! Root certificates.

use harness::peers::configs::this::trusted;
use pki_types::CertificateDer;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, PKCS_ED25519};
use rustls::RootCertStore;
use rustls_trust::RootSource;

/// DER that is not a certificate.
pub(crate) const GARBAGE: &str = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";

/// A root certificate in both formats.
#[derive(Clone)]
pub(crate) struct Root {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) pem: String,
}

impl Root {
    /// Names of equal length make certificates of equal length.
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.serial_number = Some(1_u64.into());
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let root = params.self_signed(&key).unwrap();
        Self {
            der: root.der().clone(),
            pem: root.pem(),
        }
    }
}

pub(crate) fn some_roots<const N: usize>() -> [Root; N] {
    std::array::from_fn(|number| Root::new(&format!("root {number}")))
}

/// Returns all roots in one PEM text.
pub(crate) fn bundle(roots: &[Root]) -> String {
    roots.iter().map(|root| root.pem.as_str()).collect()
}

/// Creates a source of this PEM text in memory.
pub(crate) fn in_memory(pem: impl Into<Vec<u8>>) -> RootSource {
    RootSource::Pem(pem.into().into())
}

#[track_caller]
pub(crate) fn assert_has(store: &RootCertStore, roots: &[&Root]) {
    let expected = trusted(roots.iter().map(|root| &root.der));
    assert_eq!(store.roots, expected.roots);
}
