//! Concurrent loads, and failures, panics and invalidation during them.

use super::*;

const THREADS: usize = 16;

#[test]
fn loads_that_were_invalidated_are_not_cached() {
    for ending in [Loads, Fails] {
        let set = Set::new(|_| ());
        let source = TestSource::new("a");
        set.load(&source);
        set.clock.advance(LIFETIME);
        thread::scope(|scope| {
            let (loading, go_on) = source.waits_and(ending);
            let thread = scope.spawn(|| set.cache.load(&source).map(|loaded| loaded.value.1));
            loading.recv().unwrap();
            set.cache.invalidate(&source);
            go_on.send(()).unwrap();
            let expected = match ending {
                Fails => Err(Arc::new(String::from("load 2"))),
                _ => Ok(2),
            };
            assert_eq!(thread.join().unwrap(), expected);
        });
        assert_eq!(set.map_len(), 0);
        source.does(Loads);
        assert_eq!(set.load(&source).value.1, 3);
    }
}

#[test]
fn an_invalidated_load_does_not_affect_the_next_one() {
    for ending in [Loads, Fails, Panics] {
        let set = Set::new(|_| ());
        let source = TestSource::new("a");
        let load = || catch_unwind(AssertUnwindSafe(|| set.cache.load(&source)));
        thread::scope(|scope| {
            let (loading, first_goes_on) = source.waits_and(ending);
            let first = scope.spawn(load);
            loading.recv().unwrap();
            set.cache.invalidate(&source);
            let (loading, second_goes_on) = source.waits_and(Loads);
            let second = scope.spawn(load);
            loading.recv().unwrap();

            first_goes_on.send(()).unwrap();
            let _ = first.join().unwrap();
            assert_eq!(set.cache.stats().entries, 0);
            assert_eq!(set.map_len(), 1, "the second load is in progress");
            second_goes_on.send(()).unwrap();
            assert_eq!(second.join().unwrap().unwrap().unwrap().value.1, 2);
        });
        assert_eq!(set.load(&source).value.1, 2);
    }
}

#[test]
fn many_threads_load_one_source_once() {
    for check_for_changes in [false, true] {
        for ending in [Loads, Fails] {
            let set = Set::new(|policy| policy.check_for_changes = check_for_changes);
            let source = TestSource::new("a");
            let all_start = Barrier::new(THREADS + 1);
            let load = || set.cache.load(&source).map(|loaded| loaded.value);
            let outcomes = thread::scope(|scope| {
                let (loading, go_on) = source.waits_and(ending);
                let first = scope.spawn(load);
                loading.recv().unwrap();

                let others: Vec<_> = (0..THREADS)
                    .map(|_| {
                        scope.spawn(|| {
                            all_start.wait();
                            load()
                        })
                    })
                    .collect();
                all_start.wait();
                set.wait_until_looked_up(1 + THREADS as u64);
                go_on.send(()).unwrap();
                others
                    .into_iter()
                    .chain([first])
                    .map(|thread| thread.join().unwrap())
                    .collect::<Vec<_>>()
            });

            assert_eq!(source.loads(), 1);
            for outcome in &outcomes {
                match (outcome, &outcomes[0]) {
                    (Ok(value), Ok(other)) => assert!(Arc::ptr_eq(value, other)),
                    (Err(error), Err(other)) => assert!(Arc::ptr_eq(error, other)),
                    _ => panic!("some failed"),
                }
            }
            assert_eq!(outcomes[0].is_err(), ending == Fails);
        }
    }
}

#[test]
fn waiting_threads_notice_changes() {
    let set = Set::new(|policy| policy.check_for_changes = true);
    let source = TestSource::new("a");
    thread::scope(|scope| {
        let (loading, go_on) = source.waits_and(Loads);
        let first = scope.spawn(|| set.load(&source).value.1);
        loading.recv().unwrap();
        // the first load may have read the old content
        source.version.store(2, Ordering::SeqCst);
        let second = scope.spawn(|| set.load(&source).value.1);
        set.wait_until_looked_up(2);
        go_on.send(()).unwrap();
        assert_eq!(first.join().unwrap(), 1);
        assert_eq!(second.join().unwrap(), 2);
    });
}

#[test]
fn a_reload_begins_after_its_call() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    thread::scope(|scope| {
        let (loading, go_on) = source.waits_and(Loads);
        let first = scope.spawn(|| set.load(&source).value.1);
        loading.recv().unwrap();
        let second = scope.spawn(|| set.cache.reload(&source).unwrap().value.1);
        set.wait_until_looked_up(2);
        go_on.send(()).unwrap();
        assert_eq!(first.join().unwrap(), 1);
        assert_eq!(second.join().unwrap(), 2);
    });
}

/// Reloads that are requested during a load need another load, but share one.
#[test]
fn reloads_during_a_load_share_the_next_one() {
    for is_held in [false, true] {
        for ending in [Loads, Fails] {
            let set = Set::new(|_| ());
            let source = TestSource::new("a");
            if is_held {
                set.load(&source);
            }
            let loads_before = source.loads();
            let uses_before = set.cache.lock().uses;
            source.does(ending);
            let reload = || match set.cache.reload(&source) {
                Ok(loaded) => loaded.failure.map_or(Ok(loaded.value.1), Err),
                Err(error) => Err(error),
            };
            let outcomes = thread::scope(|scope| {
                let (loading, go_on) = source.waits_and(ending);
                let first = scope.spawn(reload);
                loading.recv().unwrap();
                let others = [(); THREADS].map(|()| scope.spawn(reload));
                set.wait_until_looked_up(uses_before + 1 + THREADS as u64);
                go_on.send(()).unwrap();
                first.join().unwrap().ok();
                others.map(|thread| thread.join().unwrap())
            });

            assert_eq!(source.loads() - loads_before, 2);
            let number = loads_before + 2;
            let expected = match ending {
                Fails => Err(Arc::new(format!("load {number}"))),
                _ => Ok(number),
            };
            assert!(outcomes.iter().all(|outcome| *outcome == expected));
        }
    }
}

#[test]
fn another_thread_takes_over_a_shared_reload_that_panics_or_is_invalidated() {
    for forgets in [false, true] {
        let set = Set::new(|_| ());
        let source = TestSource::new("a");
        let reload = || catch_unwind(AssertUnwindSafe(|| set.cache.reload(&source)));
        thread::scope(|scope| {
            let (loading, go_on) = source.waits_and(Loads);
            let first = scope.spawn(reload);
            loading.recv().unwrap();
            let (second_loading, second_goes_on) = source.waits_and(Panics);
            let others = [(); 4].map(|()| scope.spawn(reload));
            set.wait_until_looked_up(5);
            go_on.send(()).unwrap();
            second_loading.recv().unwrap();
            if forgets {
                set.cache.invalidate(&source);
            }
            second_goes_on.send(()).unwrap();
            first.join().unwrap().unwrap().unwrap();
            let outcomes = others.map(|thread| thread.join().unwrap());
            let panicked = outcomes.iter().filter(|outcome| outcome.is_err());
            assert_eq!(panicked.count(), 1);
            for outcome in outcomes.into_iter().flatten() {
                assert!(outcome.unwrap().value.1 > 2);
            }
        });
        assert!(set.cache.lock().entries[&source].flight.is_none());
    }
}

#[test]
fn loads_are_logged_after_they_end() {
    let cache = Arc::new(LoadingCache::new(Policy::default()));
    let source = TestSource::new("a");
    let logged = Arc::new(Mutex::new(Vec::new()));
    let at_log = {
        let (cache, logged) = (Arc::downgrade(&cache), logged.clone());
        move |kept| {
            let cache: Arc<LoadingCache<TestSource>> = cache.upgrade().unwrap();
            let mut map = cache.map.try_lock().unwrap();
            let is_under_way = |entry: &mut Entry<_>| entry.flight.is_some();
            let waits = map.entries.values_mut().any(is_under_way);
            logged.lock().unwrap().push((kept, waits));
        }
    };
    *source.at_log.lock().unwrap() = Some(Box::new(at_log));

    cache.load(&source).ok().unwrap();
    source.does(Fails);
    cache.reload(&source).ok().unwrap();
    cache.clear();
    assert!(cache.load(&source).is_err());
    let expected = [(true, false), (true, false), (false, false)];
    assert_eq!(*logged.lock().unwrap(), expected);
}

#[test]
fn other_sources_are_not_delayed() {
    let set = Set::new(|policy| policy.capacity = 1);
    let [slow, quick] = ["slow", "quick"].map(TestSource::new);
    thread::scope(|scope| {
        let (loading, go_on) = slow.waits_and(Loads);
        let thread = scope.spawn(|| set.load(&slow).value.1);
        loading.recv().unwrap();

        // all of these take the lock of the map
        assert_eq!(set.load(&quick).value.1, 1);
        assert_eq!(
            set.load(&quick).value.1,
            2,
            "the other source is about to take the only entry"
        );
        set.cache.stats();
        set.cache.invalidate(&quick);
        go_on.send(()).unwrap();
        assert_eq!(thread.join().unwrap(), 1);
    });
    assert_eq!(set.load(&slow).value.1, 1);
    assert_eq!(set.map_len(), 1);
}

#[test]
fn another_thread_loads_after_a_panic() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    let load = || catch_unwind(AssertUnwindSafe(|| set.load(&source).value.1));
    thread::scope(|scope| {
        let (loading, go_on) = source.waits_and(Panics);
        let first = scope.spawn(load);
        loading.recv().unwrap();
        let others = [(); 4].map(|()| scope.spawn(load));
        set.wait_until_looked_up(5);
        source.does(Loads);
        go_on.send(()).unwrap();

        assert!(first.join().unwrap().is_err());
        for other in others {
            assert_eq!(other.join().unwrap().unwrap(), 2);
        }
    });
    assert_eq!(set.cache.stats().failures, 1);

    // the old value stays
    source.does(Panics);
    set.clock.advance(LIFETIME);
    assert!(catch_unwind(AssertUnwindSafe(|| set.load(&source))).is_err());
    source.does(Fails);
    assert_eq!(set.load(&source).value.1, 2);
    assert_eq!(source.loads(), 4);
}

#[test]
fn a_first_load_that_panics_leaves_no_entry() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    source.does(Panics);
    assert!(catch_unwind(AssertUnwindSafe(|| set.load(&source))).is_err());
    assert_eq!(set.map_len(), 0);
}

#[test]
fn a_poisoned_lock_is_recovered() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    set.load(&source);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _guard = set.cache.map.lock();
        panic!("expected panic under the lock");
    }));
    assert!(panicked.is_err() && set.cache.map.is_poisoned());
    assert_eq!(set.load(&source).value.1, 1);
    set.clock.advance(LIFETIME);
    assert_eq!(set.load(&source).value.1, 2);
}
