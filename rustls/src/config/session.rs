//! Storage and lookup of sessions.
//!
//! - [`client`]: the sessions and hints that a client remembers, and their store.
//! - [`client_auth`]: the binding of a server's sessions to its client authentication.
//! - [`digests`]: hashes of the long values that these bindings compare.
//! - [`server`]: the storage of a server's sessions.
//! - [`server_auth`]: the binding of a server's sessions to its own certificate.
//! - [`stored`]: a session in a server's storage.
//! - [`value`]: the encoding of a server's session.

pub(crate) mod client;
pub(crate) mod client_auth;
pub(crate) mod digests;
pub(crate) mod server;
pub(crate) mod server_auth;
pub(crate) mod stored;
pub(crate) mod value;

/// The maximum lifetime of a ticket in seconds (RFC 9846 §4.7.1). Servers must not promise more,
/// and clients must not keep tickets longer.
pub(crate) const MAX_TICKET_LIFETIME: u32 = 7 * 24 * 60 * 60;

/// The time in seconds during which a server resumes a session from a ticket or from its storage.
#[derive(Clone, Copy)]
pub(crate) struct Lifetime {
    /// The maximum age without the tolerance. TLS 1.3 tickets announce at most this lifetime.
    pub(crate) promised: u32,
    /// The tolerated difference between this machine's clock and the clock of the machine that
    /// created the session.
    pub(crate) clock_tolerance: u32,
}

impl Lifetime {
    /// Creates a lifetime without clock tolerance, for sessions in the server's storage.
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

/// Returns the seconds during which a session may still be resumed, even if its tickets are
/// renewed. The limit counts from the authentication with certificates (RFC 9846 §4.7.1). Both
/// parameters are in seconds since 1970.
pub(crate) fn lifetime_left(authenticated_at: u64, now: u64) -> u32 {
    let age = u32::try_from(now.abs_diff(authenticated_at)).unwrap_or(u32::MAX);
    MAX_TICKET_LIFETIME.saturating_sub(age)
}
