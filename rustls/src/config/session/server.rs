//! The storage of a server's sessions: in memory, in the application's storage, or none.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;

#[cfg(any(feature = "std", feature = "hashbrown"))]
pub use memory::ServerSessionMemoryCache;
use rustls_core::operation::BoxFuture;
use rustls_core::ticketer::ProducesTickets;

pub use super::stored::ServerSessionValue;

/// Stores sessions on the server.
///
/// Keys and values are opaque. A value contains a session's secrets: anyone who can read values can
/// hijack resumed sessions, and anyone who can write them can impersonate any client. Other
/// processes and machines may use a value if their configurations match. Releases of this library
/// with a different session format ignore it.
pub trait StoresServerSessions: Debug + Send + Sync {
    /// True if this storage stores sessions.
    fn can_cache(&self) -> bool;

    /// Stores `value` under `key`, replacing any previous value.
    ///
    /// Returns false if the value was not stored. The session then cannot be resumed.
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool;

    /// Returns the value stored under `key`. Values may disappear at any time.
    fn get(&self, key: &[u8]) -> Option<Vec<u8>>;

    /// Removes and returns the value stored under `key`, atomically: if two callers ask for it,
    /// only one gets it.
    ///
    /// The protection against replayed early data ([`ServerConfig::max_early_data_size`]) depends
    /// on this.
    ///
    /// [`ServerConfig::max_early_data_size`]: crate::ServerConfig::max_early_data_size
    fn take(&self, key: &[u8]) -> Option<Vec<u8>>;

    /// Stores a session, like [`put`](Self::put), but keeps it structured. The default calls `put`.
    ///
    /// A storage in the memory of this process can implement this, so that the sessions of one
    /// client share its certificates. Handshakes call this method, not `put`.
    ///
    /// Implement all of [`put_session`](Self::put_session), [`get_session`](Self::get_session) and
    /// [`take_session`](Self::take_session), or none of them. If you implement them, they must find
    /// values stored by [`put`](Self::put), and [`get`](Self::get) and [`take`](Self::take) must
    /// find sessions. A wrapper around another storage may forward the three methods, or keep the
    /// defaults and store bytes.
    fn put_session(&self, key: Vec<u8>, session: ServerSessionValue) -> bool {
        self.put(key, session.into_vec())
    }

    /// Returns a session, like [`get`](Self::get), which the default calls. See
    /// [`put_session`](Self::put_session).
    fn get_session(&self, key: &[u8]) -> Option<ServerSessionValue> {
        self.get(key).map(ServerSessionValue::from)
    }

    /// Removes and returns a session, like [`take`](Self::take), which the default calls. If two
    /// callers ask for it, only one gets it. See [`put_session`](Self::put_session).
    fn take_session(&self, key: &[u8]) -> Option<ServerSessionValue> {
        self.take(key).map(ServerSessionValue::from)
    }

    /// The asynchronous counterpart of [`put_session`](Self::put_session). Return `None` (the
    /// default) to fall back to `put_session`.
    ///
    /// Called only on connections that the application polls. The handshake does not end before the
    /// future does, so limit its time. Dropping the future must cancel the operation: the
    /// connection has then failed or was dropped, and the session must not be stored later.
    fn put_async(&self, key: &[u8], session: &ServerSessionValue) -> Option<BoxFuture<bool>> {
        let _ = (key, session);
        None
    }

    /// The asynchronous counterpart of [`get_session`](Self::get_session). Return `None` (the
    /// default) to fall back to `get_session`.
    ///
    /// Called only on connections that the application polls. A wrapper that changes keys or values
    /// in the synchronous methods must do the same in the asynchronous ones.
    fn get_async(&self, key: &[u8]) -> Option<BoxFuture<Option<ServerSessionValue>>> {
        let _ = key;
        None
    }

    /// The asynchronous counterpart of [`take_session`](Self::take_session): if two callers ask for
    /// a session, only one gets it. Return `None` (the default) to fall back to `take_session`.
    ///
    /// Called only on connections that the application polls. A TLS 1.2 connection that fails
    /// removes its session with `take_session` in any case, because it is no longer polled. That
    /// call blocks; to avoid this, the storage may hand the work to another thread and return
    /// `None`.
    fn take_async(&self, key: &[u8]) -> Option<BoxFuture<Option<ServerSessionValue>>> {
        let _ = key;
        None
    }

    /// False if the methods ending in `_async` always return `None`. True by default, which is
    /// always safe. False may save a server the copy of a ClientHello: see
    /// [`set_async`](crate::CommonState::set_async).
    ///
    /// A wrapper returns the value of the wrapped object, or true if it has its own futures. If a
    /// wrapper returns false by mistake, slow calls block the thread.
    fn may_wait(&self) -> bool {
        true
    }
}

/// A storage that stores nothing, for servers that resume no sessions, or only those in tickets.
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

    fn may_wait(&self) -> bool {
        false
    }
}

/// Returns the storage of a configuration that does not set one.
pub(crate) fn default_session_storage() -> Arc<dyn StoresServerSessions> {
    #[cfg(feature = "std")]
    return ServerSessionMemoryCache::new(256);
    #[cfg(not(feature = "std"))]
    return Arc::new(NoServerSessionStorage {});
}

/// The ticketer of a configuration that does not set one.
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

    fn may_wait(&self) -> bool {
        false
    }
}

#[cfg(any(feature = "std", feature = "hashbrown"))]
mod memory {
    use alloc::sync::Arc;
    use alloc::vec::Vec;
    use core::fmt;

    use super::{ServerSessionValue, StoresServerSessions};
    use crate::bounded_map::BoundedMap;
    #[cfg(not(feature = "std"))]
    use crate::lock::MakeMutex;
    use crate::lock::{Mutex, MutexGuard};

    /// Stores a limited number of sessions in the memory of this process. The oldest are evicted
    /// first.
    ///
    /// Sessions with one client can share its certificates if they are stored by
    /// [`put_session`](StoresServerSessions::put_session).
    pub struct ServerSessionMemoryCache {
        sessions: Mutex<Sessions>,
        stores_any: bool,
    }

    /// The stored sessions. Keys are reference-counted, because the map holds each of them twice.
    type Sessions = BoundedMap<Arc<[u8]>, ServerSessionValue>;

    impl ServerSessionMemoryCache {
        /// Creates a storage for up to `size` sessions. With a size of 0 it stores nothing, like
        /// [`NoServerSessionStorage`].
        ///
        /// [`NoServerSessionStorage`]: super::NoServerSessionStorage
        #[cfg(feature = "std")]
        #[allow(clippy::new_ret_no_self)] // the signature is part of the public API
        pub fn new(size: usize) -> Arc<Self> {
            Arc::new(Self {
                sessions: Mutex::new(BoundedMap::new(size)),
                stores_any: size != 0,
            })
        }

        /// Creates a storage for up to `size` sessions. `M` creates its lock. With a size of 0 it
        /// stores nothing.
        #[cfg(not(feature = "std"))]
        #[allow(clippy::new_ret_no_self)] // the signature is part of the public API
        pub fn new<M: MakeMutex>(size: usize) -> Arc<Self> {
            Arc::new(Self {
                sessions: Mutex::new::<M>(BoundedMap::new(size)),
                stores_any: size != 0,
            })
        }

        /// Locks the map. A poisoned lock can be used, because the map is consistent between calls.
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
            // free the evicted session, and possibly its chain, after the lock is released
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

        fn may_wait(&self) -> bool {
            false
        }
    }

    impl fmt::Debug for ServerSessionMemoryCache {
        /// Omits the sessions, which are secret.
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
    use crate::certificates::{ChainKind, PeerChain};

    #[test]
    fn the_cache_keeps_the_latest_sessions() {
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

    /// Returns a chain, a session that shares it, and the session's encoding.
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
    fn the_cache_shares_chains() {
        let storage = ServerSessionMemoryCache::new(3);
        let (chain, session, _) = shared();
        storage.put_session(vec![1], session);
        for found in [storage.get_session(&[1]), storage.take_session(&[1])] {
            assert!(ptr::eq(&**found.unwrap().chain().unwrap(), &*chain));
        }
        assert!(storage.take_session(&[1]).is_none());
    }

    #[test]
    fn bytes_and_sessions_are_interchangeable() {
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

    /// A storage that only implements the methods for bytes.
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
    fn a_storage_without_put_session_receives_encoded_sessions() {
        let storage = Bytes(ServerSessionMemoryCache::new(3));
        let (_, session, expected) = shared();
        assert!(storage.put_session(vec![1], session));
        assert_eq!(storage.0.get(&[1]).as_ref(), Some(&expected));
        assert_eq!(bytes(storage.get_session(&[1])).as_ref(), Some(&expected));
        assert_eq!(bytes(storage.take_session(&[1])), Some(expected));
        assert!(storage.take_session(&[1]).is_none());
    }

    #[test]
    fn debug_does_not_print_sessions() {
        let (_, session, _) = shared();
        let text = format!("{session:?}");
        assert_eq!(
            text,
            "ServerSessionValue { len: 2, has_shared_chain: true, .. }"
        );
    }

    #[test]
    fn the_empty_storage_stores_nothing() {
        let storage = NoServerSessionStorage {};
        assert!(!storage.can_cache());
        assert!(!storage.put(vec![1], vec![1]));
        assert_eq!(storage.get(&[1]), None);
        assert_eq!(storage.take(&[1]), None);
    }

    #[test]
    fn the_default_ticketer_creates_no_tickets() {
        assert!(!NoTickets.enabled());
        assert_eq!(NoTickets.encrypt(b"session"), None);
        assert_eq!(NoTickets.decrypt(b"ticket"), None);
        assert_eq!(NoTickets.lifetime(), 0);
    }
}
