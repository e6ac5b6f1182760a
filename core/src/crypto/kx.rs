//! Key exchange: groups, exchanges under way, and the secrets that result.

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

/// A key exchange group. Any number of exchanges can be started from it.
///
/// A group that works by encapsulation (a KEM) implements [`start`](Self::start) for clients and
/// [`start_and_complete`](Self::start_and_complete) for servers.
pub trait SupportedKxGroup: Send + Sync + fmt::Debug {
    /// Starts an exchange: makes a fresh ephemeral key.
    ///
    /// # Errors
    ///
    /// Key generation may fail, typically with [`Error::FailedToGetRandomBytes`].
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error>;

    /// Does the whole exchange at once, given the peer's share. This is the server's side of TLS 1.3.
    ///
    /// Unless overridden it is [`start`](Self::start) followed by [`ActiveKeyExchange::complete`].
    ///
    /// # Errors
    ///
    /// Those of `start` and of `complete`.
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

    /// The parameters of this group when it is a finite-field group, `None` for all others.
    ///
    /// The default finds them by [`name`](Self::name) among those of RFC 7919. Override it to keep
    /// the primes of unused groups out of the binary.
    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        ffdhe_groups::by_name(self.name())
    }

    /// The group's code point.
    fn name(&self) -> NamedGroup;

    /// True when this group is FIPS-approved. False unless overridden.
    fn fips(&self) -> bool {
        false
    }

    /// True when this group may be negotiated in `version`. True for all unless overridden.
    fn usable_for_version(&self, _version: ProtocolVersion) -> bool {
        true
    }
}

/// A key exchange whose first half is done: the ephemeral key exists, and its public part is known.
pub trait ActiveKeyExchange: Send + Sync {
    /// Computes the shared secret from the peer's share.
    ///
    /// It consumes the exchange, so an ephemeral key is used once.
    ///
    /// # Errors
    ///
    /// `PeerMisbehaved::InvalidKeyShare` when the share has the wrong length or is not a valid
    /// element of the group. An all-zero X25519 result is one such case (RFC 9846 §7.4.2).
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error>;

    /// Computes the shared secret in the form that `tls_version` wants.
    ///
    /// The versions differ for finite-field groups only: TLS 1.2 strips leading zero bytes
    /// (RFC 5246 §8.1.2), TLS 1.3 keeps the length of the prime (RFC 9846 §7.4.1).
    ///
    /// # Errors
    ///
    /// Those of [`complete`](Self::complete).
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

    /// For a hybrid exchange whose classical part may also be used alone: that part's group and share.
    ///
    /// A client then offers this share too, without generating a second key. `None` unless overridden.
    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        None
    }

    /// Completes the classical part alone, when the server chose the group that
    /// [`hybrid_component`](Self::hybrid_component) named.
    ///
    /// # Errors
    ///
    /// Those of [`complete`](Self::complete); also, and always unless overridden, [`Error::General`]:
    /// an exchange that names no component has none to complete.
    fn complete_hybrid_component(
        self: Box<Self>,
        _peer_pub_key: &[u8],
    ) -> Result<SharedSecret, Error> {
        Err(Error::General(
            "this key exchange has no component that can be completed alone".into(),
        ))
    }

    /// Our share, in the encoding that goes on the wire (RFC 9846 §4.3.8).
    fn pub_key(&self) -> &[u8];

    /// The parameters when this is a finite-field exchange, `None` for all others.
    ///
    /// The default finds them by [`group`](Self::group) among those of RFC 7919.
    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        ffdhe_groups::by_name(self.group())
    }

    /// The group of this exchange.
    fn group(&self) -> NamedGroup;
}

/// What [`SupportedKxGroup::start_and_complete`] returns: our share and the shared secret.
pub struct CompletedKeyExchange {
    /// The group that was used.
    pub group: NamedGroup,

    /// Our share, to be sent to the peer.
    pub pub_key: Vec<u8>,

    /// The secret that both sides now know.
    pub secret: SharedSecret,
}

/// The result of a key exchange. Zeroized on drop.
pub struct SharedSecret(Vec<u8>);

impl SharedSecret {
    /// The secret itself.
    pub fn secret_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same number without leading zero bytes, as TLS 1.2 wants it (RFC 5246 §8.1.2).
    ///
    /// The number of leading zeros shows in the timing. RFC 5246 makes that unavoidable: it determines the
    /// length of the PRF's key.
    fn without_leading_zeros(mut self) -> Self {
        let zeros = self.0.iter().take_while(|byte| **byte == 0).count();
        // The bytes freed at the end stay within the capacity, all of which is zeroized on drop.
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
