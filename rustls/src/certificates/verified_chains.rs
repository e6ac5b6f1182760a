//! Chains that a verifier accepted, so that later handshakes need not verify them again.
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
//! Only acceptances are stored, never rejections. [`Acceptance`] determines how long they hold.

use core::fmt;

use pki_types::UnixTime;

use self::acceptances::Acceptances;
use super::CacheStats;
use crate::certificates::acceptance::{Acceptance, Basis};
use crate::certificates::peer_chain::PeerChain;

/// The default capacity of a map, in chains.
const DEFAULT_CAPACITY: usize = 1024;

/// Remembers certificate chains that a verifier accepted.
///
/// A later full handshake with the same chain then skips the verification of the signatures and
/// revocation lists up to the root. It still checks the peer's signature and the server's name. It
/// relies on an acceptance only
///
/// - if it was given under the same [rules](super::VerifierRules), such as roots, revocation lists,
///   policy and algorithms;
/// - for exactly the same bytes of the whole chain;
/// - until the first date passes on which the verdict could change: a certificate expires or
///   becomes valid, or, if the verifier enforces it, a revocation list reaches its next update. A
///   custom verifier states this date itself. If the clock was set back to before the verification,
///   the chain is verified again;
/// - for half a day if the peer is a client, because its sessions carry the acceptance and rely on
///   it until it is a day old.
///
/// If a verifier states no rules, every chain is verified in every full handshake. That is the
/// default for custom verifiers.
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
/// The map holds chains of up to 16 KiB each, including an overhead of 64 bytes per certificate,
/// and the properties that the application read from them. Longer chains are verified in every full
/// handshake. Without the crate feature `std`, the map is always disabled.
///
/// Handshakes with known peers are faster, which observers on the network may notice.
pub struct VerifiedChains {
    enabled: Option<Acceptances>,
}

impl VerifiedChains {
    /// The capacity of [`default`](Self::default). A full map of typical chains takes about 3 MB.
    #[cfg(feature = "std")]
    pub const DEFAULT_CAPACITY: usize = DEFAULT_CAPACITY;

    /// Creates a map for up to `capacity` chains. Beyond that, the oldest entry is evicted. With 0
    /// it is [`disabled`](Self::disabled).
    #[cfg(feature = "std")]
    pub fn new(capacity: usize) -> Self {
        Self::with_capacity(capacity)
    }

    fn with_capacity(capacity: usize) -> Self {
        Self {
            enabled: Acceptances::with_capacity(capacity),
        }
    }

    /// Creates a map that remembers nothing. Each full handshake verifies its chain, and so does
    /// each resumption of a session with a client certificate.
    pub fn disabled() -> Self {
        Self { enabled: None }
    }

    /// Removes all chains. The next full handshake with each chain verifies it.
    ///
    /// A server's sessions keep their acceptances, and resumptions rely on them for up to a day. To
    /// invalidate those too, change the rules, for example with a new revocation list, or end the
    /// sessions, for example by replacing the ticket key. A client's sessions are not affected.
    pub fn clear(&self) {
        if let Some(acceptances) = &self.enabled {
            acceptances.clear();
        }
    }

    /// Returns the statistics.
    ///
    /// `entries` is the number of chains, and `bytes` their total length. A hit is a full handshake
    /// whose chain was not verified again. Resumptions do not count.
    pub fn stats(&self) -> CacheStats {
        let enabled = self.enabled.as_ref();
        enabled.map_or_else(CacheStats::default, Acceptances::stats)
    }

    /// False if acceptances must not be relied on, not even those in sessions.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.is_some()
    }

    /// True if a chain of these certificates may be known: the map is enabled, and the chain is
    /// short enough for it.
    pub(crate) fn may_know<'a>(&self, der: impl Iterator<Item = &'a [u8]>) -> bool {
        self.is_enabled() && has_room_for(der)
    }

    /// Returns the acceptance of `chain`, if it holds for the verifier of `basis` at the time
    /// `now`.
    ///
    /// The peer must already have signed the handshake with the key of `chain`.
    pub(crate) fn find(
        &self,
        basis: Basis,
        chain: &PeerChain,
        now: UnixTime,
    ) -> Option<Acceptance> {
        self.enabled.as_ref()?.find(basis, chain, now)
    }

    /// Remembers the `acceptance` of `chain`, whose peer must have been authenticated. Does nothing
    /// if the chain takes too much memory, or if this map is disabled.
    pub(crate) fn keep(&self, chain: &PeerChain, acceptance: Acceptance) {
        if let Some(acceptances) = &self.enabled {
            acceptances.keep(chain, acceptance);
        }
    }
}

impl Default for VerifiedChains {
    /// Creates a map of [`DEFAULT_CAPACITY`](Self::DEFAULT_CAPACITY) with `std`,
    /// [`disabled`](Self::disabled) without.
    fn default() -> Self {
        Self::with_capacity(DEFAULT_CAPACITY)
    }
}

impl fmt::Debug for VerifiedChains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedChains")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// True if a chain of these certificates is small enough for a map.
fn has_room_for<'a>(der: impl Iterator<Item = &'a [u8]>) -> bool {
    /// The maximum length of a chain in the map in bytes, including the overhead.
    const MAX_CHAIN_LEN: usize = 16 * 1024;
    /// The approximate memory overhead of a certificate, in addition to its bytes.
    const CERTIFICATE_OVERHEAD: usize = 64;

    let lens = der.map(|der| CERTIFICATE_OVERHEAD + der.len());
    lens.sum::<usize>() <= MAX_CHAIN_LEN
}

#[cfg(feature = "std")]
mod acceptances;
/// A stub for builds without `std`: no map is created, because it would need a lock.
#[cfg(not(feature = "std"))]
mod acceptances {
    use super::*;

    pub(super) enum Acceptances {}

    impl Acceptances {
        pub(super) fn with_capacity(_capacity: usize) -> Option<Self> {
            None
        }

        pub(super) fn find(&self, _: Basis, _: &PeerChain, _: UnixTime) -> Option<Acceptance> {
            match *self {}
        }

        pub(super) fn keep(&self, _: &PeerChain, _: Acceptance) {
            match *self {}
        }

        pub(super) fn clear(&self) {
            match *self {}
        }

        pub(super) fn stats(&self) -> CacheStats {
            match *self {}
        }
    }
}
