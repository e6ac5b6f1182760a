//! The session stores of both endpoints, which make repeated connections behave the same.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::tls::NamedGroup;
use super::tls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use super::tls::pki_types::ServerName;
use super::tls::server::StoresServerSessions;

thread_local! {
    /// The latest sessions that clients received on this thread, by store number.
    static SESSIONS: RefCell<HashMap<usize, Sessions>> = RefCell::default();
}

#[derive(Default)]
struct Sessions {
    tls12: Option<Tls12ClientSessionValue>,
    tls13: Option<Tls13ClientSessionValue>,
}

/// A store with a client's latest session of each version. Each thread sees only its own sessions,
/// so that threads do not interfere. The store does not remember groups.
#[derive(Debug)]
pub(crate) struct ThreadSessions(usize);

/// Removes the sessions that clients received on this thread.
pub fn forget_sessions() {
    SESSIONS.take();
}

impl Default for ThreadSessions {
    fn default() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        Self(NUMBER.fetch_add(1, Ordering::Relaxed))
    }
}

impl ThreadSessions {
    fn with<T>(&self, f: impl FnOnce(&mut Sessions) -> T) -> T {
        SESSIONS.with_borrow_mut(|sessions| f(sessions.entry(self.0).or_default()))
    }
}

impl ClientSessionStore for ThreadSessions {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.with(|sessions| sessions.tls12 = Some(value));
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.with(|sessions| sessions.tls12.clone())
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.with(|sessions| sessions.tls12 = None);
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.with(|sessions| sessions.tls13 = Some(value));
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.with(|sessions| sessions.tls13.take())
    }
}

/// A server's sessions. They stay in the store when they are taken, and are never replaced.
#[derive(Debug, Default)]
pub struct FirstSessions(Mutex<HashMap<Vec<u8>, Vec<u8>>>);

impl StoresServerSessions for FirstSessions {
    fn can_cache(&self) -> bool {
        true
    }

    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.0.lock().unwrap().entry(key).or_insert(value);
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get(key).cloned()
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.get(key)
    }
}
