//! Tests that panics of an application's clock leave caches intact for other threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, thread};

use harness::peers::pki;
use pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use rustls_trust::{CrlCache, CrlSource, RootCache, RootSource};

use crate::directory::Directory;

/// A clock that panics at one of its calls.
#[derive(Debug, Default)]
struct PanickingClock {
    calls: AtomicUsize,
    panics_at: AtomicUsize,
}

impl TimeProvider for PanickingClock {
    fn current_time(&self) -> Option<UnixTime> {
        let calls = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        assert_ne!(
            calls,
            self.panics_at.load(Ordering::SeqCst),
            "panics on purpose"
        );
        Some(pki::now())
    }
}

/// Loads through one cache on several threads, with a clock that panics at one call, for each call.
fn assert_loads_go_on(load: &(dyn Fn() -> usize + Sync), clock: &PanickingClock) {
    let expected = load();
    for panics_at in 1..6 {
        clock.calls.store(0, Ordering::SeqCst);
        clock.panics_at.store(panics_at, Ordering::SeqCst);
        let panicked = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..4 {
                        match catch_unwind(AssertUnwindSafe(load)) {
                            Ok(count) => assert_eq!(count, expected),
                            Err(_) => {
                                panicked.fetch_add(1, Ordering::SeqCst);
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(panicked.into_inner(), 1);
    }
    clock.panics_at.store(0, Ordering::SeqCst);
    assert_eq!(load(), expected);
}

#[test]
fn caches_survive_clocks_that_panic() {
    let root = pki::root("Root", |_| ());
    let directory = Directory::new();
    let path = directory.write("roots", root.pem());
    macro_rules! assert_survives {
        ($cache:ident, $load:ident, $source:expr) => {
            for lifetime in [Duration::from_secs(60), Duration::MAX, Duration::ZERO] {
                let clock = Arc::new(PanickingClock::default());
                let cache = $cache::new()
                    .with_lifetime(lifetime)
                    .with_change_detection(true)
                    .with_time_provider(clock.clone());
                assert_loads_go_on(&|| cache.$load(&$source).unwrap().len(), &clock);
                cache.stats();
            }
        };
    }
    assert_survives!(RootCache, store, RootSource::PemFile(path.clone()));
    fs::write(&path, pki::crl(&root, &[1], |_| ())).unwrap();
    assert_survives!(CrlCache, lists, CrlSource::File(path.clone()));
}
