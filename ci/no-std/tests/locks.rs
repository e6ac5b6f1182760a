//! Tests of everything that needs a lock, with the application's locks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use no_std::{Broken, Locks};
use rustls::client::{ClientSessionMemoryCache, ClientSessionStore};
use rustls::crypto::GetRandomFailed;
use rustls::lock::Mutex;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::server::{ProducesTickets, ServerSessionMemoryCache, StoresServerSessions};
use rustls::ticketer::TicketSwitcher;
use rustls::time_provider::TimeProvider;
use rustls::{Error, NamedGroup};

#[test]
fn a_mutex_guards_its_data() {
    let mutex = Mutex::new::<Locks>(1);
    {
        let mut guard = mutex.lock().unwrap();
        **guard += 1;
    }
    assert_eq!(**mutex.lock().unwrap(), 2);
    assert!(Mutex::new::<Broken>(1).lock().is_none());
}

#[test]
fn a_server_stores_sessions() {
    let cache = ServerSessionMemoryCache::new::<Locks>(2);
    assert!(cache.can_cache());
    for key in [1, 2, 3] {
        assert!(cache.put(vec![key], vec![key, key]));
    }
    assert_eq!(cache.get(&[1]), None, "the oldest was evicted");
    assert_eq!(cache.get(&[2]), Some(vec![2, 2]));
    assert_eq!(cache.take(&[2]), Some(vec![2, 2]));
    assert_eq!(cache.take(&[2]), None);

    let broken = ServerSessionMemoryCache::new::<Broken>(2);
    assert!(!broken.put(vec![1], vec![1]));
    assert_eq!((broken.get(&[1]), broken.take(&[1])), (None, None));
}

#[test]
fn a_client_remembers_servers() {
    let name = || ServerName::try_from("localhost").unwrap();
    let cache = ClientSessionMemoryCache::new::<Locks>(8);
    cache.set_kx_hint(name(), NamedGroup::X25519);
    assert_eq!(cache.kx_hint(&name()), Some(NamedGroup::X25519));

    let broken = ClientSessionMemoryCache::new::<Broken>(8);
    broken.set_kx_hint(name(), NamedGroup::X25519);
    broken.remove_tls12_session(&name());
    assert_eq!(broken.kx_hint(&name()), None);
    assert!(broken.take_tls13_ticket(&name()).is_none());
    assert!(broken.tls12_session(&name()).is_none());
}

/// The n-th key creates tickets of the form n ‖ plaintext.
#[derive(Debug)]
struct Numbered(u8);

impl ProducesTickets for Numbered {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        Some([&[self.0], plain].concat())
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let (number, plain) = cipher.split_first()?;
        (*number == self.0).then(|| plain.to_vec())
    }
}

/// A clock that a test sets. At zero it has no time.
#[derive(Debug)]
struct SetClock(AtomicU64);

impl TimeProvider for SetClock {
    fn current_time(&self) -> Option<UnixTime> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            secs => Some(UnixTime::since_unix_epoch(Duration::from_secs(secs))),
        }
    }
}

#[test]
fn ticket_keys_rotate_by_the_clock() {
    static CLOCK: SetClock = SetClock(AtomicU64::new(0));
    static MADE: AtomicU64 = AtomicU64::new(0);
    let generator: fn() -> Result<Box<dyn ProducesTickets>, GetRandomFailed> = || {
        Ok(Box::new(Numbered(
            1 + MADE.fetch_add(1, Ordering::Relaxed) as u8,
        )))
    };

    let lost = TicketSwitcher::new::<Locks>(10, generator, &CLOCK);
    assert_eq!(lost.err(), Some(Error::FailedToGetCurrentTime));
    CLOCK.0.store(1000, Ordering::Relaxed);
    let broken = TicketSwitcher::new::<Broken>(10, generator, &CLOCK);
    assert_eq!(broken.err(), Some(Error::FailedToGetRandomBytes));

    let switcher = TicketSwitcher::new::<Locks>(10, generator, &CLOCK).unwrap();
    assert!(switcher.enabled());
    assert_eq!(switcher.lifetime(), 20);
    assert_eq!(switcher.encrypt(b"a").unwrap(), b"\x01a");
    CLOCK.0.store(1011, Ordering::Relaxed);
    assert_eq!(switcher.encrypt(b"b").unwrap(), b"\x02b");
    assert_eq!(switcher.decrypt(b"\x01a").unwrap(), b"a");
    CLOCK.0.store(1022, Ordering::Relaxed);
    assert_eq!(switcher.decrypt(b"\x01a"), None);
    CLOCK.0.store(0, Ordering::Relaxed);
    assert_eq!(switcher.encrypt(b"b"), None);
}
