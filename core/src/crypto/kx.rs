//! Key exchange: groups, exchanges in progress, and their resulting secrets.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroize;

use crate::enums::{NamedGroup, ProtocolVersion};
use crate::error::Error;
use crate::ffdhe_groups::{self, FfdheGroup};
use crate::versions::SupportedProtocolVersion;

#[cfg(test)]
mod tests;

/// A key exchange group, which can start any number of exchanges.
///
/// A group based on encapsulation (a KEM) implements [`start`](Self::start) for clients and
/// [`start_and_complete`](Self::start_and_complete) for servers.
pub trait SupportedKxGroup: Send + Sync + fmt::Debug {
    /// Starts an exchange: generates an ephemeral key.
    ///
    /// # Errors
    ///
    /// Fails if key generation fails, typically with [`Error::FailedToGetRandomBytes`].
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error>;

    /// Performs the whole exchange in one step, given the peer's share. TLS 1.3 servers call this.
    ///
    /// The default is [`start`](Self::start) followed by [`ActiveKeyExchange::complete`].
    ///
    /// # Errors
    ///
    /// Returns the errors of `start` and of `complete`.
    fn start_and_complete(&self, peer_pub_key: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let ours = self.start()?;
        let group = ours.group();
        let pub_key = ours.pub_key().to_vec();
        Ok(CompletedKeyExchange {
            group,
            pub_key,
            secret: ours.complete(peer_pub_key)?,
        })
    }

    /// Returns the parameters of a finite-field group; `None` for all other groups.
    ///
    /// The default looks [`name`](Self::name) up among the groups of RFC 7919. If all groups
    /// override this and [`ActiveKeyExchange::ffdhe_group`], the primes of unused groups stay out
    /// of the binary.
    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        ffdhe_groups::by_name(self.name())
    }

    /// Returns the group's code point.
    fn name(&self) -> NamedGroup;

    /// True if this group is FIPS-approved. The default is false.
    fn fips(&self) -> bool {
        false
    }

    /// True if this group may be negotiated in `version`. The default is true for all versions.
    fn usable_for_version(&self, _version: ProtocolVersion) -> bool {
        true
    }
}

/// A key exchange in progress: it has an ephemeral key, and is waiting for the peer's share.
pub trait ActiveKeyExchange: Send + Sync {
    /// Computes the shared secret from the peer's share.
    ///
    /// This consumes the exchange, so an ephemeral key is used only once.
    ///
    /// # Errors
    ///
    /// Returns `PeerMisbehaved::InvalidKeyShare` if the share has the wrong length or is not a
    /// valid element of the group. An all-zero X25519 result is one such case (RFC 9846 §7.4.2).
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error>;

    /// Computes the shared secret in the form that `tls_version` uses.
    ///
    /// The versions differ only for finite-field groups: TLS 1.2 strips leading zero bytes (RFC
    /// 5246 §8.1.2), while TLS 1.3 keeps the length of the prime (RFC 9846 §7.4.1).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`complete`](Self::complete).
    fn complete_for_tls_version(
        self: Box<Self>,
        peer_pub_key: &[u8],
        tls_version: &SupportedProtocolVersion,
    ) -> Result<SharedSecret, Error> {
        let finite_field = self.ffdhe_group().is_some();
        let secret = self.complete(peer_pub_key)?;
        Ok(match (tls_version.version, finite_field) {
            (ProtocolVersion::TLSv1_2, true) => secret.without_leading_zeros(),
            _ => secret,
        })
    }

    /// Returns the group and the share of the classical part of a hybrid exchange, if that part may
    /// be used alone.
    ///
    /// A client can then offer this share as well, without generating a second key. The default is
    /// `None`.
    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        None
    }

    /// Completes only the classical part. Call it if the server chose the group of
    /// [`hybrid_component`](Self::hybrid_component).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`complete`](Self::complete). The default always returns
    /// [`Error::General`], because there is no component.
    fn complete_hybrid_component(
        self: Box<Self>,
        _peer_pub_key: &[u8],
    ) -> Result<SharedSecret, Error> {
        Err(Error::General(
            "this key exchange has no component that can be completed alone".into(),
        ))
    }

    /// Returns our share in wire format (RFC 9846 §4.3.8).
    fn pub_key(&self) -> &[u8];

    /// Returns the parameters of a finite-field exchange; `None` for all other groups.
    ///
    /// The default looks [`group`](Self::group) up among the groups of RFC 7919.
    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        ffdhe_groups::by_name(self.group())
    }

    /// Returns the group of this exchange.
    fn group(&self) -> NamedGroup;
}

/// The result of [`SupportedKxGroup::start_and_complete`]: the group, our share and the shared
/// secret.
pub struct CompletedKeyExchange {
    /// The group of the exchange.
    pub group: NamedGroup,

    /// Our share, to send to the peer.
    pub pub_key: Vec<u8>,

    /// The secret that both sides now share.
    pub secret: SharedSecret,
}

/// The result of a key exchange. Zeroized on drop.
pub struct SharedSecret(Vec<u8>);

impl SharedSecret {
    /// Returns the bytes of the secret.
    pub fn secret_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Strips leading zero bytes, as TLS 1.2 requires (RFC 5246 §8.1.2).
    ///
    /// The timing reveals the number of leading zeros. RFC 5246 makes that unavoidable, because
    /// their number determines the length of the PRF key.
    fn without_leading_zeros(mut self) -> Self {
        let zeros = self.0.iter().take_while(|byte| **byte == 0).count();
        // the bytes freed at the end stay within the capacity, which is zeroized on drop
        self.0.drain(..zeros);
        self
    }
}

impl Drop for SharedSecret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl From<&[u8]> for SharedSecret {
    fn from(secret: &[u8]) -> Self {
        Self(secret.to_vec())
    }
}

impl From<Vec<u8>> for SharedSecret {
    fn from(secret: Vec<u8>) -> Self {
        Self(secret)
    }
}
