//! The order of reloads, their status, and panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::thread;

use pki_types::UnixTime;
use rustls::time_provider::DefaultTimeProvider;

use super::*;

/// A version. Even numbers are settled.
#[derive(Clone, Debug, PartialEq)]
struct Number(u32);

impl Version for Number {
    fn is_settled(&self) -> bool {
        self.0 % 2 == 0
    }
}

fn slot() -> Slot<str, Number> {
    let clock = Arc::new(DefaultTimeProvider);
    Slot::new(
        "this".to_string(),
        clock,
        Arc::from("first"),
        Vec::new(),
        Number(0),
    )
}

fn good(value: &str) -> Replacement<str> {
    Replacement::new(Arc::from(value), None)
}

/// The earlier reload saw older files, so its result or failure is discarded, although it ends
/// later.
#[test]
fn an_overtaken_reload_is_discarded() {
    for fails in [false, true] {
        let slot = slot();
        let reload = slot.reload(
            || Number(2),
            |held| {
                let later = slot.reload(|| Number(4), |_| good("later"));
                assert_eq!(later.unwrap(), Reload::Replaced);
                if fails {
                    Replacement::failed(held, ReloadError::Nothing)
                } else {
                    good("earlier")
                }
            },
        );
        assert_eq!(reload.ok(), (!fails).then_some(Reload::Overtaken));
        assert_eq!(&*slot.current(), "later");
        let status = slot.status();
        assert_eq!((status.reloads, status.failures), (1, fails.into()));
        assert!(status.failing.is_none());
        // the recorded version is that of the later reload
        let unread = |_: &Arc<str>| panic!("read again");
        let known = slot.reload_if_changed(|| Number(4), unread);
        assert_eq!(known.unwrap(), Reload::Unchanged);
    }
}

/// A failed reload keeps the value that is current at its end: another reload may have replaced it
/// in the meantime.
#[test]
fn a_failed_reload_does_not_restore_a_replaced_value() {
    for fails_in_part in [false, true] {
        let slot = slot();
        let [began, both_began, one_is_done] = [2; 3].map(Barrier::new);
        thread::scope(|scope| {
            scope.spawn(|| {
                let version = || {
                    // it has its ticket now
                    began.wait();
                    Number(2)
                };
                let reload = slot.reload(version, |_| {
                    // the later reload has read the current value
                    both_began.wait();
                    good("second")
                });
                assert_eq!(reload.unwrap(), Reload::Replaced);
                one_is_done.wait();
            });
            began.wait();
            let mut seen = Vec::new();
            let outcome = slot.reload(
                || Number(4),
                |held| {
                    if seen.is_empty() {
                        both_began.wait();
                        one_is_done.wait();
                    }
                    seen.push(held.clone());
                    let kept = match fails_in_part {
                        true => Arc::from(format!("new, and kept of the {held}")),
                        false => held.clone(),
                    };
                    Replacement::new(kept, Some(ReloadError::Nothing))
                },
            );
            assert!(outcome.is_err());
            assert_eq!(seen, [Arc::from("first"), Arc::from("second")]);
        });
        let expected = match fails_in_part {
            true => "new, and kept of the second",
            false => "second",
        };
        assert_eq!(&*slot.current(), expected);
        let status = slot.status();
        assert_eq!(status.reloads, 1 + u64::from(fails_in_part));
        assert_eq!(status.failures, 1);
        assert!(status.failing.is_some());
    }
}

/// A later reload may find the original value again, which then becomes current.
#[test]
fn a_later_reload_may_restore_an_old_value() {
    let slot = slot();
    let first = slot.current();
    slot.reload(
        || Number(2),
        |held| {
            slot.reload(|| Number(4), |_| good("other")).unwrap();
            // the outer reload began first; this one begins later and finds the first value again
            let back = slot.reload(|| Number(6), |_| Replacement::new(held.clone(), None));
            assert_eq!(back.unwrap(), Reload::Replaced);
            good("earlier")
        },
    )
    .unwrap();
    assert!(Arc::ptr_eq(&first, &slot.current()));
}

/// The version is read before the load, so that changes during the load are seen. Unsettled
/// versions and failures are read again.
#[test]
fn recently_changed_and_failed_versions_are_read_again() {
    let slot = slot();
    let check = |version: u32, load: fn(&Arc<str>) -> Replacement<str>| {
        let mut was_read = false;
        let outcome = slot.reload_if_changed(
            || Number(version),
            |held| {
                was_read = true;
                load(held)
            },
        );
        (was_read, outcome.map_err(drop))
    };
    let same: fn(&Arc<str>) -> Replacement<str> = |held| Replacement::new(held.clone(), None);
    let bad: fn(&Arc<str>) -> Replacement<str> =
        |held| Replacement::failed(held, ReloadError::Nothing);
    assert_eq!(check(0, same), (false, Ok(Reload::Unchanged)));
    assert_eq!(check(1, |_| good("next")), (true, Ok(Reload::Replaced)));
    assert_eq!(check(1, same), (true, Ok(Reload::Unchanged)));
    assert_eq!(check(2, bad), (true, Err(())));
    assert_eq!(check(2, bad), (true, Err(())));
    assert_eq!(slot.status().failing.unwrap().attempts, 2);
    assert_eq!(check(2, same), (true, Ok(Reload::Unchanged)));
    assert!(slot.status().failing.is_none());
    assert_eq!(check(2, bad), (false, Ok(Reload::Unchanged)));
    let status = slot.status();
    assert_eq!(
        (status.reloads, status.unchanged, status.failures),
        (1, 2, 2)
    );
}

/// A partial result becomes current, and the problem is reported.
#[test]
fn a_problem_does_not_prevent_partial_replacement() {
    let slot = slot();
    let outcome = slot.reload(
        || Number(2),
        |_| Replacement::new(Arc::from("in part"), Some(ReloadError::Nothing)),
    );
    assert!(matches!(*outcome.unwrap_err(), ReloadError::Nothing));
    assert_eq!(&*slot.current(), "in part");
    let status = slot.status();
    assert_eq!((status.reloads, status.failures), (1, 1));
    assert!(status.failing.is_some());
}

#[test]
fn locks_recover_from_panics() {
    let slot = slot();
    let panics = |f: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
    panics(&|| drop(slot.reload(|| Number(2), |_| panic!("while loading"))));
    panics(&|| {
        let _journal = slot.journal.lock();
        let _current = slot.current.write();
        panic!("while both are locked")
    });
    assert!(slot.current.is_poisoned() && slot.journal.is_poisoned());
    assert_eq!(&*slot.current(), "first");
    assert_eq!(
        slot.reload(|| Number(4), |_| good("next")).unwrap(),
        Reload::Replaced
    );
    assert_eq!(&*slot.current(), "next");
    assert_eq!(slot.status().reloads, 1);
}

/// No lock is held during a load.
#[test]
fn nothing_is_locked_during_a_load() {
    let slot = slot();
    let (loading, seen) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            slot.reload(
                || Number(2),
                |_| {
                    loading.wait();
                    seen.wait();
                    good("next")
                },
            )
        });
        loading.wait();
        assert_eq!(&*slot.current(), "first");
        assert_eq!(slot.status().reloads, 0);
        seen.wait();
    });
    assert_eq!(&*slot.current(), "next");
}

/// An unknown time does not prevent a reload.
#[test]
fn reloads_work_without_a_clock() {
    #[derive(Debug)]
    struct NoClock;
    impl TimeProvider for NoClock {
        fn current_time(&self) -> Option<UnixTime> {
            None
        }
    }
    let slot: Slot<str, Number> = Slot::new(
        "this".to_string(),
        Arc::new(NoClock),
        Arc::from("first"),
        Vec::new(),
        Number(0),
    );
    slot.reload(|| Number(2), |_| good("next")).unwrap();
    assert_eq!(&*slot.current(), "next");
    assert!(slot.status().in_force_since.is_none());
}
