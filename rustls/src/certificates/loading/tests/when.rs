//! When something is loaded, and when not: age, changes, failures, room.

use super::*;

#[test]
fn loads_once_until_it_is_too_old() {
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

    // another one of the same name is the same source
    assert_eq!(set.load(&TestSource::new("a")).value.1, 2);
    let expected = CacheStats {
        entries: 1,
        bytes: Some(1),
        hits: 3,
        misses: 2,
        reloads: 1,
        ..CacheStats::default()
    };
    assert_eq!(set.cache.stats(), expected);
}

#[test]
fn what_cannot_change_never_gets_too_old() {
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
fn nothing_is_kept_for_no_time() {
    let set = Set::new(|policy| policy.lifetime = Duration::ZERO);
    let source = TestSource::new("a");
    assert_eq!(set.load(&source).value.1, 1);
    assert_eq!(set.load(&source).value.1, 2);
    source.does(Fails);
    assert_eq!(*set.cache.load(&source).err().unwrap(), "load 3");
    let expected = CacheStats {
        bytes: Some(0),
        misses: 3,
        failures: 1,
        ..CacheStats::default()
    };
    assert_eq!(set.cache.stats(), expected);
}

#[test]
fn nothing_gets_too_old_in_all_time() {
    let set = Set::new(|policy| policy.lifetime = Duration::MAX);
    let source = TestSource::new("a");
    set.load(&source);
    for time in [u64::MAX, 0] {
        set.clock.set(time);
        assert_eq!(set.load(&source).value.1, 1);
    }
    set.clock.forget();
    assert_eq!(set.load(&source).value.1, 1);
    // but can be replaced
    assert_eq!(set.cache.reload(&source).unwrap().value.1, 2);
}

#[test]
fn a_clock_that_was_set_back_or_is_lost_keeps_nothing() {
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
fn a_failed_reload_keeps_the_old_and_says_so() {
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
    // not at each call, but soon
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
fn a_clock_that_was_set_back_after_a_failure_keeps_nobody_waiting() {
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
fn a_failed_first_load_is_not_kept() {
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
fn a_change_is_seen_at_once_if_asked_for() {
    for at_once in [false, true] {
        let set = Set::new(|policy| policy.check_for_changes = at_once);
        let source = TestSource::new("a");
        set.load(&source);
        assert_eq!(set.load(&source).value.1, 1);
        source.version.store(2, Ordering::SeqCst);
        let expected = if at_once { 2 } else { 1 };
        assert_eq!(set.load(&source).value.1, expected);
        assert_eq!(set.load(&source).value.1, expected);
        // it is looked at for no other reason
        assert_eq!(source.looks.load(Ordering::SeqCst) > 0, at_once);

        // what cannot be looked at is as it was
        source.version.store(UNKNOWN, Ordering::SeqCst);
        assert_eq!(set.load(&source).value.1, expected);
        set.clock.advance(LIFETIME);
        assert_eq!(set.load(&source).value.1, expected + 1);
    }
}

#[test]
fn a_version_that_may_yet_stand_for_something_else_is_not_relied_on() {
    let set = Set::new(|policy| policy.check_for_changes = true);
    let source = TestSource::new("a");
    source.version.store(UNSETTLED, Ordering::SeqCst);
    set.load(&source);
    assert_eq!(set.load(&source).value.1, 2);
}

#[test]
fn a_change_that_failed_is_tried_again_when_it_changes_or_in_a_while() {
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
fn reload_loads_in_any_case() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    set.load(&source);
    assert_eq!(set.cache.reload(&source).unwrap().value.1, 2);
    source.does(Fails);
    let kept = set.cache.reload(&source).unwrap();
    assert_eq!((kept.value.1, &**kept.failure.unwrap()), (2, "load 3"));
    // it goes on being said
    assert_eq!(*set.load(&source).failure.unwrap(), "load 3");
    source.does(Loads);
    let new = set.cache.reload(&source).unwrap();
    assert_eq!((new.value.1, new.failure), (4, None));
}

#[test]
fn a_source_may_return_what_is_held() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    let old = set.load(&source);
    source.does(Returns);
    set.clock.advance(LIFETIME);
    let same = set.load(&source);
    assert!(Arc::ptr_eq(&old.value, &same.value));
    // and it is young again
    assert_ne!(old.loaded_at, same.loaded_at);
    set.clock.advance(LIFETIME - 1);
    set.load(&source);
    assert_eq!(source.loads(), 2);
}

#[test]
fn the_one_used_least_recently_makes_room() {
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
fn without_room_all_is_handed_out_and_nothing_kept() {
    let set = Set::new(|policy| policy.capacity = 0);
    let source = TestSource::new("a");
    assert_eq!(set.load(&source).value.1, 1);
    assert_eq!(set.load(&source).value.1, 2);
    assert_eq!(set.map_len(), 0);
}

#[test]
fn what_is_forgotten_is_loaded_again() {
    let set = Set::new(|_| ());
    let [a, b] = ["a", "b"].map(TestSource::new);
    let load_both = || (set.load(&a).value.1, set.load(&b).value.1);
    assert_eq!(load_both(), (1, 1));
    set.cache.invalidate(&a);
    assert_eq!(load_both(), (2, 1));
    set.cache.clear();
    assert_eq!(set.cache.stats().entries, 0);
    assert_eq!(load_both(), (3, 2));

    // there is nothing old to keep
    set.cache.invalidate(&a);
    a.does(Fails);
    assert!(set.cache.load(&a).is_err());
}
