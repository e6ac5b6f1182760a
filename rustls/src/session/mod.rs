//! What is kept of a session, and how it is found again.
//!
//! - [`chain`]: the certificates of a peer, which connections share.
//! - [`client`]: what a client remembers of servers, and where.
//! - [`client_auth`]: what ties a server's sessions to how it authenticates clients.
//! - [`digests`]: hashes of the long values that both of these compare.
//! - [`server`]: where a server keeps sessions.
//! - [`server_auth`]: what ties a server's sessions to its own certificate.
//! - [`stored`]: a session as a server's storage keeps it.
//! - [`value`]: what a server must know of a session, as bytes.

#[cfg(any(feature = "std", feature = "hashbrown"))]
pub(crate) mod bounded_map;
pub(crate) mod chain;
pub(crate) mod client;
pub(crate) mod client_auth;
pub(crate) mod digests;
pub(crate) mod server;
pub(crate) mod server_auth;
pub(crate) mod stored;
pub(crate) mod value;

/// RFC 9846 §4.7.1: how long a ticket may be used at most, in seconds. Servers must not promise more, and
/// clients must not keep one for longer.
pub(crate) const MAX_TICKET_LIFETIME: u32 = 7 * 24 * 60 * 60;

/// The time in which a server resumes a session from a ticket or from its storage, in seconds.
#[derive(Clone, Copy)]
pub(crate) struct Lifetime {
    /// The lifetime that clients are told.
    pub(crate) promised: u32,
    /// The allowed difference between this clock and that of the machine that made the session.
    pub(crate) clock_tolerance: u32,
}

impl Lifetime {
    /// A lifetime by one clock.
    pub(crate) fn exactly(secs: u32) -> Self {
        Self {
            promised: secs,
            clock_tolerance: 0,
        }
    }

    /// True if a session of this `age` may be resumed.
    pub(crate) fn allows(self, age: u64) -> bool {
        age <= u64::from(self.promised) + u64::from(self.clock_tolerance)
    }
}

/// For how many seconds a session is still resumed, however its tickets are renewed: from when client and server
/// authenticated each other with certificates (RFC 9846 §4.7.1). Both times in seconds since 1970.
pub(crate) fn lifetime_left(authenticated_at: u64, now: u64) -> u32 {
    let age = u32::try_from(now.abs_diff(authenticated_at)).unwrap_or(u32::MAX);
    MAX_TICKET_LIFETIME.saturating_sub(age)
}

/// RFC 5246 §8.1: length in bytes of the master secret, which is the secret of a session of TLS 1.2.
#[cfg(feature = "tls12")]
pub(crate) const MASTER_SECRET_LEN: usize = 48;
