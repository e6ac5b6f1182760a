//! Clients with chains of three certificates. A server that trusts their authority receives the
//! whole chain.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};

use crate::workload::{Identity, Result};

/// An authority that certifies clients through two intermediates.
pub(super) struct Authority {
    ca: CertifiedIssuer<'static, KeyPair>,
    intermediates: [CertifiedIssuer<'static, KeyPair>; 2],
}

impl Authority {
    pub(super) fn new() -> Result<Self> {
        let ca = CertifiedIssuer::self_signed(authority("authority")?, key()?)?;
        let upper = CertifiedIssuer::signed_by(authority("upper intermediate")?, key()?, &ca)?;
        let lower = CertifiedIssuer::signed_by(authority("lower intermediate")?, key()?, &upper)?;
        Ok(Self {
            ca,
            intermediates: [lower, upper],
        })
    }

    /// Creates client number `number`, with that number in its certificate.
    pub(super) fn client(&self, number: usize) -> Result<Arc<Identity>> {
        let name = format!("client-{number}.example");
        self.certify(&name, ExtendedKeyUsagePurpose::ClientAuth)
            .map(Arc::new)
    }

    /// Creates certificates and a key for `name`.
    pub(super) fn certify(&self, name: &str, purpose: ExtendedKeyUsagePurpose) -> Result<Identity> {
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        params.distinguished_name = distinguished_name(name);
        params.use_authority_key_identifier_extension = true;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        let key = key()?;
        let end_entity = params.signed_by(&key, &self.intermediates[0])?;
        let intermediates = self.intermediates.iter().map(|issuer| issuer.der());
        Ok(Identity {
            chain: [end_entity.der()]
                .into_iter()
                .chain(intermediates)
                .map(|der| der.to_vec().into())
                .collect(),
            key: key.into(),
            ca: self.ca.der().to_vec().into(),
        })
    }
}

/// The parameters of an authority that may sign certificates and revocation lists.
pub(super) fn authority(name: &str) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = distinguished_name(name);
    params.use_authority_key_identifier_extension = true;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

fn distinguished_name(common_name: &str) -> rcgen::DistinguishedName {
    let mut name = rcgen::DistinguishedName::new();
    name.push(DnType::CountryName, "XX");
    name.push(DnType::OrganizationName, "Organization of these examples");
    name.push(DnType::CommonName, common_name);
    name
}

fn key() -> Result<KeyPair> {
    Ok(KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?)
}
