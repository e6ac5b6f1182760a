//! What is loaded, when and by whom, over a source that does as it is told.

use alloc::string::String;
use alloc::sync::Arc;
use core::hash::{Hash, Hasher};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Barrier, Mutex, mpsc};
use std::thread;
use std::vec::Vec;

use pki_types::UnixTime;
use rustls_core::time_provider::TimeProvider;

use super::{Entry, Loaded, LoadingCache, Policy, Source, Version};
use crate::certificates::CacheStats;

const LIFETIME: u64 = 1000;
const RETRY: u64 = 10;

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

#[test]
fn what_is_forgotten_while_it_is_loaded_is_not_kept() {
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
fn a_forgotten_load_leaves_the_next_one_alone() {
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
            assert_eq!(set.map_len(), 1, "the second is under way");
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
fn those_who_wait_do_not_miss_a_change() {
    let set = Set::new(|policy| policy.check_for_changes = true);
    let source = TestSource::new("a");
    thread::scope(|scope| {
        let (loading, go_on) = source.waits_and(Loads);
        let first = scope.spawn(|| set.load(&source).value.1);
        loading.recv().unwrap();
        // the first may have read the old
        source.version.store(2, Ordering::SeqCst);
        let second = scope.spawn(|| set.load(&source).value.1);
        set.wait_until_looked_up(2);
        go_on.send(()).unwrap();
        assert_eq!(first.join().unwrap(), 1);
        assert_eq!(second.join().unwrap(), 2);
    });
}

#[test]
fn a_reload_begins_when_it_is_called() {
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

#[test]
fn the_log_is_told_when_the_load_is_over() {
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
    *source.at_log.lock().unwrap() = Some(alloc::boxed::Box::new(at_log));

    cache.load(&source).ok().unwrap();
    source.does(Fails);
    cache.reload(&source).ok().unwrap();
    cache.clear();
    assert!(cache.load(&source).is_err());
    let expected = [(true, false), (true, false), (false, false)];
    assert_eq!(*logged.lock().unwrap(), expected);
}

#[test]
fn other_sources_are_not_held_up() {
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
            "the other is about to have the only place"
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
fn after_a_panic_another_one_loads() {
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

    // what was held goes on being held
    source.does(Panics);
    set.clock.advance(LIFETIME);
    assert!(catch_unwind(AssertUnwindSafe(|| set.load(&source))).is_err());
    source.does(Fails);
    assert_eq!(set.load(&source).value.1, 2);
    assert_eq!(source.loads(), 4);
}

#[test]
fn a_first_load_that_panics_leaves_nothing() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    source.does(Panics);
    assert!(catch_unwind(AssertUnwindSafe(|| set.load(&source))).is_err());
    assert_eq!(set.map_len(), 0);
}

#[test]
fn a_poisoned_lock_is_survived() {
    let set = Set::new(|_| ());
    let source = TestSource::new("a");
    set.load(&source);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _guard = set.cache.map.lock();
        panic!("under the lock, as told");
    }));
    assert!(panicked.is_err() && set.cache.map.is_poisoned());
    assert_eq!(set.load(&source).value.1, 1);
    set.clock.advance(LIFETIME);
    assert_eq!(set.load(&source).value.1, 2);
}

const THREADS: usize = 16;

/// A cache, and its clock.
struct Set {
    cache: LoadingCache<TestSource>,
    clock: Arc<Clock>,
}

impl Set {
    fn new(adjust: impl FnOnce(&mut Policy)) -> Self {
        let clock = Arc::new(Clock(AtomicU64::new(START)));
        let mut policy = Policy {
            lifetime: Duration::from_secs(LIFETIME),
            retry_interval: Duration::from_secs(RETRY),
            time_provider: clock.clone(),
            ..Policy::default()
        };
        adjust(&mut policy);
        Self {
            cache: LoadingCache::new(policy),
            clock,
        }
    }

    fn load(&self, source: &TestSource) -> Loaded<TestSource> {
        self.cache.load(source).unwrap()
    }

    fn map_len(&self) -> usize {
        self.cache.lock().entries.len()
    }

    /// Until there were so many look-ups: whoever did not find anything held waits, or is about to.
    fn wait_until_looked_up(&self, uses: u64) {
        while self.cache.lock().uses < uses {
            thread::yield_now();
        }
    }
}

const START: u64 = 1_000_000;
const NO_TIME: u64 = u64::MAX - 1;

#[derive(Debug)]
struct Clock(AtomicU64);

impl Clock {
    fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::SeqCst);
    }

    fn forget(&self) {
        self.set(NO_TIME);
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        match self.0.load(Ordering::SeqCst) {
            NO_TIME => None,
            seconds => Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds))),
        }
    }
}

/// One whose value is its name and which load it was, of all sources of this name that are made of one another.
#[derive(Clone)]
struct TestSource {
    name: &'static str,
    can_change: bool,
    loads: Arc<AtomicUsize>,
    does: Arc<Mutex<Does>>,
    /// Whom to tell that a load has begun, and whom to wait for before it ends.
    pause: Arc<Mutex<Option<Pause>>>,
    version: Arc<AtomicU64>,
    looks: Arc<AtomicUsize>,
    at_log: Arc<Mutex<Option<AtLog>>>,
}

/// What a log does that is told of a load, and whether something older is kept.
type AtLog = alloc::boxed::Box<dyn Fn(bool) + Send>;

type Pause = (mpsc::Sender<()>, mpsc::Receiver<()>, Does);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Loads,
    Fails,
    Panics,
    /// What is held.
    Returns,
}
use Does::{Fails, Loads, Panics, Returns};

const UNKNOWN: u64 = 0;
const UNSETTLED: u64 = 99;

impl TestSource {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            can_change: true,
            loads: Arc::default(),
            does: Arc::new(Mutex::new(Loads)),
            pause: Arc::default(),
            version: Arc::new(AtomicU64::new(1)),
            looks: Arc::default(),
            at_log: Arc::default(),
        }
    }

    fn does(&self, what: Does) {
        *self.does.lock().unwrap() = what;
    }

    /// The next load tells the receiver that it has begun, and waits for the sender.
    fn waits_and(&self, what: Does) -> (mpsc::Receiver<()>, mpsc::Sender<()>) {
        let (begun, loading) = mpsc::channel();
        let (go_on, wait) = mpsc::channel();
        *self.pause.lock().unwrap() = Some((begun, wait, what));
        (loading, go_on)
    }

    fn loads(&self) -> usize {
        self.loads.load(Ordering::SeqCst)
    }
}

impl Source for TestSource {
    type Value = (&'static str, usize);
    type Error = String;
    type Version = TestVersion;

    fn load(&self, held: Option<&Arc<Self::Value>>) -> Result<Arc<Self::Value>, String> {
        let count = self.loads.fetch_add(1, Ordering::SeqCst) + 1;
        let pause = self.pause.lock().unwrap().take();
        let does = match pause {
            Some((begun, wait, does)) => {
                begun.send(()).unwrap();
                wait.recv().unwrap();
                does
            }
            None => *self.does.lock().unwrap(),
        };
        match does {
            Loads => Ok(Arc::new((self.name, count))),
            Fails => Err(alloc::format!("load {count}")),
            Panics => panic!("as told"),
            Returns => Ok(held.unwrap().clone()),
        }
    }

    fn log(&self, _: Result<&Self::Value, &String>, kept: bool) {
        if let Some(at_log) = &*self.at_log.lock().unwrap() {
            at_log(kept);
        }
    }

    fn version(&self) -> Option<TestVersion> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        match self.version.load(Ordering::SeqCst) {
            UNKNOWN => None,
            version => Some(TestVersion(version)),
        }
    }

    fn can_change(&self) -> bool {
        self.can_change
    }

    fn bytes(&self, value: &Self::Value) -> usize {
        value.0.len()
    }
}

#[derive(Clone, Debug, PartialEq)]
struct TestVersion(u64);

impl Version for TestVersion {
    fn is_settled(&self) -> bool {
        self.0 != UNSETTLED
    }
}

impl PartialEq for TestSource {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TestSource {}

impl Hash for TestSource {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}
