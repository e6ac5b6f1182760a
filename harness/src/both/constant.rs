//! A group and a key with constant results, for one crate.

use super::tls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use super::tls::sign::{Signer, SigningKey};
use super::tls::{
    Error, NamedGroup, PeerMisbehaved, ProtocolVersion, SignatureAlgorithm, SignatureScheme,
};
use crate::providers::leak;

/// A group whose share and secret are always the same.
#[derive(Clone, Debug)]
pub struct Group {
    pub name: NamedGroup,
    pub share: Vec<u8>,
    pub secret: Vec<u8>,
    /// The only accepted length of a peer's share; `None` accepts any length.
    pub peer_len: Option<usize>,
    /// The hybrid's classical group, and its share.
    pub component: Option<(NamedGroup, Vec<u8>)>,
    /// True if TLS 1.3 cannot use the group.
    pub only_tls12: bool,
}

impl Group {
    pub fn new(name: NamedGroup, share: &[u8]) -> Self {
        Self {
            name,
            share: share.to_vec(),
            secret: vec![7; 32],
            peer_len: None,
            component: None,
            only_tls12: false,
        }
    }

    pub fn only_tls12(name: NamedGroup) -> Self {
        Self {
            only_tls12: true,
            ..Self::new(name, &[7; 32])
        }
    }

    /// Leaks the group, because a provider needs static groups.
    pub fn leak(self) -> &'static dyn SupportedKxGroup {
        leak(self)
    }
}

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(self.clone()))
    }

    fn name(&self) -> NamedGroup {
        self.name
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        !self.only_tls12 || version == ProtocolVersion::TLSv1_2
    }
}

impl ActiveKeyExchange for Group {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        if self.peer_len.is_some_and(|len| len != peer.len()) {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        Ok(SharedSecret::from(&self.secret[..]))
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        let component = self.component.as_ref();
        component.map(|(group, share)| (*group, &share[..]))
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn group(&self) -> NamedGroup {
        self.name
    }
}

/// A key with the same signature for every message. Its scheme must be offered, unless the scheme
/// is unknown.
#[derive(Clone, Debug)]
pub struct Key {
    pub algorithm: SignatureAlgorithm,
    pub scheme: SignatureScheme,
    pub signature: Vec<u8>,
}

impl SigningKey for Key {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let is_unknown = matches!(self.scheme, SignatureScheme::Unknown(_));
        let signer = || Box::new(self.clone()) as Box<dyn Signer>;
        (is_unknown || offered.contains(&self.scheme)).then(signer)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }
}

impl Signer for Key {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.signature.clone())
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}
