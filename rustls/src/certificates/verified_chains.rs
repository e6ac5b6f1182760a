//! Chains that a verifier has accepted, so that later handshakes need not verify them again.
//!
//! ```text
//!                                      ┌──────── VerifiedChains ─────────┐
//!   verifier, chain, time,        ──►  │ find: same rules, same bytes,   │ ──► accepted
//!   once signature and name            │       time within [at, until),  │
//!   are verified                       │       of a client within 12 h   │
//!                                      │                                 │
//!   accepted in full              ──►  │ keep: rules, chain, at, until   │
//!                                      └─────────────────────────────────┘
//! ```
//!
//! Only acceptances are kept, never rejections. The handshake looks a chain up only after it has
//! verified a signature by the chain's key, and the server's name. A peer that is refused takes the
//! same time, whether its chain is known or not.

use core::fmt;

use pki_types::UnixTime;

use super::CacheStats;
use crate::certificates::acceptance::{Acceptance, Basis};
use crate::certificates::peer_chain::PeerChain;

/// Remembers certificate chains that a verifier has accepted.
///
/// A later handshake with the same chain then skips the verification of the signatures and
/// revocation lists on the way to the root. It still checks the peer's signature and the server's
/// name. An acceptance is relied on only
///
/// - by a verifier with the same [rules](super::VerifierRules): roots, revocation lists, policy,
///   algorithms;
/// - for exactly the same bytes of the whole chain;
/// - until the first date passes on which the verdict could change: the expiry of a certificate,
///   or the next update of a revocation list if the verifier enforces that. If the clock is before
///   the time of the verification, the chain is verified again;
/// - for half a day if the peer is a client. Its sessions carry the acceptance, and must be able to
///   use it for another half day.
///
/// Verifiers that state no rules verify every chain in every handshake. That is the default for
/// custom verifiers.
///
/// By default, each configuration and its clones share one map. Set the same one to share it
/// between several configurations, or [`disabled`](Self::disabled) to verify every chain:
///
#[cfg_attr(all(feature = "aws_lc_rs", feature = "std"), doc = "```")]
#[cfg_attr(not(all(feature = "aws_lc_rs", feature = "std")), doc = "```ignore")]
/// use std::sync::Arc;
///
/// use rustls::ClientConfig;
/// use rustls::certificates::VerifiedChains;
///
/// fn verify_always(config: &mut ClientConfig) {
///     config.verified_chains = Arc::new(VerifiedChains::disabled());
/// }
/// ```
///
/// The map holds the chains that it knows, up to 16 KiB each, and the properties that the
/// application has read from them. Longer chains are verified each time. Without the crate feature
/// `std`, the map is always disabled.
///
/// Handshakes with known peers are faster, and others on the network may see that.
pub struct VerifiedChains {
    #[cfg(feature = "std")]
    enabled: Option<acceptances::Acceptances<std::hash::RandomState>>,
}

impl VerifiedChains {
    /// The capacity of [`default`](Self::default). A full map of usual chains takes about 3 MB.
    #[cfg(feature = "std")]
    pub const DEFAULT_CAPACITY: usize = 1024;

    /// The maximum memory of a chain in the map, in bytes.
    #[cfg(feature = "std")]
    const MAX_CHAIN_LEN: usize = 16 * 1024;

    /// The approximate memory of a certificate without its bytes.
    #[cfg(feature = "std")]
    const CERTIFICATE_OVERHEAD: usize = 64;

    /// Creates a map for up to `capacity` chains. Beyond that, the oldest entry is evicted. With 0
    /// it is [`disabled`](Self::disabled).
    #[cfg(feature = "std")]
    pub fn new(capacity: usize) -> Self {
        let enabled =
            (capacity > 0).then(|| acceptances::Acceptances::new(capacity, Default::default()));
        Self { enabled }
    }

    /// Creates a map that remembers nothing. Each handshake verifies its chain, and so does each
    /// resumption with a client certificate.
    pub fn disabled() -> Self {
        Self {
            #[cfg(feature = "std")]
            enabled: None,
        }
    }

    /// Removes all chains, so that each is verified once more.
    ///
    /// Sessions keep their acceptances, and resumptions rely on them for up to a day. To end those
    /// too, change the rules, for example by another revocation list, or replace the key of the
    /// tickets.
    pub fn clear(&self) {
        #[cfg(feature = "std")]
        if let Some(acceptances) = &self.enabled {
            acceptances.clear();
        }
    }

    /// Returns the statistics.
    ///
    /// `entries` counts the chains, `bytes` their total length. A hit is a full handshake whose
    /// chain was not verified again. Resumptions do not count.
    pub fn stats(&self) -> CacheStats {
        #[cfg(feature = "std")]
        if let Some(acceptances) = &self.enabled {
            return acceptances.stats();
        }
        CacheStats::default()
    }

    /// False if acceptances must not be relied on, not even those in sessions.
    pub(crate) fn is_enabled(&self) -> bool {
        #[cfg(feature = "std")]
        return self.enabled.is_some();
        #[cfg(not(feature = "std"))]
        return false;
    }

    /// True if a chain of these certificates may be known, because it is short enough for a map.
    pub(crate) fn may_know<'a>(&self, der: impl Iterator<Item = &'a [u8]>) -> bool {
        #[cfg(feature = "std")]
        return self.is_enabled() && Self::has_room_for(der);
        #[cfg(not(feature = "std"))]
        {
            let _ = der;
            false
        }
    }

    #[cfg(feature = "std")]
    fn has_room_for<'a>(der: impl Iterator<Item = &'a [u8]>) -> bool {
        let lens = der.map(|der| Self::CERTIFICATE_OVERHEAD + der.len());
        lens.sum::<usize>() <= Self::MAX_CHAIN_LEN
    }

    /// Returns the acceptance of `chain` that holds for the verifier of `basis` at the time `now`.
    ///
    /// The peer must have signed the handshake with the key of `chain` before.
    pub(crate) fn find(
        &self,
        basis: Basis,
        chain: &PeerChain,
        now: UnixTime,
    ) -> Option<Acceptance> {
        #[cfg(feature = "std")]
        return self.enabled.as_ref()?.find(basis, chain, now);
        #[cfg(not(feature = "std"))]
        {
            let _ = (basis, chain, now);
            None
        }
    }

    /// Remembers `acceptance`, of the chain of an authenticated peer.
    pub(crate) fn keep(&self, chain: &PeerChain, acceptance: Acceptance) {
        #[cfg(feature = "std")]
        if let Some(acceptances) = &self.enabled {
            if Self::has_room_for(chain.der()) {
                acceptances.keep(chain, acceptance);
            }
        }
        #[cfg(not(feature = "std"))]
        let _ = (chain, acceptance);
    }
}

impl Default for VerifiedChains {
    /// A map of [`DEFAULT_CAPACITY`](Self::DEFAULT_CAPACITY) with `std`,
    /// [`disabled`](Self::disabled) without.
    fn default() -> Self {
        #[cfg(feature = "std")]
        return Self::new(Self::DEFAULT_CAPACITY);
        #[cfg(not(feature = "std"))]
        return Self::disabled();
    }
}

impl fmt::Debug for VerifiedChains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedChains")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "std")]
mod acceptances;
