//! Hybrid key exchange (draft-ietf-tls-hybrid-design): an elliptic curve together with ML-KEM. The
//! secret is safe while at least one of the two is unbroken.
//!
//! Shares and secrets of the two parts are concatenated. The group determines which part comes
//! first, for shares and secrets alike (draft-ietf-tls-ecdhe-mlkem §4).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use rustls_core::blocks::{Ecdh, EcdhGroup};
use rustls_core::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup,
};
use rustls_core::enums::{NamedGroup, ProtocolVersion};
use rustls_core::error::{Error, PeerMisbehaved};

use super::ecdh::AwsLcCurve;
use super::mlkem::MlKem;

/// A curve together with ML-KEM.
pub(super) struct Hybrid {
    pub(super) name: NamedGroup,
    pub(super) classical: EcdhGroup<AwsLcCurve>,
    pub(super) post_quantum: MlKem,
    pub(super) first: First,
}

impl SupportedKxGroup for Hybrid {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let classical = self.classical.start()?;
        let post_quantum = self.post_quantum.start()?;
        Ok(Box::new(HybridExchange {
            name: self.name,
            first: self.first,
            classical_share_len: self.classical.0.curve().share_len(),
            share: self.first.join(classical.pub_key(), post_quantum.pub_key()),
            classical,
            post_quantum,
        }))
    }

    fn start_and_complete(&self, client_share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let classical_len = self.classical.0.curve().share_len();
        if client_share.len() != classical_len + self.post_quantum.client_share_len {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        let (classical, post_quantum) = self
            .first
            .split(client_share, classical_len)
            .ok_or(PeerMisbehaved::InvalidKeyShare)?;
        let classical = self.classical.start_and_complete(classical)?;
        let (ciphertext, secret) = self.post_quantum.encapsulate(post_quantum)?;
        Ok(CompletedKeyExchange {
            group: self.name,
            pub_key: self.first.join(&classical.pub_key, ciphertext.as_ref()),
            secret: self.first.join_secrets(&classical.secret, secret.as_ref()),
        })
    }

    fn name(&self) -> NamedGroup {
        self.name
    }

    /// True if the first part is approved. SP 800-56C allows any bytes after an approved secret.
    fn fips(&self) -> bool {
        match self.first {
            First::Classical => self.classical.fips(),
            First::PostQuantum => self.post_quantum.fips(),
        }
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

impl fmt::Debug for Hybrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// The client's side of an exchange.
struct HybridExchange {
    name: NamedGroup,
    first: First,
    /// The length in bytes of a share of the curve, which is the same for both sides.
    classical_share_len: usize,
    classical: Box<dyn ActiveKeyExchange>,
    post_quantum: Box<dyn ActiveKeyExchange>,
    share: Vec<u8>,
}

impl ActiveKeyExchange for HybridExchange {
    fn complete(self: Box<Self>, server_share: &[u8]) -> Result<SharedSecret, Error> {
        // each part checks the length of its input
        let (classical, post_quantum) = self
            .first
            .split(server_share, self.classical_share_len)
            .ok_or(PeerMisbehaved::InvalidKeyShare)?;
        let classical = self.classical.complete(classical)?;
        let post_quantum = self.post_quantum.complete(post_quantum)?;
        Ok(self
            .first
            .join_secrets(&classical, post_quantum.secret_bytes()))
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((self.classical.group(), self.classical.pub_key()))
    }

    fn complete_hybrid_component(
        self: Box<Self>,
        server_share: &[u8],
    ) -> Result<SharedSecret, Error> {
        self.classical.complete(server_share)
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn group(&self) -> NamedGroup {
        self.name
    }
}

/// The part of a hybrid share or secret that comes first.
#[derive(Clone, Copy)]
pub(super) enum First {
    Classical,
    PostQuantum,
}

impl First {
    fn join(self, classical: &[u8], post_quantum: &[u8]) -> Vec<u8> {
        match self {
            Self::Classical => [classical, post_quantum].concat(),
            Self::PostQuantum => [post_quantum, classical].concat(),
        }
    }

    /// Concatenates two secrets. `concat` allocates once, so it leaves no unzeroized copy of a
    /// secret.
    fn join_secrets(self, classical: &SharedSecret, post_quantum: &[u8]) -> SharedSecret {
        self.join(classical.secret_bytes(), post_quantum).into()
    }

    /// Splits `joined` into the classical and the post-quantum part; `None` if it is too short.
    fn split(self, joined: &[u8], classical_len: usize) -> Option<(&[u8], &[u8])> {
        match self {
            Self::Classical => joined.split_at_checked(classical_len),
            Self::PostQuantum => {
                let (post_quantum, classical) =
                    joined.split_at_checked(joined.len().checked_sub(classical_len)?)?;
                Some((classical, post_quantum))
            }
        }
    }
}
