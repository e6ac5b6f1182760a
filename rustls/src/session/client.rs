//! What a client remembers of the servers it talked to, and where.
//!
//! Two things are remembered: the key exchange group that a server chose, so that the next ClientHello
//! guesses right, and the sessions that a server offers to resume.

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::{fmt, ptr};

#[cfg(any(feature = "std", feature = "hashbrown"))]
pub use memory::ClientSessionMemoryCache;
use pki_types::{ServerName, UnixTime};
#[cfg(feature = "tls12")]
pub use tls12::Tls12ClientSessionValue;
use zeroize::Zeroize;

use super::MAX_TICKET_LIFETIME;
use super::chain::PeerChain;
use crate::client::ResolvesClientCert;
use crate::conn::carrier::Carrier;
use crate::crypto::tls13::OkmBlock;
use crate::enums::NamedGroup;
use crate::logging::trace;
use crate::suites::Tls13CipherSuite;
use crate::verify::ServerCertVerifier;

/// How a client resumes sessions: where they are stored, and which kinds of them.
///
/// By default, in the memory of this process.
///
/// No session is resumed once a certificate has expired that was verified for it.
///
/// A resumed session is verified by no verifier, and authenticated by no certificate of the client's. So it is
/// resumed only under a configuration that has the verifier and the certificate resolver it was made with: the same
/// objects, as clones of a configuration have, or what these have in their place at the time
/// ([`current_verifier`](ServerCertVerifier::current_verifier)). Configurations with others may share a store, but find no session
/// of use in it.
#[derive(Clone)]
pub struct Resumption {
    /// `None` where nothing is stored, so that nothing is computed to be stored.
    pub(crate) store: Option<Arc<dyn ClientSessionStore>>,
    #[cfg_attr(
        not(feature = "tls12"),
        allow(dead_code, reason = "settable all the same, as in 0.23")
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

    /// Stores about `num` sessions in memory: of up to `num` / 8 servers, rounded up, 8 each.
    #[cfg(feature = "std")]
    pub fn in_memory_sessions(num: usize) -> Self {
        Self::store(Arc::new(ClientSessionMemoryCache::new(num)))
    }

    /// Stores sessions in `store`.
    pub fn store(store: Arc<dyn ClientSessionStore>) -> Self {
        Self {
            store: Some(store),
            tls12_resumption: Tls12Resumption::SessionIdOrTickets,
        }
    }

    /// Restricts resumption in TLS 1.2 to the kinds of `tls12`. It means nothing for TLS 1.3.
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

/// Which sessions of TLS 1.2 are resumed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tls12Resumption {
    /// None.
    Disabled,
    /// Those that the server stores, by their id.
    SessionIdOnly,
    /// Those, and those in a ticket that the client stores (RFC 5077).
    SessionIdOrTickets,
}

/// Stores, for each server by its name, what a client remembers.
///
/// It may forget anything at any time, and do nothing if it cannot store. What it holds is secret.
pub trait ClientSessionStore: fmt::Debug + Send + Sync {
    /// The key exchange group that the server chose last.
    fn kx_hint(&self, server_name: &ServerName<'_>) -> Option<NamedGroup>;

    /// Remembers the key exchange group that the server chose.
    fn set_kx_hint(&self, server_name: ServerName<'static>, group: NamedGroup);

    /// Remembers a session of TLS 1.3, beside those before. Servers send several, to be used once each.
    fn insert_tls13_ticket(&self, server_name: ServerName<'static>, value: Tls13ClientSessionValue);

    /// Removes a session of TLS 1.3, and returns it.
    ///
    /// No session may be returned twice: two connections with one ticket can be linked by an observer
    /// (RFC 9846 §C.4).
    fn take_tls13_ticket(
        &self,
        server_name: &ServerName<'static>,
    ) -> Option<Tls13ClientSessionValue>;

    /// The session of TLS 1.2.
    fn tls12_session(&self, server_name: &ServerName<'_>) -> Option<Tls12ClientSessionValue>;

    /// Remembers a session of TLS 1.2, in place of the one before. It may be used many times.
    fn set_tls12_session(&self, server_name: ServerName<'static>, value: Tls12ClientSessionValue);

    /// Forgets the session of TLS 1.2, which was refused.
    fn remove_tls12_session(&self, server_name: &ServerName<'static>);
}

/// A session of TLS 1.2. Without that version there is none.
#[cfg(not(feature = "tls12"))]
#[derive(Clone, Debug)]
pub enum Tls12ClientSessionValue {}

/// What sessions of all versions have in common: whom they were made with, how that was verified, and how long
/// they last.
#[derive(Clone)]
pub(crate) struct ClientSessionCommon {
    server_chain: PeerChain,
    /// The objects that accepted the server and chose the client's certificate. They need not live on, but no
    /// other object can take their address while this is kept.
    verifier: Weak<dyn ServerCertVerifier>,
    client_auth: Weak<dyn ResolvesClientCert>,
    /// The verification of `server_chain`: long before `received_at` when sessions were resumed one after the other.
    verification: Verification,
    received_at: UnixTime,
    lifetime_secs: u32,
}

/// The time at which a server's certificates were verified, and how long sessions may rely on that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verification {
    at: UnixTime,
    /// Never 0, so that an `Option` of this takes no more memory.
    lifetime_secs: NonZeroU32,
}

impl Verification {
    /// A verification at the time `at` of certificates of which one expires after `not_after`, and none before.
    pub(crate) fn new(at: UnixTime, not_after: Option<UnixTime>) -> Self {
        // RFC 9846 §4.7.1: tickets that follow each other should not prolong the session for ever
        const MOST_LEFT: u32 = MAX_TICKET_LIFETIME - 1;
        let left = not_after
            // a verifier that accepts what has expired does not go by the time
            .and_then(|not_after| not_after.as_secs().checked_sub(at.as_secs()))
            .and_then(|left| u32::try_from(left).ok())
            .map_or(MOST_LEFT, |left| left.min(MOST_LEFT));
        Self {
            at,
            // the last second is within
            lifetime_secs: NonZeroU32::MIN.saturating_add(left),
        }
    }
}

impl ClientSessionCommon {
    /// A session with the server of `server_chain`, which passed `verification`, under a configuration with this
    /// verifier and resolver. `lifetime_secs` counts from `received_at`; what exceeds 7 days is cut off.
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
            // RFC 9846 §4.7.1: a client keeps no ticket for longer than 7 days
            lifetime_secs: Ord::min(lifetime_secs, MAX_TICKET_LIFETIME),
        }
    }

    /// Whether the session was made with this verifier and this resolver: the same objects, not just equal
    /// ones. A resumed session is verified by neither, so it must not cross configurations.
    pub(crate) fn is_of(
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

    /// Whether the session's time is over. The clock counts in seconds, and nothing is used for longer than
    /// its lifetime, nor for longer than the server's certificates. A clock that was set back by as much makes it as old.
    pub(crate) fn has_expired(&self, now: UnixTime) -> bool {
        let distance = |then: UnixTime| now.as_secs().abs_diff(then.as_secs());
        distance(self.received_at) >= self.lifetime_secs.into()
            || distance(self.verification.at) >= u64::from(self.verification.lifetime_secs.get())
    }

    /// How long ago the session was received; 0 when the clock has been set back since.
    pub(crate) fn age_secs(&self, now: UnixTime) -> u64 {
        now.as_secs().saturating_sub(self.received_at.as_secs())
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

/// A session of TLS 1.3: a ticket, and the secret that goes with it.
pub struct Tls13ClientSessionValue {
    pub(crate) common: ClientSessionCommon,
    suite: &'static Tls13CipherSuite,
    bytes: PskTicketAlpn,
    ticket_len: usize,
    age_add: u32,
    max_early_data_size: u32,
    /// The server's transport parameters; empty unless the session was made over QUIC.
    quic_parameters: Box<[u8]>,
    /// What carried the connection that it was made on.
    pub(crate) carrier: Carrier,
}

/// The PSK, the ticket, and the application protocol that was negotiated, if one was. Stores move sessions about: of
/// what is behind a pointer no copy is left where one was.
#[derive(Clone)]
struct PskTicketAlpn {
    all: Box<[u8]>,
    psk_len: usize,
}

impl Drop for PskTicketAlpn {
    fn drop(&mut self) {
        // what is sent in the clear is no secret
        self.all[..self.psk_len].zeroize();
    }
}

impl Tls13ClientSessionValue {
    /// The session of a NewSessionTicket with these fields, on a connection with this suite and this
    /// application protocol.
    ///
    /// `psk` is what RFC 9846 §4.7.1 derives from the resumption secret and the ticket's nonce.
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
        // `concat` takes memory once
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
            carrier: Carrier::Records,
        }
    }

    /// The transport parameters of the server (RFC 9000 §7.4.1), encoded; empty unless the session was made over QUIC.
    pub fn quic_params(&self) -> Vec<u8> {
        self.quic_parameters().to_vec()
    }

    /// Replaces the server's transport parameters, which are encoded as in RFC 9000 §18.
    pub fn set_quic_params(&mut self, quic_params: &[u8]) {
        self.quic_parameters = quic_params.into();
    }

    pub(crate) fn quic_parameters(&self) -> &[u8] {
        &self.quic_parameters
    }

    /// How many bytes of early data the server allows with it; 0 for none at all.
    pub fn max_early_data_size(&self) -> u32 {
        self.max_early_data_size
    }

    /// The cipher suite of the session.
    pub fn suite(&self) -> &'static Tls13CipherSuite {
        self.suite
    }

    pub(crate) fn psk(&self) -> &[u8] {
        &self.bytes.all[..self.bytes.psk_len]
    }

    pub(crate) fn ticket(&self) -> &[u8] {
        &self.bytes.all[self.bytes.psk_len..][..self.ticket_len]
    }

    /// The application protocol of the connection that the ticket came on.
    pub(crate) fn alpn_protocol(&self) -> Option<&[u8]> {
        let protocol = &self.bytes.all[self.bytes.psk_len + self.ticket_len..];
        // RFC 7301 §3.1: no name is empty
        (!protocol.is_empty()).then_some(protocol)
    }

    /// Whether `suite` has the hash function of the session (RFC 9846 §4.3.11).
    pub(crate) fn has_hash_of(&self, suite: &Tls13CipherSuite) -> bool {
        let hash = |suite: &Tls13CipherSuite| suite.common.hash_provider.algorithm();
        hash(self.suite) == hash(suite)
    }

    /// The age of the ticket in milliseconds, plus `ticket_age_add` (RFC 9846 §4.3.11.1). The clock counts in
    /// seconds, so it is up to a second less or more than the real one.
    pub(crate) fn obfuscated_ticket_age(&self, now: UnixTime) -> u32 {
        let age = self.common.age_secs(now).saturating_mul(1000);
        // a ticket that has not expired is at most 7 days old, which fits
        let age = u32::try_from(age).unwrap_or(u32::MAX);
        age.wrapping_add(self.age_add)
    }
}

impl fmt::Debug for Tls13ClientSessionValue {
    /// Leaves out the secret.
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
    use crate::enums::NamedGroup;
    #[cfg(not(feature = "std"))]
    use crate::lock::MakeMutex;
    use crate::lock::{Mutex, MutexGuard};
    use crate::session::bounded_map::BoundedMap;

    /// How many sessions of TLS 1.3 are kept for one server: more than a server sends by default, few enough
    /// that no server can fill a client's memory.
    const MAX_TLS13_TICKETS_PER_SERVER: usize = 8;

    /// Stores sessions in the memory of this process, a limited number of them.
    ///
    /// The servers whose first session is the oldest make room for others; the oldest session of a
    /// server makes room for its next.
    pub struct ClientSessionMemoryCache {
        servers: Mutex<Servers>,
    }

    struct Servers {
        by_name: BoundedMap<ServerName<'static>, Server>,
        /// True once a session of this version was stored. Most clients see servers of one version alone, and looking
        /// for a session of the other takes as long as hashing a name.
        has_tls12: bool,
        has_tls13: bool,
    }

    impl Servers {
        fn get<'a>(&'a self, server_name: &'a ServerName<'a>) -> Option<&'a Server> {
            let by_name: &BoundedMap<ServerName<'a>, _> = &self.by_name;
            by_name.get(server_name)
        }
    }

    /// What is known of one server.
    #[derive(Default)]
    struct Server {
        kx_hint: Option<NamedGroup>,
        tls12: Option<Tls12ClientSessionValue>,
        /// Newest last.
        tls13: VecDeque<Tls13ClientSessionValue>,
    }

    impl ClientSessionMemoryCache {
        /// A store for about `size` sessions: of up to `size` / 8 servers, rounded up, 8 each.
        #[cfg(feature = "std")]
        pub fn new(size: usize) -> Self {
            Self {
                servers: Mutex::new(Self::map_for(size)),
            }
        }

        /// A store for about `size` sessions: of up to `size` / 8 servers, rounded up, 8 each; behind a lock that
        /// `M` makes.
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

        /// The map is consistent between calls, so a poisoned lock can be used.
        fn servers(&self) -> Option<MutexGuard<'_, Servers>> {
            self.servers.lock_even_poisoned()
        }

        /// Changes what is known of a server, from nothing if need be.
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
            // all that it held is freed while others use the rest
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
        /// Sessions are secret.
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("ClientSessionMemoryCache")
                .finish_non_exhaustive()
        }
    }
}

#[cfg(all(test, feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
