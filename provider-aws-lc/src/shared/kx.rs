//! Key exchange over elliptic curves: X25519 (RFC 7748), secp256r1, secp384r1 (RFC 8422).

use alloc::boxed::Box;
use core::fmt;

use rustls_core::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup,
};
use rustls_core::enums::NamedGroup;
use rustls_core::error::{Error, PeerMisbehaved};

use crate::backend::{self, agreement};

/// X25519 (RFC 7748).
pub static X25519: &dyn SupportedKxGroup = &X25519_GROUP;

/// The NIST curve P-256.
pub static SECP256R1: &dyn SupportedKxGroup = &SECP256R1_GROUP;

/// The NIST curve P-384.
pub static SECP384R1: &dyn SupportedKxGroup = &SECP384R1_GROUP;

pub(crate) const X25519_GROUP: EcdhGroup = EcdhGroup {
    name: NamedGroup::X25519,
    algorithm: &agreement::X25519,
    share_len: 32,
    is_nist_curve: false,
};

pub(crate) const SECP256R1_GROUP: EcdhGroup = EcdhGroup {
    name: NamedGroup::secp256r1,
    algorithm: &agreement::ECDH_P256,
    share_len: 1 + 2 * 32,
    is_nist_curve: true,
};

const SECP384R1_GROUP: EcdhGroup = EcdhGroup {
    name: NamedGroup::secp384r1,
    algorithm: &agreement::ECDH_P384,
    share_len: 1 + 2 * 48,
    is_nist_curve: true,
};

/// Diffie-Hellman over one curve.
#[derive(Clone, Copy)]
pub(crate) struct EcdhGroup {
    name: NamedGroup,
    algorithm: &'static agreement::Algorithm,
    /// Length in bytes of a share of either side.
    pub(crate) share_len: usize,
    /// True when a share is a point with its two coordinates, approved by FIPS.
    is_nist_curve: bool,
}

impl EcdhGroup {
    fn start_exchange(self) -> Result<EcdhExchange, Error> {
        let private_key = agreement::EphemeralPrivateKey::generate(
            self.algorithm,
            &backend::rand::SystemRandom::new(),
        )
        .map_err(|_| Error::FailedToGetRandomBytes)?;
        let public_key = private_key
            .compute_public_key()
            .map_err(|_| Error::FailedToGetRandomBytes)?;
        Ok(EcdhExchange {
            group: self,
            private_key,
            public_key,
        })
    }

    /// Whether `share` is encoded as TLS wants it. Whether it is on the curve shows later.
    fn encodes(&self, share: &[u8]) -> bool {
        // RFC 9846 §4.3.8.2: the point is uncompressed, form 4; other forms have other lengths
        const UNCOMPRESSED: u8 = 0x04;
        share.len() == self.share_len
            && (!self.is_nist_curve || share.first() == Some(&UNCOMPRESSED))
    }
}

impl SupportedKxGroup for EcdhGroup {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(self.start_exchange()?))
    }

    fn start_and_complete(&self, peer_pub_key: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let exchange = self.start_exchange()?;
        Ok(CompletedKeyExchange {
            group: self.name,
            pub_key: exchange.public_key.as_ref().to_vec(),
            secret: exchange.agree(peer_pub_key)?,
        })
    }

    fn name(&self) -> NamedGroup {
        self.name
    }

    fn fips(&self) -> bool {
        self.is_nist_curve && backend::fips()
    }
}

impl fmt::Debug for EcdhGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

struct EcdhExchange {
    group: EcdhGroup,
    private_key: agreement::EphemeralPrivateKey,
    public_key: agreement::PublicKey,
}

impl EcdhExchange {
    fn agree(self, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        if !self.group.encodes(peer_pub_key) {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        // RFC 9846 §7.4.2: the peer's point is validated, and an all-zero X25519 result refused.
        // Both libraries do so.
        let peer = agreement::UnparsedPublicKey::new(self.group.algorithm, peer_pub_key);
        backend::agree(self.private_key, peer).ok_or_else(|| PeerMisbehaved::InvalidKeyShare.into())
    }
}

impl ActiveKeyExchange for EcdhExchange {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        self.agree(peer_pub_key)
    }

    fn pub_key(&self) -> &[u8] {
        self.public_key.as_ref()
    }

    fn group(&self) -> NamedGroup {
        self.group.name
    }
}
