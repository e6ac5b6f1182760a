//! Sessions that are dropped, because room is short or others replace them; and tickets that fail.

use std::sync::Arc;

use harness::peers::configs::{ClientAuth, PROVIDERS, Versions};
use rustls::TicketRotator;
use rustls::client::Resumption;
use rustls::crypto::blocks::{Aead, AeadError, FleetCrypto, FleetTicketer, TAG_LEN, make_ticketer};
use rustls::crypto::cipher::Nonce;
use rustls::pki_types::UnixTime;
use rustls::server::{ProducesTickets, ServerSessionMemoryCache, StoresServerSessions};
use zeroize::Zeroizing;

use crate::connections::{Case, Sessions, connected};
use crate::secrets::{Log, leaves, left_by, record};

/// A storage that records the secrets in the sessions for another one.
#[derive(Debug)]
struct Storage(Arc<ServerSessionMemoryCache>);

impl StoresServerSessions for Storage {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        // format, version and cipher suite; then in TLS 1.3 a PSK with its length, in TLS 1.2 the
        // master secret
        match value[1..3] {
            [3, 4] => record(
                "PSK of a stored session",
                &value[6..][..usize::from(value[5])],
            ),
            _ => record("master secret of a stored session", &value[5..][..48]),
        }
        self.0.put(key, value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.get(key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.take(key)
    }

    fn can_cache(&self) -> bool {
        self.0.can_cache()
    }
}

#[test]
fn no_secret_of_a_dropped_session_is_left() {
    for provider in PROVIDERS {
        for versions in [Versions::Tls13, Versions::Tls12] {
            for auth in [ClientAuth::None, ClientAuth::Required] {
                for own_storage in [false, true] {
                    let case = Case {
                        auth,
                        sessions: Sessions::Stored,
                        ..Case::of_version(provider, versions)
                    };
                    let left = left_by(case.provider, case.suite, || {
                        let (mut client, mut server) = case.configs();
                        client.resumption = Resumption::in_memory_sessions(1);
                        client.key_log = Arc::new(Log);
                        let sessions = ServerSessionMemoryCache::new(2);
                        server.session_storage = sessions.clone();
                        if own_storage {
                            server.session_storage = Arc::new(Storage(sessions));
                        }
                        let (client, server) = (Arc::new(client), Arc::new(server));
                        // a client that resumes, and others that evict its sessions from the
                        // server's storage
                        for _ in 0..6 {
                            drop(connected(&client, &server));
                            let mut other = (*client).clone();
                            other.resumption = Resumption::in_memory_sessions(1);
                            drop(connected(&Arc::new(other), &server));
                        }
                    });
                    assert!(left.is_empty(), "{case:?}, {own_storage}: {left:?}");
                }
            }
        }
    }
}

#[test]
fn a_storage_zeroizes_dropped_sessions() {
    const SECRET: [u8; 32] = *b"a session, or so the cache holds";
    let put = |sessions: &ServerSessionMemoryCache, number: u8| {
        sessions.put(vec![number; 32], SECRET.to_vec());
    };
    let replaced = |sessions: &ServerSessionMemoryCache| {
        put(sessions, 1);
        put(sessions, 1);
    };
    let evicted = |sessions: &ServerSessionMemoryCache| (0..20).for_each(|n| put(sessions, n));
    for (name, work) in [
        ("replaced", &replaced as &dyn Fn(&_)),
        ("evicted", &evicted),
    ] {
        let left = leaves(&SECRET, || work(&ServerSessionMemoryCache::new(4)));
        assert!(!left, "{name}");
    }
}

/// An AEAD that fails without changing anything.
struct Fails;

impl Aead for Fails {
    fn seal_in_place(&self, _: Nonce, _: &[u8], _: &mut [u8]) -> Result<[u8; TAG_LEN], AeadError> {
        Err(AeadError)
    }

    fn open_in_place(&self, _: Nonce, _: &[u8], _: &mut [u8]) -> Result<usize, AeadError> {
        Err(AeadError)
    }
}

#[test]
fn a_ticket_that_cannot_be_sealed_leaves_no_session() {
    const SESSION: [u8; 32] = *b"a session that is to be a ticket";
    let crypto = PROVIDERS[0].this();
    let ticketer = make_ticketer(|_| Fails, crypto.secure_random).unwrap();
    assert!(!leaves(&SESSION, || assert!(
        ticketer.encrypt(&SESSION).is_none()
    )));

    let fleet = FleetCrypto {
        hkdf: Case::of_version(PROVIDERS[0], Versions::Tls13)
            .suite
            .tls13()
            .unwrap()
            .hkdf_provider,
        new_aead: |_| Fails,
        random: crypto.secure_random,
    };
    let now = || Some(UnixTime::now());
    let ticketer = FleetTicketer::new(&[7; 32], 3600, fleet, now).unwrap();
    assert!(!leaves(&SESSION, || assert!(
        ticketer.encrypt(&SESSION).is_none()
    )));
}

/// A ticketer that zeroizes its key.
#[derive(Debug)]
struct ZeroizesKey(Zeroizing<[u8; 32]>);

const TICKET_KEY: [u8; 32] = *b"the key of a ticketer, in itself";

impl ProducesTickets for ZeroizesKey {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        3600
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        assert_eq!(*self.0, TICKET_KEY);
        Some(plain.to_vec())
    }

    fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

#[test]
fn no_key_of_a_rotator_is_left() {
    let left = leaves(&TICKET_KEY, || {
        let generator =
            || Ok(Box::new(ZeroizesKey(Zeroizing::new(TICKET_KEY))) as Box<dyn ProducesTickets>);
        let rotator = TicketRotator::new(3600, generator).unwrap();
        assert!(rotator.encrypt(b"session").is_some());
    });
    assert!(!left);
}
