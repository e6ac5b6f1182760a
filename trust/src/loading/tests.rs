//! Tests of the cache with a scripted source.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use pki_types::UnixTime;
use rustls::certificates::CacheStats;
use rustls::time_provider::TimeProvider;

use super::{Entry, Loaded, LoadingCache, Policy, Previous, Source, Version};

mod threads;
mod when;

const LIFETIME: u64 = 1000;
const RETRY: u64 = 10;

/// A cache and its clock.
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

    /// Waits for `uses` lookups. A thread whose lookup missed then waits for a load, or is about
    /// to.
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

/// A source whose value is its name and the number of the load. Clones share their state; sources
/// with the same name are equal.
#[derive(Clone)]
struct TestSource {
    name: &'static str,
    can_change: bool,
    loads: Arc<AtomicUsize>,
    does: Arc<Mutex<Does>>,
    /// The channels of the next load: one reports that it has begun, the other lets it end.
    pause: Arc<Mutex<Option<Pause>>>,
    version: Arc<AtomicU64>,
    looks: Arc<AtomicUsize>,
    at_log: Arc<Mutex<Option<AtLog>>>,
}

/// A callback for the log of a load, with `true` if an older value is kept.
type AtLog = Box<dyn Fn(bool) + Send>;

type Pause = (mpsc::Sender<()>, mpsc::Receiver<()>, Does);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Loads,
    Fails,
    Panics,
    /// Returns the previous value.
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

    /// Makes the next load notify the receiver when it begins, and wait for the sender.
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

    fn load(
        &self,
        held: Option<&Arc<Self::Value>>,
        _now: Option<UnixTime>,
    ) -> Result<Arc<Self::Value>, String> {
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
            Fails => Err(format!("load {count}")),
            Panics => panic!("as told"),
            Returns => Ok(held.unwrap().clone()),
        }
    }

    fn log(&self, _: Result<&Self::Value, &String>, kept: bool, _: &Previous<Self>) {
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
