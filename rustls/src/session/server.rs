//! Where a server keeps sessions: in memory, nowhere, or where the application says.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;

#[cfg(any(feature = "std", feature = "hashbrown"))]
pub use memory::ServerSessionMemoryCache;

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
    use core::{fmt, mem};

    use zeroize::Zeroizing;

    use super::StoresServerSessions;
    #[cfg(not(feature = "std"))]
    use crate::lock::MakeMutex;
    use crate::lock::{Mutex, MutexGuard};
    use crate::session::bounded_map::BoundedMap;

    /// Stores sessions in the memory of this process, a limited number of them. The oldest make room.
    pub struct ServerSessionMemoryCache {
        sessions: Mutex<Sessions>,
    }

    type Sessions = BoundedMap<Vec<u8>, Zeroizing<Vec<u8>>>;

    impl ServerSessionMemoryCache {
        /// A storage for as many as `size` sessions.
        #[cfg(feature = "std")]
        #[allow(clippy::new_ret_no_self)] // 0.23's signature
        pub fn new(size: usize) -> Arc<Self> {
            Arc::new(Self {
                sessions: Mutex::new(BoundedMap::new(size)),
            })
        }

        /// A storage for as many as `size` sessions, behind a lock that `M` makes.
        #[cfg(not(feature = "std"))]
        #[allow(clippy::new_ret_no_self)] // 0.23's signature
        pub fn new<M: MakeMutex>(size: usize) -> Arc<Self> {
            Arc::new(Self {
                sessions: Mutex::new::<M>(BoundedMap::new(size)),
            })
        }

        /// The map is consistent between calls, so a poisoned lock can be used.
        fn sessions(&self) -> Option<MutexGuard<'_, Sessions>> {
            self.sessions.lock_even_poisoned()
        }
    }

    impl StoresServerSessions for ServerSessionMemoryCache {
        fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
            match self.sessions() {
                Some(mut sessions) => {
                    sessions.insert(key, Zeroizing::new(value));
                    true
                }
                None => false,
            }
        }

        fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
            self.sessions()?.get(key).map(|value| value.to_vec())
        }

        fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
            let mut value = self.sessions()?.remove(key)?;
            Some(mem::take(&mut *value))
        }

        fn can_cache(&self) -> bool {
            true
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
    use alloc::vec;

    use super::*;

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
