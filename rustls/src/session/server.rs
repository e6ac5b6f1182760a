//! Where a server keeps sessions: in memory, nowhere, or where the application says.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;

#[cfg(any(feature = "std", feature = "hashbrown"))]
pub use memory::ServerSessionMemoryCache;

pub use super::stored::ServerSessionValue;
use crate::server::ProducesTickets;

/// Stores sessions on the server.
///
/// Keys and values are opaque. A value holds the secrets of a session: whoever reads it can take over
/// a resumed one, and whoever writes one can pass for any client. Other processes and machines may use it if their configurations are alike; a release of this
/// library that keeps sessions in another form passes over it.
pub trait StoresServerSessions: Debug + Send + Sync {
    /// Whether this stores anything at all.
    fn can_cache(&self) -> bool;

    /// Stores `value` under `key`, in place of what was there.
    ///
    /// False when it did not; then the session just cannot be resumed.
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool;

    /// Finds the value stored under `key`. It may be gone at any time.
    fn get(&self, key: &[u8]) -> Option<Vec<u8>>;

    /// Finds and removes the value stored under `key`, in one step: of two callers one gets it.
    ///
    /// That early data is not accepted twice ([`ServerConfig::max_early_data_size`]) rests on this alone.
    ///
    /// [`ServerConfig::max_early_data_size`]: crate::ServerConfig::max_early_data_size
    fn take(&self, key: &[u8]) -> Option<Vec<u8>>;

    /// [`put`](Self::put), which it calls, for a storage that keeps sessions as they are: in memory of this process,
    /// where those of one client share its certificates. Handshakes call this one.
    ///
    /// Whoever implements one of [`put_session`](Self::put_session), [`get_session`](Self::get_session) and
    /// [`take_session`](Self::take_session) implements all three, and has them find what [`put`](Self::put) stored;
    /// [`get`](Self::get) and [`take`](Self::take) find what was put as a session. A storage around another may pass
    /// them on, or leave them as they are: what they store are bytes then.
    fn put_session(&self, key: Vec<u8>, session: ServerSessionValue) -> bool {
        self.put(key, session.into_vec())
    }

    /// [`get`](Self::get), which it calls. See [`put_session`](Self::put_session).
    fn get_session(&self, key: &[u8]) -> Option<ServerSessionValue> {
        self.get(key).map(ServerSessionValue::from)
    }

    /// [`take`](Self::take), which it calls: of two callers one gets the session. See
    /// [`put_session`](Self::put_session).
    fn take_session(&self, key: &[u8]) -> Option<ServerSessionValue> {
        self.take(key).map(ServerSessionValue::from)
    }
}

/// Stores nothing.
#[derive(Debug)]
pub struct NoServerSessionStorage {}

impl StoresServerSessions for NoServerSessionStorage {
    fn put(&self, _key: Vec<u8>, _value: Vec<u8>) -> bool {
        false
    }

    fn get(&self, _key: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn take(&self, _key: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn can_cache(&self) -> bool {
        false
    }
}

/// The storage of a configuration that names none.
pub(crate) fn default_session_storage() -> Arc<dyn StoresServerSessions> {
    #[cfg(feature = "std")]
    return ServerSessionMemoryCache::new(256);
    #[cfg(not(feature = "std"))]
    return Arc::new(NoServerSessionStorage {});
}

/// The ticketer of a configuration that names none.
#[derive(Debug)]
pub(crate) struct NoTickets;

impl ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _plain: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _cipher: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(any(feature = "std", feature = "hashbrown"))]
mod memory {
    use alloc::sync::Arc;
    use alloc::vec::Vec;
    use core::fmt;

    use super::{ServerSessionValue, StoresServerSessions};
    #[cfg(not(feature = "std"))]
    use crate::lock::MakeMutex;
    use crate::lock::{Mutex, MutexGuard};
    use crate::session::bounded_map::BoundedMap;

    /// Stores sessions in the memory of this process, a limited number of them. The oldest make room.
    ///
    /// Sessions of one client share its certificates, as long as they are put by
    /// [`put_session`](StoresServerSessions::put_session).
    pub struct ServerSessionMemoryCache {
        sessions: Mutex<Sessions>,
        stores_any: bool,
    }

    /// Keys are counted references, as the map has each of them twice.
    type Sessions = BoundedMap<Arc<[u8]>, ServerSessionValue>;

    impl ServerSessionMemoryCache {
        /// A storage for as many as `size` sessions. With a size of 0 it stores nothing, as [`NoServerSessionStorage`].
        ///
        /// [`NoServerSessionStorage`]: super::NoServerSessionStorage
        #[cfg(feature = "std")]
        #[allow(clippy::new_ret_no_self)] // 0.23's signature
        pub fn new(size: usize) -> Arc<Self> {
            Arc::new(Self {
                sessions: Mutex::new(BoundedMap::new(size)),
                stores_any: size != 0,
            })
        }

        /// A storage for as many as `size` sessions, behind a lock that `M` makes. With a size of 0 it stores nothing.
        #[cfg(not(feature = "std"))]
        #[allow(clippy::new_ret_no_self)] // 0.23's signature
        pub fn new<M: MakeMutex>(size: usize) -> Arc<Self> {
            Arc::new(Self {
                sessions: Mutex::new::<M>(BoundedMap::new(size)),
                stores_any: size != 0,
            })
        }

        /// The map is consistent between calls, so a poisoned lock can be used.
        fn sessions(&self) -> Option<MutexGuard<'_, Sessions>> {
            self.sessions.lock_even_poisoned()
        }
    }

    impl StoresServerSessions for ServerSessionMemoryCache {
        fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
            self.put_session(key, value.into())
        }

        fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
            self.get_session(key).map(ServerSessionValue::into_vec)
        }

        fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
            self.take_session(key).map(ServerSessionValue::into_vec)
        }

        fn put_session(&self, key: Vec<u8>, session: ServerSessionValue) -> bool {
            if !self.stores_any {
                return false;
            }
            let Some(mut sessions) = self.sessions() else {
                return false;
            };
            let evicted = sessions.insert(key.into(), session);
            // its chain may be the last one of its client's
            drop(sessions);
            drop(evicted);
            true
        }

        fn get_session(&self, key: &[u8]) -> Option<ServerSessionValue> {
            self.sessions()?.get(key).cloned()
        }

        fn take_session(&self, key: &[u8]) -> Option<ServerSessionValue> {
            self.sessions()?.remove(key)
        }

        fn can_cache(&self) -> bool {
            self.stores_any
        }
    }

    impl fmt::Debug for ServerSessionMemoryCache {
        /// Sessions are secret.
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("ServerSessionMemoryCache")
                .finish_non_exhaustive()
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use alloc::{format, vec};
    use core::ptr;

    use super::*;
    use crate::session::chain::{ChainKind, PeerChain};

    #[test]
    fn memory_holds_the_latest_sessions() {
        let storage = ServerSessionMemoryCache::new(3);
        assert!(storage.can_cache());
        for key in [1, 2, 3, 4] {
            assert!(storage.put(vec![key], vec![key, key]));
        }
        assert_eq!(storage.get(&[1]), None);
        for key in [2, 3, 4] {
            assert_eq!(storage.get(&[key]), Some(vec![key, key]));
        }

        assert_eq!(storage.take(&[3]), Some(vec![3, 3]));
        assert_eq!(storage.take(&[3]), None);
        assert_eq!(storage.get(&[3]), None);

        storage.put(vec![2], vec![0xff]);
        assert_eq!(storage.get(&[2]), Some(vec![0xff]));
    }

    /// A session that shares its chain, and what it is as bytes.
    fn shared() -> (PeerChain, ServerSessionValue, Vec<u8>) {
        let chain = PeerChain::copy(ChainKind::X509, [&b"certificate"[..]]);
        let session = ServerSessionValue::new(vec![1, 2], chain.clone());
        let bytes = b"\x01\x02\0\0\x0e\0\0\x0bcertificate".to_vec();
        assert_eq!(session.clone().into_vec(), bytes);
        (chain, session, bytes)
    }

    fn bytes(session: Option<ServerSessionValue>) -> Option<Vec<u8>> {
        session.map(ServerSessionValue::into_vec)
    }

    #[test]
    fn memory_shares_chains() {
        let storage = ServerSessionMemoryCache::new(3);
        let (chain, session, _) = shared();
        storage.put_session(vec![1], session);
        for found in [storage.get_session(&[1]), storage.take_session(&[1])] {
            assert!(ptr::eq(&**found.unwrap().chain().unwrap(), &*chain));
        }
        assert!(storage.take_session(&[1]).is_none());
    }

    #[test]
    fn what_is_put_one_way_is_got_the_other() {
        let storage = ServerSessionMemoryCache::new(3);
        let (_, session, expected) = shared();
        for as_session in [false, true] {
            let put = || {
                if as_session {
                    assert!(storage.put_session(vec![1], session.clone()));
                } else {
                    assert!(storage.put(vec![1], expected.clone()));
                }
            };
            put();
            assert_eq!(storage.get(&[1]).as_ref(), Some(&expected));
            assert_eq!(bytes(storage.get_session(&[1])).as_ref(), Some(&expected));
            assert_eq!(storage.take(&[1]).as_ref(), Some(&expected));
            assert_eq!(storage.take(&[1]), None);
            put();
            assert_eq!(bytes(storage.take_session(&[1])).as_ref(), Some(&expected));
            assert!(storage.take_session(&[1]).is_none());
        }
    }

    /// A storage that knows bytes only, as those of 0.23.
    #[derive(Debug)]
    struct Bytes(Arc<ServerSessionMemoryCache>);

    impl StoresServerSessions for Bytes {
        fn can_cache(&self) -> bool {
            true
        }

        fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
            self.0.put(key, value)
        }

        fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
            self.0.get(key)
        }

        fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
            self.0.take(key)
        }
    }

    #[test]
    fn other_storages_get_bytes() {
        let storage = Bytes(ServerSessionMemoryCache::new(3));
        let (_, session, expected) = shared();
        assert!(storage.put_session(vec![1], session));
        assert_eq!(storage.0.get(&[1]).as_ref(), Some(&expected));
        assert_eq!(bytes(storage.get_session(&[1])).as_ref(), Some(&expected));
        assert_eq!(bytes(storage.take_session(&[1])), Some(expected));
        assert!(storage.take_session(&[1]).is_none());
    }

    #[test]
    fn sessions_are_not_printed() {
        let (_, session, _) = shared();
        let text = format!("{session:?}");
        assert_eq!(
            text,
            "ServerSessionValue { len: 2, has_shared_chain: true, .. }"
        );
    }

    #[test]
    fn nothing_stores_nothing() {
        let storage = NoServerSessionStorage {};
        assert!(!storage.can_cache());
        assert!(!storage.put(vec![1], vec![1]));
        assert_eq!(storage.get(&[1]), None);
        assert_eq!(storage.take(&[1]), None);
    }

    #[test]
    fn the_default_ticketer_makes_none() {
        assert!(!NoTickets.enabled());
        assert_eq!(NoTickets.encrypt(b"session"), None);
        assert_eq!(NoTickets.decrypt(b"ticket"), None);
        assert_eq!(NoTickets.lifetime(), 0);
    }
}
