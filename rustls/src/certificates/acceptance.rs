//! A verifier's acceptance of a chain, and the conditions for relying on it later.
//!
//! A built-in verifier's verdict on a chain depends only on its rules and the time, apart from the
//! check of the server's name. The time is only compared with dates in certificates and revocation
//! lists. So an acceptance holds for the same rules and the same chain until the first such date
//! passes. A custom verifier states that date itself. Acceptances of clients also have a maximum
//! age.

use core::fmt;

use pki_types::UnixTime;
use rustls_core::codec::{Codec, Reader};

use crate::enums::Side;
use crate::error::InvalidMessage;
use crate::msgs::Hex;

/// A digest of everything that a verifier's verdict depends on, except the arguments with which the
/// verifier is called. **Do not use it in a verifier that consults anything that may change**, such
/// as the platform's trust store, a file, or a field behind a lock.
///
/// Verifiers with equal rules must accept the same chains at the same time. The rules of the
/// built-in verifiers cover their roots, revocation lists, policy and algorithms. A custom verifier
/// hashes its own inputs, together with a name and a version for its code.
///
/// Servers store rules in sessions. Use the same value on all machines that share sessions, and a
/// new value when the verifier's code changes its verdicts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct VerifierRules([u8; Self::LEN]);

impl VerifierRules {
    /// The length of the digest in bytes.
    pub const LEN: usize = 32;

    /// Creates the rules from a collision-resistant digest, such as SHA-256.
    pub const fn from_digest(digest: [u8; Self::LEN]) -> Self {
        Self(digest)
    }
}

impl AsRef<[u8]> for VerifierRules {
    /// Returns the digest.
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for VerifierRules {
    /// Prints the first eight bytes in hexadecimal, which distinguish rules in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifierRules({:?}…)", Hex(&self.0[..8]))
    }
}

/// The verifier that accepted a chain: its rules, and the side (client or server) that it verifies.
/// The side is included because a type that verifies both may return the same digest for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Basis {
    pub(crate) peer: Side,
    pub(crate) rules: VerifierRules,
}

/// The acceptance of a chain: by which verifier, when the chain was verified, and until when the
/// acceptance holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acceptance {
    basis: Basis,
    /// The time when the chain was verified, in seconds since 1970.
    verified_at: u64,
    /// The first second at which the acceptance no longer holds.
    until: u64,
}

impl Basis {
    /// Returns a 64-bit key for hash tables: the side, and the first bytes of the rules.
    #[cfg(feature = "std")]
    pub(super) fn prefix(&self) -> u64 {
        let rules = u64::from_ne_bytes(*self.rules.0.first_chunk().unwrap_or(&[0; 8]));
        rules ^ self.peer as u64
    }
}

impl Acceptance {
    /// The length of an encoded client acceptance in bytes.
    pub(crate) const LEN: usize = VerifierRules::LEN + 8 + 8;

    /// The maximum age in seconds of an acceptance in a session. Machines that share sessions may
    /// run different versions of the code that verifies, and a fix in that code may leave the rules
    /// unchanged.
    const MAX_AGE_IN_SESSION: u64 = 24 * 60 * 60;

    /// Creates the acceptance of a chain that the verifier of `basis` has verified in full at the
    /// time `now`. Returns `None` if the acceptance does not hold beyond `now`.
    pub(crate) fn new(basis: Basis, now: UnixTime, until: UnixTime) -> Option<Self> {
        (now.as_secs() < until.as_secs()).then_some(Self {
            basis,
            verified_at: now.as_secs(),
            until: until.as_secs(),
        })
    }

    /// True if the verifier of `basis` is known to accept the chain at the time `now`.
    ///
    /// The acceptance does not hold before the time of the verification, because a certificate may
    /// not have been valid yet.
    fn holds(&self, basis: Basis, now: UnixTime) -> bool {
        self.basis == basis && (self.verified_at..self.until).contains(&now.as_secs())
    }

    /// True if a resumption of a session with this acceptance may rely on it.
    pub(crate) fn holds_in_session(&self, basis: Basis, now: UnixTime) -> bool {
        self.holds(basis, now) && self.age(now) < Self::MAX_AGE_IN_SESSION
    }

    /// True if a full handshake may rely on this acceptance. A client's acceptance must be less
    /// than half a day old, because it is passed on to the session, where its maximum age is a day.
    #[cfg(feature = "std")]
    pub(super) fn holds_in_full_handshake(&self, basis: Basis, now: UnixTime) -> bool {
        let is_young = match basis.peer {
            Side::Client => self.age(now) < Self::MAX_AGE_IN_SESSION / 2,
            Side::Server => true,
        };
        self.holds(basis, now) && is_young
    }

    /// Returns the seconds between `now` and the verification of the chain.
    fn age(&self, now: UnixTime) -> u64 {
        now.as_secs().abs_diff(self.verified_at)
    }

    #[cfg(feature = "std")]
    pub(super) fn basis(&self) -> Basis {
        self.basis
    }

    /// Returns the first time at which the acceptance no longer holds.
    pub(crate) fn until(&self) -> UnixTime {
        UnixTime::since_unix_epoch(core::time::Duration::from_secs(self.until))
    }
}

/// The encoding in a server's sessions, which contain only acceptances of clients.
impl Codec<'_> for Acceptance {
    fn encode(&self, bytes: &mut alloc::vec::Vec<u8>) {
        bytes.extend_from_slice(&self.basis.rules.0);
        self.verified_at.encode(bytes);
        self.until.encode(bytes);
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            basis: Basis {
                peer: Side::Client,
                rules: VerifierRules(r.take_array("rules")?),
            },
            verified_at: u64::read(r)?,
            until: u64::read(r)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;
    use core::time::Duration;

    use super::*;

    const RULES: VerifierRules = VerifierRules::from_digest([7; 32]);
    const BASIS: Basis = Basis {
        peer: Side::Client,
        rules: RULES,
    };

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    #[test]
    fn an_acceptance_holds_from_its_time_until_its_end() {
        let acceptance = Acceptance::new(BASIS, at(100), at(200)).unwrap();
        assert_eq!(acceptance.until().as_secs(), 200);
        for (now, holds) in [
            (0, false),
            (99, false),
            (100, true),
            (199, true),
            (200, false),
            (u64::MAX, false),
        ] {
            assert_eq!(acceptance.holds(BASIS, at(now)), holds, "{now}");
        }
    }

    #[test]
    fn an_acceptance_holds_only_for_its_rules() {
        let acceptance = Acceptance::new(BASIS, at(100), at(200)).unwrap();
        for position in 0..32 {
            let mut other = [7; 32];
            other[position] ^= 1;
            let rules = VerifierRules::from_digest(other);
            assert!(!acceptance.holds(Basis { rules, ..BASIS }, at(150)));
        }
        let of_servers = Basis {
            peer: Side::Server,
            ..BASIS
        };
        assert!(!acceptance.holds(of_servers, at(150)));
        assert_eq!((acceptance.age(at(99)), acceptance.age(at(150))), (1, 50));
    }

    /// A full handshake renews a client's acceptance while its sessions can still use it.
    #[test]
    fn acceptances_of_clients_and_in_sessions_must_be_recent() {
        const DAY: u64 = 24 * 60 * 60;
        let of_servers = Basis {
            peer: Side::Server,
            ..BASIS
        };
        for (age, of_client, of_server, in_session) in [
            (0, true, true, true),
            (DAY / 2 - 1, true, true, true),
            (DAY / 2, false, true, true),
            (DAY - 1, false, true, true),
            (DAY, false, true, false),
            (9 * DAY, false, true, false),
            (10 * DAY, false, false, false),
        ] {
            let now = at(100 + age);
            let acceptance = |basis| Acceptance::new(basis, at(100), at(100 + 10 * DAY)).unwrap();
            let by = |basis| acceptance(basis).holds_in_full_handshake(basis, now);
            assert_eq!((by(BASIS), by(of_servers)), (of_client, of_server), "{age}");
            assert_eq!(acceptance(BASIS).holds_in_session(BASIS, now), in_session);
        }
        let acceptance = Acceptance::new(BASIS, at(100), at(200)).unwrap();
        for now in [at(99), at(200)] {
            assert!(!acceptance.holds_in_session(BASIS, now));
            assert!(!acceptance.holds_in_full_handshake(BASIS, now));
        }
        assert!(!acceptance.holds_in_session(of_servers, at(150)));
        assert!(!acceptance.holds_in_full_handshake(of_servers, at(150)));
    }

    #[test]
    fn an_acceptance_must_last_beyond_its_verification() {
        assert!(Acceptance::new(BASIS, at(100), at(100)).is_none());
        assert!(Acceptance::new(BASIS, at(100), at(0)).is_none());
        assert!(Acceptance::new(BASIS, at(100), at(101)).is_some());
    }

    #[test]
    fn an_acceptance_round_trips() {
        let acceptance = Acceptance::new(BASIS, at(1 << 40), at(u64::MAX)).unwrap();
        let mut bytes = Vec::new();
        acceptance.encode(&mut bytes);
        assert_eq!(bytes.len(), Acceptance::LEN);
        assert_eq!(Acceptance::read_bytes(&bytes), Ok(acceptance));
        for len in 0..bytes.len() {
            Acceptance::read_bytes(&bytes[..len]).unwrap_err();
        }
    }

    #[test]
    fn debug_prints_the_start_of_the_digest() {
        assert_eq!(format!("{RULES:?}"), "VerifierRules(0707070707070707…)");
    }
}
