//! Chains of three certificates, whose keys are all of one kind.

use std::fs;
use std::path::{Path, PathBuf};

use kit::{Certificate, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize,
};

/// Writes root, chain and key of each kind to the folder `name` beside this program. Returns its
/// path. A second root with the same name serves to check that clients reject untrusted roots.
pub fn create(name: &str) -> Result<PathBuf> {
    let folder = std::env::current_exe()?.with_file_name(name);
    fs::create_dir_all(&folder)?;
    for certificate in [Certificate::EcdsaP256, Certificate::Rsa2048] {
        write(certificate, &folder)?;
    }
    Ok(folder)
}

fn write(certificate: Certificate, folder: &Path) -> Result<()> {
    let key = || match certificate {
        Certificate::EcdsaP256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
        Certificate::Rsa2048 => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048),
    };
    let root = CertifiedIssuer::self_signed(authority("Root", None), key()?)?;
    let intermediate =
        CertifiedIssuer::signed_by(authority("Intermediate", Some(0)), key()?, &root)?;
    let mut params = CertificateParams::new(["localhost".to_owned()])?;
    params
        .distinguished_name
        .push(DnType::CommonName, "localhost");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let own = key()?;
    let leaf = params.signed_by(&own, &intermediate)?;
    let stranger = CertifiedIssuer::self_signed(authority("Root", None), key()?)?;
    let files = [
        ("root", root.pem()),
        ("stranger", stranger.pem()),
        ("chain", leaf.pem() + &intermediate.pem()),
        ("key", own.serialize_pem()),
    ];
    for (content, pem) in files {
        let name = format!("{}-{content}.pem", certificate.name());
        fs::write(folder.join(name), pem)?;
    }
    Ok(())
}

fn authority(name: &str, path_len: Option<u8>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    let constraints = path_len.map_or(
        BasicConstraints::Unconstrained,
        BasicConstraints::Constrained,
    );
    params.is_ca = IsCa::Ca(constraints);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.use_authority_key_identifier_extension = path_len.is_some();
    params
}
