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

/// An authority that certifies clients and servers through intermediates.
pub(crate) struct Authority {
    root: Issuer,
    /// From the issuer of certificates up.
    intermediates: Vec<Issuer>,
}

impl Authority {
    pub(crate) fn new(intermediates: usize) -> Self {
        let root = pki::root("authority", |_| ());
        let mut all = Vec::<Issuer>::new();
        for number in 0..intermediates {
            let upper = all.first().unwrap_or(&root);
            let lower = pki::intermediate(&format!("intermediate {number}"), upper, |_| ());
            all.insert(0, lower);
        }
        Self {
            root,
            intermediates: all,
        }
    }

    /// Creates identity number `number`. A server that trusts the authority gets the whole chain.
    pub(crate) fn identity(&self, number: usize) -> Identity {
        self.certify(&pki::key(), &format!("client number {number}"))
    }

    /// Creates a server with an RSA key of 4096 bits.
    pub(crate) fn rsa_4096(&self) -> Result<Identity> {
        let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_4096)?;
        Ok(self.certify(&key, "server"))
    }

    fn certify(&self, key: &KeyPair, organization: &str) -> Identity {
        let issuer = self.intermediates.first().unwrap_or(&self.root);
        let end_entity = pki::leaf_of(key, issuer, |params| {
            let name = &mut params.distinguished_name;
            name.push(DnType::OrganizationName, organization);
        });
        let intermediates = self.intermediates.iter().map(|issuer| issuer.der().clone());
        Identity {
            chain: [end_entity].into_iter().chain(intermediates).collect(),
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            ca: self.root.der().clone(),
        }
    }
}
