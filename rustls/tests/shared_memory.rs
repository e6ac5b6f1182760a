//! Tests of the memory that a server holds for its clients' certificates. It grows with the number
//! of different chains in use, and stays within the configured limits.
//!
//! This test is a separate program because the count is process-wide.

#[path = "memory/counting.rs"]
mod counting;

#[path = "peer_chains/kit.rs"]
mod kit;

use std::sync::{Arc, Mutex};

use harness::peers::configs::{PROVIDERS, Provider, Versions, product};
use rustls::certificates::{PeerChains, VerifiedChains};
use rustls::client::Resumption;
use rustls::server::{ServerSessionMemoryCache, ServerSessionValue, StoresServerSessions};
use rustls::{ClientConfig, HandshakeKind, ServerConfig};

use crate::counting::heap;
use crate::kit::{Authority, connect, with_tickets};

const VERSIONS: [Versions; 2] = [Versions::Tls12, Versions::Tls13];

/// The tolerance: more than maps and pools vary by chance, and far less than a leak would use.
const SLACK: usize = 16 << 10;

#[test]
fn memory_grows_only_with_the_number_of_different_chains() {
    for versions in VERSIONS {
        sessions_of_one_client(versions);
    }
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        connections_of_one_client(provider, versions);
    }
    many_clients(600);
}

/// Tests the same with as many clients as a busy server has in a day. It takes minutes.
#[test]
#[ignore = "for a release build, and alone"]
fn memory_is_bounded_over_100_000_clients() {
    many_clients(100_000);
}

/// A storage that keeps its last session for the test.
#[derive(Debug, Default)]
struct Showing(Mutex<Option<ServerSessionValue>>);

impl StoresServerSessions for Showing {
    fn can_cache(&self) -> bool {
        true
    }

    fn put(&self, _: Vec<u8>, _: Vec<u8>) -> bool {
        false
    }

    fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn take(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn put_session(&self, _: Vec<u8>, session: ServerSessionValue) -> bool {
        *self.0.lock().unwrap() = Some(session);
        true
    }
}

/// Returns a session whose client has authenticated, and the length of its chain.
fn session(versions: Versions) -> (ServerSessionValue, usize) {
    let authority = Authority::get();
    let chain = authority.client_chain(0);
    let len = chain.iter().map(|cert| cert.len()).sum();
    let client = authority.client(Provider::Ring, versions, chain);
    let mut config = authority.server(Provider::Ring, versions);
    let storage = Arc::new(Showing::default());
    config.session_storage = storage.clone();
    connect(&Arc::new(client), &Arc::new(config)).unwrap();
    let session = storage.0.lock().unwrap().take();
    (session.unwrap(), len)
}

/// Stores 100 000 sessions of one client, in a storage with room for all, and in a smaller one.
fn sessions_of_one_client(versions: Versions) {
    const SESSIONS: u32 = 100_000;
    let (session, chain_len) = session(versions);
    let key = |number: u32| [&number.to_be_bytes()[..], &[0; 28]].concat();

    let before = heap();
    let all = ServerSessionMemoryCache::new(SESSIONS as usize);
    for number in 0..SESSIONS {
        assert!(all.put_session(key(number), session.clone()));
    }
    let shared = (heap() - before) / SESSIONS as usize;
    drop(all);

    let before = heap();
    let bytes = ServerSessionMemoryCache::new(1000);
    for number in 0..1000 {
        assert!(bytes.put(key(number), session.clone().into_vec()));
    }
    let copied = (heap() - before) / 1000;
    drop(bytes);
    let with_chain = shared + chain_len;
    assert!(
        with_chain <= copied + 20,
        "{versions:?}: {shared}, {copied}"
    );
    assert!(shared < 500, "{versions:?}: {shared}");

    let few = ServerSessionMemoryCache::new(256);
    let mut after_first = 0;
    for number in 0..SESSIONS {
        assert!(few.put_session(key(number), session.clone()));
        // by now, the map has grown to its final size
        if number == 20_000 {
            after_first = heap();
        }
    }
    let grown = heap().saturating_sub(after_first);
    assert!(grown < SLACK, "{versions:?}: {grown}");
}

/// Keeps connections that one client has resumed with tickets, each of which contains its chain.
/// They share one copy in memory.
fn connections_of_one_client(provider: Provider, versions: Versions) {
    const CONNECTIONS: usize = 100;
    let authority = Authority::get();
    let chain = authority.client_chain(0);
    let chain_len: usize = chain.iter().map(|cert| cert.len()).sum();
    let per_connection = |chains: PeerChains| {
        let client = Arc::new(authority.client(provider, versions, chain.clone()));
        let mut config = with_tickets(authority.server(provider, versions), provider);
        config.peer_chains = Arc::new(chains);
        let server = Arc::new(config);
        let accept = || connect(&client, &server).unwrap().1;
        let first = accept();
        // warm up pools and maps
        let mut live: Vec<_> = (0..CONNECTIONS).map(|_| accept()).collect();
        let before = heap();
        live.extend((0..CONNECTIONS).map(|_| accept()));
        let held = heap() - before;
        for conn in &live {
            assert_eq!(conn.handshake_kind(), Some(HandshakeKind::Resumed));
            assert_eq!(conn.peer_certificates(), first.peer_certificates());
        }
        held / CONNECTIONS
    };
    let [shared, alone] = [PeerChains::default(), PeerChains::disabled()].map(per_connection);
    let with_chain = shared + chain_len;
    assert!(with_chain <= alone, "{versions:?}: {shared}, {alone}");
}

/// Connects successive clients, each with its own chain, some of which the server remembers.
fn many_clients(count: usize) {
    // at most half of what a hash map holds before it grows, so that replaced entries never make it
    // grow
    const REMEMBERED: usize = 48;
    let authority = Authority::get();
    let crypto = Provider::Ring;
    for versions in VERSIONS {
        let mut config: ServerConfig = authority.server(crypto, versions);
        config.peer_chains = Arc::new(PeerChains::new(REMEMBERED));
        config.verified_chains = Arc::new(VerifiedChains::new(REMEMBERED));
        config.session_storage = ServerSessionMemoryCache::new(REMEMBERED);
        let server = Arc::new(config);
        let serve = |numbers: std::ops::Range<usize>| {
            for number in numbers {
                let chain = authority.client_chain(number);
                let mut client: ClientConfig = authority.client(crypto, versions, chain);
                client.resumption = Resumption::disabled();
                drop(connect(&Arc::new(client), &server).unwrap());
            }
            heap()
        };
        let first = serve(0..count / 4);
        let grown = serve(count / 4..count).saturating_sub(first);
        assert!(grown < SLACK, "{versions:?}: {grown}");
        assert!(server.peer_chains.stats().entries <= REMEMBERED);
        assert_eq!(server.verified_chains.stats().entries, REMEMBERED);
    }
}
