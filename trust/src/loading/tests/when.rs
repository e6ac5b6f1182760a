//! The reasons to load again: age, changes, failures, eviction.

use super::*;

#[test]
fn a_source_is_loaded_once_until_it_is_stale() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    let first = set.load(&source);
    assert_eq!(
        (first.value.1, first.loaded_at),
        (
            1,
            Some(UnixTime::since_unix_epoch(Duration::from_secs(START)))
        )
    );

    set.clock.advance(LIFETIME - 1);
    assert!(Arc::ptr_eq(&set.load(&source).value, &first.value));
    set.clock.advance(1);
    assert_eq!(set.load(&source).value.1, 2);
    assert_eq!(set.load(&source).value.1, 2);

    // a source of the same name is the same source
    assert_eq!(set.load(&TestSource::new("a")).value.1, 2);
    let mut expected = CacheStats::default();
    expected.entries = 1;
    expected.bytes = Some(1);
    expected.hits = 3;
    expected.misses = 2;
    expected.reloads = 1;
    assert_eq!(set.cache.stats(), expected);
}

#[test]
fn immutable_sources_never_become_stale() {
    let set = Set::new(|_| ());
    let source = TestSource {
        can_change: false,
        ..TestSource::new("a")
    };
    set.load(&source);
    set.clock.advance(100 * LIFETIME);
    assert_eq!(set.load(&source).value.1, 1);
}

#[test]
fn a_zero_lifetime_disables_the_cache() {
    let set = Set::new(|policy| policy.lifetime = Duration::ZERO);
    let source = TestSource::new("a");
    assert_eq!(set.load(&source).value.1, 1);
    assert_eq!(set.load(&source).value.1, 2);
    source.does(Fails);
    assert_eq!(*set.cache.load(&source).err().unwrap(), "load 3");
    let mut expected = CacheStats::default();
    expected.bytes = Some(0);
    expected.misses = 3;
    expected.failures = 1;
    assert_eq!(set.cache.stats(), expected);
}

#[test]
fn the_maximum_lifetime_never_expires() {
    let set = Set::new(|policy| policy.lifetime = Duration::MAX);
    let source = TestSource::new("a");
    set.load(&source);
    for time in [u64::MAX, 0] {
        set.clock.set(time);
        assert_eq!(set.load(&source).value.1, 1);
    }
    set.clock.forget();
    assert_eq!(set.load(&source).value.1, 1);
    // but it can be reloaded
    assert_eq!(set.cache.reload(&source).unwrap().value.1, 2);
}

#[test]
fn values_without_a_usable_clock_are_stale() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    set.load(&source);
    set.clock.set(START - 1);
    assert_eq!(set.load(&source).value.1, 2);
    assert_eq!(set.load(&source).value.1, 2);

    set.clock.forget();
    assert_eq!(set.load(&source).value.1, 3);
    let lost = set.load(&source);
    assert_eq!((lost.value.1, lost.loaded_at), (4, None));
    set.clock.set(START);
    assert_eq!(set.load(&source).value.1, 5);
}

#[test]
fn a_failed_reload_keeps_the_old_value_and_reports_it() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    let old = set.load(&source);
    assert!(old.failure.is_none());
    source.does(Fails);

    set.clock.advance(LIFETIME);
    for _ in 0..3 {
        let kept = set.load(&source);
        assert!(Arc::ptr_eq(&kept.value, &old.value));
        assert_eq!(kept.loaded_at, old.loaded_at);
        assert_eq!(*kept.failure.unwrap(), "load 2");
    }
    // not in each call, but after the retry interval
    set.clock.advance(RETRY - 1);
    assert_eq!(*set.load(&source).failure.unwrap(), "load 2");
    set.clock.advance(1);
    assert_eq!(*set.load(&source).failure.unwrap(), "load 3");

    source.does(Loads);
    set.clock.advance(RETRY);
    let new = set.load(&source);
    assert_eq!((new.value.1, new.failure), (4, None));
    let stats = set.cache.stats();
    assert_eq!((stats.failures, stats.reloads, stats.misses), (2, 1, 4));
}

#[test]
fn a_clock_set_back_after_a_failure_does_not_delay_the_retry() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    set.load(&source);
    source.does(Fails);
    set.clock.advance(LIFETIME);
    set.load(&source);
    source.does(Loads);
    set.clock.set(START - 1);
    assert_eq!(set.load(&source).value.1, 3);
}

#[test]
fn a_failed_first_load_is_not_cached() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    source.does(Fails);
    assert_eq!(*set.cache.load(&source).err().unwrap(), "load 1");
    assert_eq!(*set.cache.load(&source).err().unwrap(), "load 2");
    assert_eq!(set.map_len(), 0);
    source.does(Loads);
    assert_eq!(set.load(&source).value.1, 3);
}

#[test]
fn change_detection_is_optional() {
    for detects_changes in [false, true] {
        let set = Set::new(|policy| policy.check_for_changes = detects_changes);
        let source = TestSource::new("a");
        set.load(&source);
        assert_eq!(set.load(&source).value.1, 1);
        source.version.store(2, Ordering::SeqCst);
        let expected = if detects_changes { 2 } else { 1 };
        assert_eq!(set.load(&source).value.1, expected);
        assert_eq!(set.load(&source).value.1, expected);
        // the version is not read for any other reason
        assert_eq!(source.looks.load(Ordering::SeqCst) > 0, detects_changes);

        // an unknown version counts as unchanged
        source.version.store(UNKNOWN, Ordering::SeqCst);
        assert_eq!(set.load(&source).value.1, expected);
        set.clock.advance(LIFETIME);
        assert_eq!(set.load(&source).value.1, expected + 1);
    }
}

#[test]
fn a_version_that_may_still_change_is_not_trusted() {
    let set = Set::new(|policy| policy.check_for_changes = true);
    let source = TestSource::new("a");
    source.version.store(UNSETTLED, Ordering::SeqCst);
    set.load(&source);
    assert_eq!(set.load(&source).value.1, 2);
}

#[test]
fn a_failed_reload_is_retried_after_a_change_or_the_retry_interval() {
    let set = Set::new(|policy| policy.check_for_changes = true);
    let source = TestSource::new("a");
    set.load(&source);
    source.does(Fails);
    source.version.store(2, Ordering::SeqCst);
    for _ in 0..3 {
        let kept = set.load(&source);
        assert_eq!((kept.value.1, &**kept.failure.unwrap()), (1, "load 2"));
    }
    source.version.store(3, Ordering::SeqCst);
    assert_eq!(*set.load(&source).failure.unwrap(), "load 3");
    set.clock.advance(RETRY);
    assert_eq!(*set.load(&source).failure.unwrap(), "load 4");
    source.does(Loads);
    source.version.store(4, Ordering::SeqCst);
    let new = set.load(&source);
    assert_eq!((new.value.1, new.failure), (5, None));
}

#[test]
fn a_reload_ignores_the_cache() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    set.load(&source);
    assert_eq!(set.cache.reload(&source).unwrap().value.1, 2);
    source.does(Fails);
    let kept = set.cache.reload(&source).unwrap();
    assert_eq!((kept.value.1, &**kept.failure.unwrap()), (2, "load 3"));
    // later calls still report it
    assert_eq!(*set.load(&source).failure.unwrap(), "load 3");
    source.does(Loads);
    let new = set.cache.reload(&source).unwrap();
    assert_eq!((new.value.1, new.failure), (4, None));
}

#[test]
fn a_source_may_return_the_previous_value() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    let old = set.load(&source);
    source.does(Returns);
    set.clock.advance(LIFETIME);
    let same = set.load(&source);
    assert!(Arc::ptr_eq(&old.value, &same.value));
    // and its lifetime starts again
    assert_ne!(old.loaded_at, same.loaded_at);
    set.clock.advance(LIFETIME - 1);
    set.load(&source);
    assert_eq!(source.loads(), 2);
}

#[test]
fn the_least_recently_used_source_is_evicted() {
    let set = Set::new(|policy| policy.capacity = 2);
    let [a, b, c] = ["a", "bb", "ccc"].map(TestSource::new);
    set.load(&a);
    set.load(&b);
    set.load(&a);
    set.load(&c);
    let stats = set.cache.stats();
    assert_eq!(
        (stats.entries, stats.bytes, stats.evictions),
        (2, Some(4), 1)
    );
    assert_eq!(set.load(&a).value.1, 1);
    assert_eq!(set.load(&c).value.1, 1);
    assert_eq!(set.load(&b).value.1, 2);
    assert_eq!(set.map_len(), 2);
}

#[test]
fn a_cache_of_capacity_zero_loads_but_does_not_store() {
    let set = Set::new(|policy| policy.capacity = 0);
    let source = TestSource::new("a");
    assert_eq!(set.load(&source).value.1, 1);
    assert_eq!(set.load(&source).value.1, 2);
    assert_eq!(set.map_len(), 0);
}

#[test]
fn invalidated_sources_are_loaded_again() {
    let set = Set::new(|_| ());
    let [a, b] = ["a", "b"].map(TestSource::new);
    let load_both = || (set.load(&a).value.1, set.load(&b).value.1);
    assert_eq!(load_both(), (1, 1));
    set.cache.invalidate(&a);
    assert_eq!(load_both(), (2, 1));
    set.cache.clear();
    assert_eq!(set.cache.stats().entries, 0);
    assert_eq!(load_both(), (3, 2));

    // there is no old value to keep
    set.cache.invalidate(&a);
    a.does(Fails);
    assert!(set.cache.load(&a).is_err());
}
