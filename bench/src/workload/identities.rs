//! Certificate chains and their keys.

use harness::peers::pairs::Result;
use harness::peers::pki::{self, Issuer};
use pki_types::{CertificateDer, PrivateKeyDer};
use rcgen::{DnType, KeyPair, PKCS_RSA_SHA256, RsaKeySize};

use crate::choices::{KeyType, Role};

/// A certificate chain and its key.
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    /// The authority that the peer trusts.
    pub(crate) ca: CertificateDer<'static>,
}

impl Identity {
    /// Returns the identity of `role` with a key of `key_type` and a single certificate.
    pub(crate) fn of(key_type: KeyType, role: Role) -> Self {
        let identities = key_type.identities();
        let identity = match role {
            Role::Client => &identities.client,
            Role::Server => &identities.server,
        };
        Self {
            chain: identity.chain.clone(),
            key: identity.key(),
            ca: identities.ca.clone(),
        }
    }
}

/// An authority that certifies clients and servers through two intermediates.
pub(crate) struct Authority {
    root: Issuer,
    upper: Issuer,
    lower: Issuer,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let root = pki::root("authority", |_| ());
        let upper = pki::intermediate("intermediate 0", &root, |_| ());
        let lower = pki::intermediate("intermediate 1", &upper, |_| ());
        Self { root, upper, lower }
    }

    /// Creates client number `number`, with the whole chain.
    pub(crate) fn identity(&self, number: usize) -> Identity {
        let name = format!("client number {number}");
        let issuers = [&self.lower, &self.upper];
        certify(&pki::key(), &name, &self.root, &issuers)
    }

    /// Creates a server with an RSA key of 4096 bits, and a single certificate.
    pub(crate) fn rsa_4096() -> Result<Identity> {
        let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_4096)?;
        Ok(certify(
            &key,
            "server",
            &pki::root("authority", |_| ()),
            &[],
        ))
    }
}

/// Certifies `key`. The first of `intermediates` is the issuer; `root` is, if there are none.
fn certify(
    key: &KeyPair,
    organization: &str,
    root: &Issuer,
    intermediates: &[&Issuer],
) -> Identity {
    let issuer = intermediates.first().copied().unwrap_or(root);
    let end_entity = pki::leaf_of(key, issuer, |params| {
        let name = &mut params.distinguished_name;
        name.push(DnType::OrganizationName, organization);
    });
    let intermediates = intermediates.iter().map(|issuer| issuer.der().clone());
    Identity {
        chain: [end_entity].into_iter().chain(intermediates).collect(),
        key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        ca: root.der().clone(),
    }
}
