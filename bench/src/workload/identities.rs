//! Certificate chains and their keys.

use harness::peers::pairs::Result;
use harness::peers::pki::{self, Issuer};
use pki_types::{CertificateDer, PrivateKeyDer};
use rcgen::{DnType, KeyPair};

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

/// An authority that certifies clients and servers through two intermediates: the lower one first,
/// the root last.
pub(crate) struct Authority([Issuer; 3]);

impl Authority {
    pub(crate) fn new() -> Self {
        let root = pki::root("authority", |_| ());
        let upper = pki::intermediate("intermediate 0", &root, |_| ());
        let lower = pki::intermediate("intermediate 1", &upper, |_| ());
        Self([lower, upper, root])
    }

    /// Creates client number `number`, with the whole chain.
    pub(crate) fn identity(&self, number: usize) -> Identity {
        let name = format!("client number {number}");
        certify(&pki::key(), &name, &self.0)
    }

    /// Creates a server with an RSA key of 4096 bits, and a single certificate.
    pub(crate) fn rsa_4096() -> Result<Identity> {
        let key = KeyPair::from_pem(RSA_4096)?;
        Ok(certify(&key, "server", &[pki::root("authority", |_| ())]))
    }
}

/// Made by `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:4096`, which takes seconds.
const RSA_4096: &str = include_str!("rsa-4096.pem");

/// Certifies `key` by the first of `issuers`. The last one is the root.
fn certify(key: &KeyPair, organization: &str, issuers: &[Issuer]) -> Identity {
    let end_entity = pki::leaf_of(key, &issuers[0], |params| {
        let name = &mut params.distinguished_name;
        name.push(DnType::OrganizationName, organization);
    });
    let (intermediates, root) = issuers.split_at(issuers.len() - 1);
    let intermediates = intermediates.iter().map(|issuer| issuer.der().clone());
    Identity {
        chain: [end_entity].into_iter().chain(intermediates).collect(),
        key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        ca: root[0].der().clone(),
    }
}
