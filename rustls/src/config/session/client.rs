//! The sessions and hints that a client remembers about servers, and their store.
//!
//! A client remembers the key exchange group that a server chose, for the key share of the next
//! ClientHello. It also remembers the sessions that can be resumed.

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::{fmt, ptr};

#[cfg(any(feature = "std", feature = "hashbrown"))]
pub use memory::ClientSessionMemoryCache;
use pki_types::{ServerName, UnixTime};
use rustls_core::crypto::tls13::OkmBlock;
#[cfg(feature = "tls12")]
pub use tls12::Tls12ClientSessionValue;
use zeroize::Zeroize;

use super::MAX_TICKET_LIFETIME;
use crate::certificates::PeerChain;
use crate::config::carrier::HandshakeCarrier;
use crate::config::resolver::client::ResolvesClientCert;
use crate::config::verify::ServerCertVerifier;
use crate::enums::NamedGroup;
use crate::logging::trace;
use crate::suites::Tls13CipherSuite;

/// A client's resumption settings: where sessions are stored, and which kinds are resumed.
///
/// By default, sessions are stored in the memory of this process; without the crate feature `std`,
/// they are not stored.
///
/// A session is not resumed after the time that the verifier stated
/// ([`assertion_until`](crate::client::danger::ServerCertVerified::assertion_until)). If it stated
/// none, the session ends when the server's certificate expires, if that time is in the future.
/// Sessions last a week at most.
///
/// A resumption verifies no certificate and sends no client certificate. So a session is resumed
/// only with the verifier and the certificate resolver that it was created with. These must be the
/// same objects, as in clones of a configuration. If they replace themselves
/// ([`current_verifier`](ServerCertVerifier::current_verifier)), the current objects are compared.
/// Configurations with different objects may share a store, but do not resume each other's
/// sessions.
#[derive(Clone)]
pub struct Resumption {
    /// The store; `None` if sessions are not stored. No values are then computed for a store.
    pub(crate) store: Option<Arc<dyn ClientSessionStore>>,
    #[cfg_attr(
        not(feature = "tls12"),
        allow(dead_code, reason = "the setting exists without TLS 1.2, too")
    )]
    pub(crate) tls12_resumption: Tls12Resumption,
}

impl Resumption {
    /// Stores nothing and resumes nothing.
    pub fn disabled() -> Self {
        Self {
            store: None,
            tls12_resumption: Tls12Resumption::Disabled,
        }
    }

    /// Stores about `num` sessions in memory: 8 for each of up to `num` / 8 servers, rounded up.
    #[cfg(feature = "std")]
    pub fn in_memory_sessions(num: usize) -> Self {
        Self::store(Arc::new(ClientSessionMemoryCache::new(num)))
    }

    /// Stores sessions in `store`, which several configurations may share. Each configuration still
    /// resumes only the sessions of its own verifier and resolver.
    pub fn store(store: Arc<dyn ClientSessionStore>) -> Self {
        Self {
            store: Some(store),
            tls12_resumption: Tls12Resumption::SessionIdOrTickets,
        }
    }

    /// Restricts resumption in TLS 1.2 to the kinds in `tls12`. Does not affect TLS 1.3.
    pub fn tls12_resumption(mut self, tls12: Tls12Resumption) -> Self {
        self.tls12_resumption = tls12;
        self
    }
}

impl fmt::Debug for Resumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store: &dyn fmt::Debug = match &self.store {
            Some(store) => store,
            None => &format_args!("NoClientSessionStorage"),
        };
        f.debug_struct("Resumption")
            .field("store", store)
            .field("tls12_resumption", &self.tls12_resumption)
            .finish()
    }
}

impl Default for Resumption {
    /// [`in_memory_sessions(256)`](Self::in_memory_sessions); without `std`,
    /// [`disabled`](Self::disabled).
    fn default() -> Self {
        #[cfg(feature = "std")]
        return Self::in_memory_sessions(256);
        #[cfg(not(feature = "std"))]
        return Self::disabled();
    }
}

/// The kinds of TLS 1.2 sessions that a client resumes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tls12Resumption {
    /// Resumes no TLS 1.2 session.
    Disabled,
    /// Resumes sessions that the server stores, by session ID.
    SessionIdOnly,
    /// Also resumes sessions in tickets that the client stores (RFC 5077).
    SessionIdOrTickets,
}

/// Stores a client's sessions and key exchange hints, by server name.
///
/// A store may drop anything at any time, and need not store anything. Its contents are secret.
pub trait ClientSessionStore: fmt::Debug + Send + Sync {
    /// Returns the key exchange group that the server last chose in TLS 1.3. With ECH,
    /// `server_name` is the public name.
    fn kx_hint(&self, server_name: &ServerName<'_>) -> Option<NamedGroup>;

    /// Stores the key exchange group that the server chose. With ECH, `server_name` is the public
    /// name.
    fn set_kx_hint(&self, server_name: ServerName<'static>, group: NamedGroup);

    /// Adds a TLS 1.3 session: one ticket, which is used once. A server may send several tickets on
    /// one connection.
    fn insert_tls13_ticket(&self, server_name: ServerName<'static>, value: Tls13ClientSessionValue);

    /// Removes and returns a TLS 1.3 session.
    ///
    /// A session must not be returned twice: an observer can link two connections with the same
    /// ticket (RFC 9846 §C.4).
    fn take_tls13_ticket(
        &self,
        server_name: &ServerName<'static>,
    ) -> Option<Tls13ClientSessionValue>;

    /// Returns the TLS 1.2 session, which stays in the store.
    fn tls12_session(&self, server_name: &ServerName<'_>) -> Option<Tls12ClientSessionValue>;

    /// Replaces the TLS 1.2 session, which may be used many times.
    fn set_tls12_session(&self, server_name: ServerName<'static>, value: Tls12ClientSessionValue);

    /// Removes the TLS 1.2 session: a connection that offered, resumed or created it has failed, or
    /// the server now negotiates TLS 1.3.
    fn remove_tls12_session(&self, server_name: &ServerName<'static>);
}

/// A TLS 1.2 session. Without the feature `tls12`, no value of this type exists.
#[cfg(not(feature = "tls12"))]
#[derive(Clone, Debug)]
pub enum Tls12ClientSessionValue {}

/// The part of a session that TLS 1.2 and TLS 1.3 have in common.
#[derive(Clone)]
pub(crate) struct ClientSessionCommon {
    server_chain: PeerChain,
    /// The objects that accepted the server and chose the client's certificate. These weak
    /// references do not keep them alive, but keep their addresses from being reused.
    verifier: Weak<dyn ServerCertVerifier>,
    client_auth: Weak<dyn ResolvesClientCert>,
    /// The verification of `server_chain`. On a resumed connection, it is that of the resumed
    /// session.
    verification: Verification,
    /// The time at which the session was received, or slightly before that in a TLS 1.2 resumption.
    received_at: UnixTime,
    lifetime_secs: u32,
}

/// The verification of a server's certificates: its time, and how long sessions may rely on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verification {
    at: UnixTime,
    /// Never 0, so that an `Option` of this struct is no larger.
    lifetime_secs: NonZeroU32,
}

impl Verification {
    /// Creates the verification at time `at`, which holds until `until` if that is known. Returns
    /// `None` if the verification does not hold beyond `at`.
    pub(crate) fn new(at: UnixTime, until: Option<UnixTime>) -> Option<Self> {
        let left = until.map_or(u64::MAX, |until| {
            until.as_secs().saturating_sub(at.as_secs())
        });
        // RFC 9846 §4.7.1: renewed tickets should not prolong a session forever
        let lifetime_secs = u32::try_from(left)
            .unwrap_or(u32::MAX)
            .min(MAX_TICKET_LIFETIME);
        Some(Self {
            at,
            lifetime_secs: NonZeroU32::new(lifetime_secs)?,
        })
    }
}

impl ClientSessionCommon {
    /// Creates a session with the server that presented `server_chain`, which passed
    /// `verification`, for a configuration with this verifier and resolver. `lifetime_secs` counts
    /// from `received_at`, and is limited to 7 days.
    pub(crate) fn new(
        server_chain: PeerChain,
        verifier: &Arc<dyn ServerCertVerifier>,
        client_auth: &Arc<dyn ResolvesClientCert>,
        verification: Verification,
        received_at: UnixTime,
        lifetime_secs: u32,
    ) -> Self {
        Self {
            server_chain,
            verifier: Arc::downgrade(verifier),
            client_auth: Arc::downgrade(client_auth),
            verification,
            received_at,
            // RFC 9846 §4.7.1: a client keeps no ticket longer than 7 days
            lifetime_secs: Ord::min(lifetime_secs, MAX_TICKET_LIFETIME),
        }
    }

    /// True if the session was created with this verifier and this resolver: the same objects, not
    /// equal ones. Neither checks a resumed session, so sessions must not cross configurations.
    pub(crate) fn belongs_to(
        &self,
        verifier: &Arc<dyn ServerCertVerifier>,
        client_auth: &Arc<dyn ResolvesClientCert>,
    ) -> bool {
        if !ptr::addr_eq(self.verifier.as_ptr(), Arc::as_ptr(verifier)) {
            trace!("resumption not allowed between different ServerCertVerifiers");
            return false;
        }
        if !ptr::addr_eq(self.client_auth.as_ptr(), Arc::as_ptr(client_auth)) {
            trace!("resumption not allowed between different ResolvesClientCert values");
            return false;
        }
        true
    }

    /// True if the lifetime of the session or of the server's verification is over. The clock
    /// counts whole seconds, so both may end up to a second early. If the clock was set back, the
    /// difference counts as the age.
    pub(crate) fn has_expired(&self, now: UnixTime) -> bool {
        let distance = |then: UnixTime| now.as_secs().abs_diff(then.as_secs());
        distance(self.received_at) >= self.lifetime_secs.into()
            || distance(self.verification.at) >= u64::from(self.verification.lifetime_secs.get())
    }

    /// Returns the age of the session in seconds, or 0 if the clock was set back.
    pub(crate) fn age_secs(&self, now: UnixTime) -> u64 {
        now.as_secs().saturating_sub(self.received_at.as_secs())
    }

    /// Continues the session with a ticket that was received at `received_at`. The server's
    /// verification stays the same.
    #[cfg(feature = "tls12")]
    fn renew(&mut self, received_at: UnixTime, lifetime_secs: u32) {
        self.received_at = received_at;
        self.lifetime_secs = Ord::min(lifetime_secs, MAX_TICKET_LIFETIME);
    }

    pub(crate) fn server_chain(&self) -> &PeerChain {
        &self.server_chain
    }

    pub(crate) fn verification(&self) -> Verification {
        self.verification
    }
}

impl fmt::Debug for ClientSessionCommon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSessionCommon")
            .field("verification", &self.verification)
            .field("received_at", &self.received_at)
            .field("lifetime_secs", &self.lifetime_secs)
            .finish_non_exhaustive()
    }
}

/// A TLS 1.3 session, with its ticket and its secret.
pub struct Tls13ClientSessionValue {
    pub(crate) common: ClientSessionCommon,
    suite: &'static Tls13CipherSuite,
    bytes: PskTicketAlpn,
    ticket_len: usize,
    age_add: u32,
    max_early_data_size: u32,
    /// The server's transport parameters. Empty unless the session was created over QUIC.
    quic_parameters: Box<[u8]>,
    /// The carrier of the connection that received the session.
    pub(crate) carrier: HandshakeCarrier,
}

/// PSK, ticket, and the negotiated application protocol, if any. They are boxed, so that moving a
/// session leaves no copy of the secret behind.
#[derive(Clone)]
struct PskTicketAlpn {
    all: Box<[u8]>,
    psk_len: usize,
}

impl Drop for PskTicketAlpn {
    fn drop(&mut self) {
        // only the PSK is secret: the rest is sent in the clear
        self.all[..self.psk_len].zeroize();
    }
}

impl Tls13ClientSessionValue {
    /// Creates the session for a NewSessionTicket with these fields, received on a connection with
    /// this suite and application protocol.
    ///
    /// `psk` is derived from the resumption secret and the ticket's nonce (RFC 9846 §4.7.1).
    pub(crate) fn new(
        common: ClientSessionCommon,
        suite: &'static Tls13CipherSuite,
        psk: &OkmBlock,
        ticket: &[u8],
        alpn_protocol: Option<&[u8]>,
        age_add: u32,
        max_early_data_size: u32,
    ) -> Self {
        let psk = psk.as_ref();
        // `concat` allocates only once
        let all = [psk, ticket, alpn_protocol.unwrap_or_default()].concat();
        Self {
            common,
            suite,
            bytes: PskTicketAlpn {
                all: all.into_boxed_slice(),
                psk_len: psk.len(),
            },
            ticket_len: ticket.len(),
            age_add,
            max_early_data_size,
            quic_parameters: Box::default(),
            carrier: HandshakeCarrier::Records,
        }
    }

    /// Returns the server's encoded transport parameters (RFC 9000 §7.4.1). They are empty unless
    /// the session was created over QUIC.
    pub fn quic_params(&self) -> Vec<u8> {
        self.quic_parameters().to_vec()
    }

    /// Replaces the server's transport parameters, encoded as in RFC 9000 §18.
    pub fn set_quic_params(&mut self, quic_params: &[u8]) {
        self.quic_parameters = quic_params.into();
    }

    pub(crate) fn quic_parameters(&self) -> &[u8] {
        &self.quic_parameters
    }

    /// Returns the number of bytes of early data that the server accepts with this session. 0
    /// forbids early data.
    pub fn max_early_data_size(&self) -> u32 {
        self.max_early_data_size
    }

    /// Returns the cipher suite of the session.
    pub fn suite(&self) -> &'static Tls13CipherSuite {
        self.suite
    }

    pub(crate) fn psk(&self) -> &[u8] {
        &self.bytes.all[..self.bytes.psk_len]
    }

    pub(crate) fn ticket(&self) -> &[u8] {
        &self.bytes.all[self.bytes.psk_len..][..self.ticket_len]
    }

    /// Returns the application protocol of the connection that received the ticket.
    pub(crate) fn alpn_protocol(&self) -> Option<&[u8]> {
        let protocol = &self.bytes.all[self.bytes.psk_len + self.ticket_len..];
        // RFC 7301 §3.1: protocol names are not empty
        (!protocol.is_empty()).then_some(protocol)
    }

    /// True if `suite` has the hash function of the session (RFC 9846 §4.3.11).
    pub(crate) fn has_hash_of(&self, suite: &Tls13CipherSuite) -> bool {
        let hash = |suite: &Tls13CipherSuite| suite.common.hash_provider.algorithm();
        hash(self.suite) == hash(suite)
    }

    /// Returns the age of the ticket in milliseconds plus `ticket_age_add` (RFC 9846 §4.3.11.1).
    /// The clock counts in seconds, so the result is off by up to a second.
    pub(crate) fn obfuscated_ticket_age(&self, now: UnixTime) -> u32 {
        let age = self.common.age_secs(now).saturating_mul(1000);
        // a ticket that has not expired is at most 7 days old, which fits
        let age = u32::try_from(age).unwrap_or(u32::MAX);
        age.wrapping_add(self.age_add)
    }
}

impl fmt::Debug for Tls13ClientSessionValue {
    /// Omits the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls13ClientSessionValue")
            .field("common", &self.common)
            .field("suite", &self.suite)
            .field("ticket_len", &self.ticket_len)
            .field("age_add", &self.age_add)
            .field("max_early_data_size", &self.max_early_data_size)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "tls12")]
mod tls12;

#[cfg(any(feature = "std", feature = "hashbrown"))]
mod memory {
    use alloc::collections::VecDeque;
    use core::fmt;

    use pki_types::ServerName;

    use super::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
    use crate::bounded_map::BoundedMap;
    use crate::enums::NamedGroup;
    #[cfg(not(feature = "std"))]
    use crate::lock::MakeMutex;
    use crate::lock::{Mutex, MutexGuard};

    /// The maximum number of TLS 1.3 sessions for one server. Most servers send fewer, and no
    /// server can fill a client's memory.
    const MAX_TLS13_TICKETS_PER_SERVER: usize = 8;

    /// Stores a limited number of sessions in the memory of this process.
    ///
    /// When the cache is full, it evicts the server that was added first. If one server has too
    /// many sessions, the oldest makes room for the next.
    pub struct ClientSessionMemoryCache {
        servers: Mutex<Servers>,
    }

    struct Servers {
        by_name: BoundedMap<ServerName<'static>, Server>,
        /// True once a session of this version has been stored. Most clients only connect to
        /// servers of one version, so this often avoids a lookup, which would hash the name.
        has_tls12: bool,
        has_tls13: bool,
    }

    impl Servers {
        fn get<'a>(&'a self, server_name: &'a ServerName<'a>) -> Option<&'a Server> {
            let by_name: &BoundedMap<ServerName<'a>, _> = &self.by_name;
            by_name.get(server_name)
        }
    }

    /// The sessions and the group stored for one server.
    #[derive(Default)]
    struct Server {
        kx_hint: Option<NamedGroup>,
        tls12: Option<Tls12ClientSessionValue>,
        /// The TLS 1.3 sessions, newest last.
        tls13: VecDeque<Tls13ClientSessionValue>,
    }

    impl ClientSessionMemoryCache {
        /// Creates a store for about `size` sessions: 8 for each of up to `size` / 8 servers,
        /// rounded up.
        #[cfg(feature = "std")]
        pub fn new(size: usize) -> Self {
            Self {
                servers: Mutex::new(Self::map_for(size)),
            }
        }

        /// Creates a store for about `size` sessions: 8 for each of up to `size` / 8 servers,
        /// rounded up. `M` creates its lock.
        #[cfg(not(feature = "std"))]
        pub fn new<M: MakeMutex>(size: usize) -> Self {
            Self {
                servers: Mutex::new::<M>(Self::map_for(size)),
            }
        }

        fn map_for(size: usize) -> Servers {
            Servers {
                by_name: BoundedMap::new(size.div_ceil(MAX_TLS13_TICKETS_PER_SERVER)),
                has_tls12: false,
                has_tls13: false,
            }
        }

        /// Locks the map. A poisoned lock can be used, because the map is consistent between calls.
        fn servers(&self) -> Option<MutexGuard<'_, Servers>> {
            self.servers.lock_even_poisoned()
        }

        /// Changes the entries of a server, which are created if necessary.
        fn update(&self, server_name: ServerName<'static>, change: impl FnOnce(&mut Server)) {
            let Some(mut servers) = self.servers() else {
                return;
            };
            let Servers {
                by_name,
                has_tls12,
                has_tls13,
            }: &mut Servers = &mut servers;
            let change = |server: &mut Server| {
                change(server);
                *has_tls12 |= server.tls12.is_some();
                *has_tls13 |= !server.tls13.is_empty();
            };
            let evicted = match by_name.get_mut(&server_name) {
                Some(server) => {
                    change(server);
                    None
                }
                None => {
                    let mut server = Server::default();
                    change(&mut server);
                    by_name.insert(server_name, server)
                }
            };
            // free the evicted entries after the lock is released
            drop(servers);
            drop(evicted);
        }
    }

    impl ClientSessionStore for ClientSessionMemoryCache {
        fn set_kx_hint(&self, server_name: ServerName<'static>, group: NamedGroup) {
            self.update(server_name, |server| server.kx_hint = Some(group));
        }

        fn kx_hint(&self, server_name: &ServerName<'_>) -> Option<NamedGroup> {
            self.servers()?.get(server_name)?.kx_hint
        }

        fn set_tls12_session(
            &self,
            server_name: ServerName<'static>,
            value: Tls12ClientSessionValue,
        ) {
            self.update(server_name, |server| server.tls12 = Some(value));
        }

        fn tls12_session(&self, server_name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
            let servers = self.servers().filter(|servers| servers.has_tls12)?;
            servers.get(server_name)?.tls12.clone()
        }

        fn remove_tls12_session(&self, server_name: &ServerName<'static>) {
            let servers = self.servers().filter(|servers| servers.has_tls12);
            if let Some(mut servers) = servers {
                if let Some(server) = servers.by_name.get_mut(server_name) {
                    server.tls12 = None;
                }
            }
        }

        fn insert_tls13_ticket(
            &self,
            server_name: ServerName<'static>,
            value: Tls13ClientSessionValue,
        ) {
            self.update(server_name, |server| {
                if server.tls13.len() == MAX_TLS13_TICKETS_PER_SERVER {
                    server.tls13.pop_front();
                }
                server.tls13.push_back(value);
            });
        }

        fn take_tls13_ticket(
            &self,
            server_name: &ServerName<'static>,
        ) -> Option<Tls13ClientSessionValue> {
            let mut servers = self.servers().filter(|servers| servers.has_tls13)?;
            servers.by_name.get_mut(server_name)?.tls13.pop_back()
        }
    }

    impl fmt::Debug for ClientSessionMemoryCache {
        /// Omits the sessions, which are secret.
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("ClientSessionMemoryCache")
                .finish_non_exhaustive()
        }
    }
}

#[cfg(all(test, feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
