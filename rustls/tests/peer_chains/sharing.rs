//! Connections with equal chains share them, full or resumed, on both sides.

use std::sync::{Arc, Barrier};
use std::{ptr, thread};

use harness::peers::configs::{PROVIDERS, Provider, Versions, product};
use pki_types::CertificateDer;
use rustls::certificates::{PeerChains, VerifiedChains};
use rustls::client::Resumption;
use rustls::{ClientConfig, CommonState, HandshakeKind, ServerConfig};

use crate::certificates::kit::{Kind, Setup, this};
use crate::peer_chains::kit::{Authority, Pair, connect, with_tickets};

/// Runs `test` with each provider and version, with stored sessions and with tickets.
fn all(test: impl Fn(ClientConfig, ServerConfig)) {
    let authority = Authority::get();
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let client = || authority.client(provider, versions, authority.client_chain(0));
        let server = || authority.server(provider, versions);
        test(client(), server());
        test(client(), with_tickets(server(), provider));
    }
}

/// Clones the client without its session store.
fn without_sessions(client: &ClientConfig) -> ClientConfig {
    let mut sessionless = client.clone();
    sessionless.resumption = Resumption::disabled();
    sessionless
}

fn chain(conn: &CommonState) -> &[CertificateDer<'static>] {
    conn.peer_certificates().unwrap()
}

/// Returns whether the clients share their chain's memory, and whether the servers do.
fn is_shared((client, server): &Pair, (other_client, other_server): &Pair) -> (bool, bool) {
    assert_eq!(chain(client), chain(other_client));
    assert_eq!(chain(server), chain(other_server));
    (
        ptr::eq(chain(client), chain(other_client)),
        ptr::eq(chain(server), chain(other_server)),
    )
}

fn kinds((client, server): &Pair) -> HandshakeKind {
    assert_eq!(client.handshake_kind(), server.handshake_kind());
    client.handshake_kind().unwrap()
}

#[test]
fn full_handshakes_share_chains() {
    all(|mut client, server| {
        client.resumption = Resumption::disabled();
        let (client, server) = (Arc::new(client), Arc::new(server));
        let first = connect(&client, &server).unwrap();
        let second = connect(&client, &server).unwrap();
        assert_eq!(kinds(&second), HandshakeKind::Full);
        assert_eq!(is_shared(&first, &second), (true, true));
        for stats in [client.peer_chains.stats(), server.peer_chains.stats()] {
            assert_eq!((stats.entries, stats.hits, stats.misses), (1, 1, 1));
            let len = |chain: &[CertificateDer<'_>]| chain.iter().map(|cert| cert.len()).sum();
            let lens: [usize; 2] = [len(chain(&first.0)), len(chain(&first.1))];
            assert!(lens.contains(&stats.bytes.unwrap()));
        }
    });
}

#[test]
fn resumed_connections_share_chains_with_earlier_ones() {
    all(|client, server| {
        let (client, server) = (Arc::new(client), Arc::new(server));
        let first = connect(&client, &server).unwrap();
        let mut live = vec![connect(&client, &server).unwrap()];
        for _ in 0..3 {
            live.push(connect(&client, &server).unwrap());
        }
        for resumed in &live {
            assert_eq!(kinds(resumed), HandshakeKind::Resumed);
            assert_eq!(is_shared(&first, resumed), (true, true));
        }
    });
}

/// Stored sessions keep a client's chain alive without a connection; tickets do not.
#[test]
fn sessions_in_memory_share_chains_without_a_connection() {
    all(|client, mut server| {
        // a map of verified chains would keep the chain alive
        server.verified_chains = Arc::new(VerifiedChains::disabled());
        let is_stored = !server.ticketer.enabled();
        let (client, server) = (Arc::new(client), Arc::new(server));
        drop(connect(&client, &server).unwrap());
        let alive = |chains: &PeerChains| chains.stats().bytes != Some(0);
        assert!(alive(&client.peer_chains));
        assert_eq!(alive(&server.peer_chains), is_stored);

        let resumed = connect(&client, &server).unwrap();
        assert_eq!(kinds(&resumed), HandshakeKind::Resumed);
        assert!(alive(&server.peer_chains));
    });
}

/// Later full handshakes also share with a resumed connection.
#[test]
fn full_handshakes_share_chains_with_resumed_connections() {
    all(|client, server| {
        let sessionless = without_sessions(&client);
        let (client, sessionless, server) =
            (Arc::new(client), Arc::new(sessionless), Arc::new(server));
        drop(connect(&client, &server).unwrap());
        let resumed = connect(&client, &server).unwrap();
        let full = connect(&sessionless, &server).unwrap();
        assert_eq!(kinds(&full), HandshakeKind::Full);
        assert_eq!(is_shared(&resumed, &full), (true, true));
    });
}

#[test]
fn disabled_maps_share_chains_only_through_sessions() {
    all(|mut client, mut server| {
        client.peer_chains = Arc::new(PeerChains::disabled());
        server.peer_chains = Arc::new(PeerChains::disabled());
        let is_stored = !server.ticketer.enabled();
        let (client, server) = (Arc::new(client), Arc::new(server));
        let first = connect(&client, &server).unwrap();
        let resumed = connect(&client, &server).unwrap();
        assert_eq!(kinds(&resumed), HandshakeKind::Resumed);
        assert_eq!(is_shared(&first, &resumed), (true, is_stored));

        let sessionless = without_sessions(&client);
        let full = connect(&Arc::new(sessionless), &server).unwrap();
        assert_eq!(is_shared(&first, &full), (false, false));
    });
}

#[test]
fn raw_public_keys_are_shared() {
    let authority = Authority::get();
    for provider in PROVIDERS {
        let (mut client, mut server) = raw_configs(provider);
        for sealed in [false, true] {
            if sealed {
                server = with_tickets(server, provider);
                client.resumption = Resumption::default();
            }
            let ends = (Arc::new(client.clone()), Arc::new(server.clone()));
            let first = connect(&ends.0, &ends.1).unwrap();
            let second = connect(&ends.0, &ends.1).unwrap();
            assert_eq!(kinds(&second), HandshakeKind::Resumed);
            assert_eq!(is_shared(&first, &second), (true, true));
            assert_eq!(chain(&second.1).len(), 1);
        }
        // the same map, but another kind of credential
        let mut x509 = authority.server(provider, Versions::Tls13);
        x509.peer_chains = server.peer_chains.clone();
        let certified = authority.client(provider, Versions::Tls13, authority.client_chain(0));
        let third = connect(&Arc::new(certified), &Arc::new(x509)).unwrap();
        assert_eq!(chain(&third.1).len(), 3);
    }
}

/// Returns configurations of which both authenticate with raw public keys.
fn raw_configs(provider: Provider) -> (ClientConfig, ServerConfig) {
    let setup = Setup::new(provider).with(Kind::Raw, Some(Kind::Raw));
    let mut client = this::client_config(setup);
    client.resumption = Resumption::default();
    (client, this::server_config(setup))
}

#[test]
fn concurrent_handshakes_share_chains() {
    const THREADS: usize = 4;
    all(|client, server| {
        let sessionless = without_sessions(&client);
        let (client, sessionless, server) =
            (&Arc::new(client), &Arc::new(sessionless), &Arc::new(server));
        drop(connect(client, server).unwrap());
        let start = &Barrier::new(THREADS);
        let pairs = thread::scope(|scope| {
            let threads = [client, sessionless].repeat(THREADS / 2).into_iter();
            let threads = threads.map(|client| {
                scope.spawn(move || {
                    start.wait();
                    [(); 5].map(|()| connect(client, server).unwrap())
                })
            });
            let threads: Vec<_> = threads.collect();
            let pairs = threads.into_iter().map(|it| it.join().unwrap());
            pairs.flatten().collect::<Vec<_>>()
        });
        for pair in &pairs {
            assert_eq!(is_shared(&pairs[0], pair), (true, true));
        }
        assert_eq!(server.peer_chains.stats().entries, 1);
    });
}
