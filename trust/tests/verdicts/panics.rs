//! Tests that panics in an application's verifiers, clocks and storages leave shared state intact
//! for other connections.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, thread};

use harness::peers::configs::{Provider, Versions, product};
use harness::peers::pki;
use harness::peers::roles::ROLES;
use harness::verifiers::hooked::{Hook, Hooked};
use pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use rustls_trust::{CrlCache, CrlSource, RootCache, RootSource};

use crate::directory::Directory;
use crate::verdicts::caches::Caches;
use crate::verdicts::cases::named;
use crate::verdicts::ends::Setup;
use crate::verdicts::trial::{Sessions, Trial, Verifier, Who};

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

/// A panic in a verifier, its signature check or a storage only ends that connection.
#[test]
fn connections_survive_others_that_panic() {
    for (versions, side) in product(Versions::EACH, ROLES) {
        // each connection calls all of them
        let setup = Setup::new(Provider::Ring, versions, side, false);
        let caches = Caches::on();
        let case = named("good");
        let trial = Trial::new(case, &setup, Sessions::Stored, &caches);
        for place in PLACES {
            let is_armed = Arc::new(AtomicBool::new(false));
            let panicking = trial.wrapped(case, |verifier| {
                let hook = PanicsAt(place, is_armed.clone());
                match verifier {
                    Verifier::OfServers(inner) => Verifier::OfServers(Hooked::new(inner, hook)),
                    Verifier::OfClients(inner) => Verifier::OfClients(Hooked::new(inner, hook)),
                }
            });
            for _ in 0..3 {
                is_armed.store(true, Ordering::SeqCst);
                let connect = AssertUnwindSafe(|| panicking.connect(Who::Judge, &case.presented));
                assert!(catch_unwind(connect).is_err(), "{place}, {setup:?}");
                is_armed.store(false, Ordering::SeqCst);
                for trial in [&panicking, &trial] {
                    let verdict = trial.connect(Who::Judge, &case.presented);
                    verdict.assert_accepted((place, &setup));
                }
            }
        }
        caches.kept().chains.stats();
    }
}

/// The places where a verifier panics, as suffixes of method names.
const PLACES: [&str; 3] = ["supported_verify_schemes", "_cert", "_signature"];

/// A hook that panics in one place while armed.
#[derive(Debug)]
struct PanicsAt(&'static str, Arc<AtomicBool>);

impl Hook for PanicsAt {
    fn called(&self, name: &'static str) -> bool {
        let is_armed = self.1.load(Ordering::SeqCst);
        assert!(!(is_armed && name.ends_with(self.0)), "panics on purpose");
        false
    }
}
