//! The certificates of the benchmarks, made anew for each run.
//!
//! A root and a server certificate signed by it, as DER: both implementations read the same bytes.

use core::error::Error;

use clap::ValueEnum;
use pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// The name that the server certificate is for.
pub(crate) const SERVER_NAME: &str = "localhost";

/// Kind of the server certificate's key. The root's is of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyType {
    EcdsaP256,
    EcdsaP384,
    Ed25519,
    #[value(name = "rsa-2048")]
    Rsa2048,
}

impl KeyType {
    fn generate(self) -> Result<KeyPair, Box<dyn Error + Send + Sync>> {
        let algorithm = match self {
            Self::EcdsaP256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            Self::EcdsaP384 => &rcgen::PKCS_ECDSA_P384_SHA384,
            Self::Ed25519 => &rcgen::PKCS_ED25519,
            Self::Rsa2048 => {
                // rcgen on ring signs with RSA keys but cannot make them
                use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
                use aws_lc_rs::rsa::{KeyPair as Rsa, KeySize};
                let key = Rsa::generate(KeySize::Rsa2048)?;
                let pkcs8: Pkcs8V1Der<'_> = key.as_der()?;
                return Ok(KeyPair::from_pkcs8_der_and_sign_algo(
                    &PrivatePkcs8KeyDer::from(pkcs8.as_ref()),
                    &rcgen::PKCS_RSA_SHA256,
                )?);
            }
        };
        Ok(KeyPair::generate_for(algorithm)?)
    }
}

/// What a server presents and a client trusts.
pub(crate) struct Identity {
    pub(crate) root: CertificateDer<'static>,
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Identity {
    pub(crate) fn generate(key_type: KeyType) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut root = CertificateParams::new([])?;
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        root.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let root_key = key_type.generate()?;
        let root_certificate = root.self_signed(&root_key)?;
        let issuer = Issuer::new(root, root_key);

        let mut server = CertificateParams::new([SERVER_NAME.to_owned()])?;
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = key_type.generate()?;
        let certificate = server.signed_by(&key, &issuer)?;
        Ok(Self {
            root: root_certificate.der().clone(),
            chain: vec![certificate.der().clone()],
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        })
    }
}
