//! Tests of server session storages that keep sessions as structures or as bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::peers::configs::{PROVIDERS, Versions, product};
use rustls::HandshakeKind;
use rustls::server::{ServerSessionMemoryCache, ServerSessionValue, StoresServerSessions};

use crate::peer_chains::kit::{Authority, connect};

/// A storage that only passes bytes to another one, like storages written for 0.23. It records the
/// longest value.
#[derive(Debug)]
struct Bytes {
    inner: Arc<ServerSessionMemoryCache>,
    longest: AtomicUsize,
}

impl Bytes {
    fn new(inner: Arc<ServerSessionMemoryCache>) -> Self {
        let longest = AtomicUsize::new(0);
        Self { inner, longest }
    }
}

/// The methods of storages written for 0.23.
macro_rules! bytes {
    () => {
        fn can_cache(&self) -> bool {
            true
        }

        fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
            self.longest.fetch_max(value.len(), Ordering::SeqCst);
            self.inner.put(key, value)
        }

        fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
            self.inner.get(key)
        }

        fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
            self.inner.take(key)
        }
    };
}

impl StoresServerSessions for Bytes {
    bytes!();
}

/// A storage that passes sessions to another one, optionally as bytes.
#[derive(Debug)]
struct Passing {
    inner: Arc<ServerSessionMemoryCache>,
    longest: AtomicUsize,
    put_as_bytes: bool,
    get_as_bytes: bool,
}

impl StoresServerSessions for Passing {
    bytes!();

    fn put_session(&self, key: Vec<u8>, session: ServerSessionValue) -> bool {
        if self.put_as_bytes {
            self.inner.put(key, session.into_vec())
        } else {
            self.inner.put_session(key, session)
        }
    }

    fn get_session(&self, key: &[u8]) -> Option<ServerSessionValue> {
        if self.get_as_bytes {
            self.inner.get(key).map(From::from)
        } else {
            self.inner.get_session(key)
        }
    }

    fn take_session(&self, key: &[u8]) -> Option<ServerSessionValue> {
        if self.get_as_bytes {
            self.inner.take(key).map(From::from)
        } else {
            self.inner.take_session(key)
        }
    }
}

fn resumes(storage: impl Fn(Arc<ServerSessionMemoryCache>) -> Arc<dyn StoresServerSessions>) {
    let authority = Authority::get();
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let chain = authority.client_chain(0);
        let client = Arc::new(authority.client(provider, versions, chain.clone()));
        let mut config = authority.server(provider, versions);
        config.session_storage = storage(ServerSessionMemoryCache::new(100));
        let server = Arc::new(config);
        drop(connect(&client, &server).unwrap());
        for _ in 0..3 {
            let (_, conn) = connect(&client, &server).unwrap();
            assert_eq!(conn.handshake_kind(), Some(HandshakeKind::Resumed));
            assert_eq!(conn.peer_certificates(), Some(&chain[..]));
        }
    }
}

#[test]
fn sessions_resume_from_storages_of_bytes() {
    resumes(|inner| Arc::new(Bytes::new(inner)));
}

#[test]
fn sessions_resume_if_their_values_are_encoded_in_between() {
    for (put_as_bytes, get_as_bytes) in product([false, true], [false, true]) {
        resumes(|inner| {
            Arc::new(Passing {
                inner,
                longest: AtomicUsize::new(0),
                put_as_bytes,
                get_as_bytes,
            })
        });
    }
}

/// Bytes that are shared with other processes contain the certificates.
#[test]
fn bytes_contain_the_chain() {
    let authority = Authority::get();
    for versions in Versions::EACH {
        let chain = authority.client_chain(0);
        let len: usize = chain.iter().map(|cert| cert.len()).sum();
        let client = Arc::new(authority.client(PROVIDERS[0], versions, chain));
        let mut config = authority.server(PROVIDERS[0], versions);
        let storage = Arc::new(Bytes::new(ServerSessionMemoryCache::new(100)));
        config.session_storage = storage.clone();
        drop(connect(&client, &Arc::new(config)).unwrap());
        assert!(storage.longest.load(Ordering::SeqCst) > len);
    }
}
