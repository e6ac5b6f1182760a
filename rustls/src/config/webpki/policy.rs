//! The requirements for a path besides its trust anchor: the purpose, and the revocation check.

use webpki::{ExpirationPolicy, KeyUsage, RevocationCheckDepth, UnknownStatusPolicy};

/// The rules for checking revocation, if there are lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct RevocationPolicy {
    pub(super) depth: RevocationCheckDepth,
    pub(super) unknown_status: UnknownStatusPolicy,
    pub(super) expiration: ExpirationPolicy,
}

impl Default for RevocationPolicy {
    /// Requires revocation lists for the whole chain, and ignores their age.
    fn default() -> Self {
        Self {
            depth: RevocationCheckDepth::Chain,
            unknown_status: UnknownStatusPolicy::Deny,
            expiration: ExpirationPolicy::Ignore,
        }
    }
}

/// The purpose that all certificates below the trust anchor must allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    ServerAuth,
    ClientAuth,
}

impl Usage {
    pub(super) fn key_usage(self) -> KeyUsage {
        match self {
            Self::ServerAuth => KeyUsage::server_auth(),
            Self::ClientAuth => KeyUsage::client_auth(),
        }
    }
}
