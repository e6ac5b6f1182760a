//! A generic cache. Threads that need the same source at the same time share one load, and its
//! value is cached.
//!
//! This module knows nothing about certificates. A [`Source`] defines the values and where they
//! come from. A [`Policy`] has the settings, such as the lifetime and the capacity.
//!
//! ```text
//!   load ──► look up ──► cached, neither stale nor changed ────────────────────► return it
//!               │
//!               ├──► another thread is loading it ──► wait for that Flight ────► return its result
//!               │         └─► reload: wait for it, and share the Flight after it
//!               │
//!               └──► start a Flight ──► Source::load ──► store it ─────────────► return it
//!                                           └─► failed: return the old value with the error
//! ```
//!
//! The map's lock is held for lookups and updates, never while a source is read or parsed. A slow
//! source delays only its own callers.

mod flight;
mod policy;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pki_types::UnixTime;
use rustls::certificates::CacheStats;

use self::flight::{Flight, Outcome};
pub(crate) use self::policy::Policy;

/// The source of a value, which is also its key in the cache.
pub trait Source: Clone + Eq + Hash {
    /// The cached value.
    type Value;
    /// The error from a failed load.
    type Error;
    /// A value that changes when the source changes.
    type Version: Version;

    /// Reads and parses the source. Called without a lock. It must not access its own entry in the
    /// cache.
    ///
    /// `held` is the previous value. Reuse what has not changed, so that its users keep sharing it.
    /// `now` is the current time according to the policy's clock.
    fn load(
        &self,
        held: Option<&Arc<Self::Value>>,
        now: Option<UnixTime>,
    ) -> Result<Arc<Self::Value>, Self::Error>;

    /// Logs the result of a load. If the load failed, `kept` is true if an older value stays.
    /// `previous` is the previous result, so that a repeated result is not logged again. Called
    /// after the load, so that a logger may load the same source, for example to open a connection.
    fn log(
        &self,
        outcome: Result<&Self::Value, &Self::Error>,
        kept: bool,
        previous: &Previous<Self>,
    );

    /// Returns the version that a load would read now. Returns `None` if the source has no version
    /// that can be determined without reading.
    fn version(&self) -> Option<Self::Version>;

    /// False if loading again never returns anything new, so that values never become stale.
    fn can_change(&self) -> bool;

    /// Returns the number of bytes that the statistics count for `value` and this key.
    fn bytes(&self, value: &Self::Value) -> usize;
}

/// The value and the error from before a load.
pub struct Previous<S: Source> {
    pub(crate) value: Option<Arc<S::Value>>,
    /// The error from the last attempt to replace `value`. Only set if the current attempt has
    /// failed as well.
    pub(crate) failure: Option<Arc<S::Error>>,
}

impl<S: Source> Previous<S> {
    fn nothing() -> Self {
        Self {
            value: None,
            failure: None,
        }
    }
}

impl<S: Source<Error: fmt::Display>> Previous<S> {
    /// True if the previous attempt failed with the same text.
    pub(crate) fn failed_with(&self, error: &S::Error) -> bool {
        let failure = self.failure.as_ref();
        failure.is_some_and(|failure| failure.to_string() == error.to_string())
    }
}

/// A version of a source, to detect changes.
pub trait Version: Clone + PartialEq {
    /// False if a later change may have the same version, for example shortly after a file was
    /// written.
    fn is_settled(&self) -> bool;
}

/// A cache of values by source; see the module's documentation.
pub(crate) struct LoadingCache<S: Source> {
    policy: Policy,
    map: Mutex<Map<S>>,
}

/// A result from the cache.
pub struct Loaded<S: Source> {
    pub(crate) value: Arc<S::Value>,
    /// The time at which the load began, or `None` if the clock did not return a time.
    pub(crate) loaded_at: Option<UnixTime>,
    /// The error from the last attempt to replace the value, if that attempt failed.
    pub(crate) failure: Option<Arc<S::Error>>,
}

impl<S: Source> LoadingCache<S> {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            policy,
            map: Mutex::new(Map {
                entries: HashMap::new(),
                uses: 0,
                counts: CacheStats::default(),
            }),
        }
    }

    /// Gives the builder methods access to the policy. Changes also apply to existing entries.
    pub(crate) fn policy_mut(&mut self) -> &mut Policy {
        &mut self.policy
    }

    /// Returns the value for `source`, cached or loaded now.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Source::load`] if there is no older value. The next call tries
    /// again.
    pub(crate) fn load(&self, source: &S) -> Result<Loaded<S>, Arc<S::Error>> {
        self.load_as(source, false)
    }

    /// Loads the source even if it is cached. The result is from a load that began after this call.
    ///
    /// Calls made during a load share the next load.
    pub(crate) fn reload(&self, source: &S) -> Result<Loaded<S>, Arc<S::Error>> {
        self.load_as(source, true)
    }

    fn load_as(&self, source: &S, must_reload: bool) -> Result<Loaded<S>, Arc<S::Error>> {
        if self.policy.is_off() {
            return self.load_aside(source);
        }

        loop {
            // this may run foreign code or system calls, so do it before taking the lock
            let now = self.policy.now();
            let version = self.version(source);

            match self.take_turn(source, now, version.as_ref(), must_reload) {
                Turn::Hit(loaded) => return Ok(loaded),
                Turn::Load(flight, held) => {
                    return Pending::new(self, source, flight).run(held.as_ref(), now, version);
                }
                Turn::Wait(flight) => {
                    // the load may have begun before a change that this call must see
                    let outcome = flight.wait();
                    let is_recent = |_: &_| flight.began_at(self.version(source).as_ref());
                    if let Some(outcome) = outcome.filter(is_recent) {
                        return self.share(outcome);
                    }
                }
                Turn::WaitForNext { current, next } => {
                    let _ = current.wait();
                    if let Some(outcome) = self.load_next(source, &next) {
                        return outcome;
                    }
                }
            }
        }
    }

    /// Loads for all threads that share `next`, or waits for another thread's load. Returns `None`
    /// if that load panicked.
    fn load_next(&self, source: &S, next: &Arc<Flight<S>>) -> Option<Outcome<S>> {
        let now = self.policy.now();
        let version = self.version(source);
        match self.begin_next(source, next, version.as_ref()) {
            Ok(held) => {
                let pending = Pending::new(self, source, next.clone());
                Some(pending.run(held.as_ref(), now, version))
            }
            Err(flight) => flight.wait().map(|outcome| self.share(outcome)),
        }
    }

    /// Counts a call that returns the outcome of another thread's load.
    fn share(&self, outcome: Outcome<S>) -> Outcome<S> {
        let mut map = self.lock();
        match &outcome {
            Ok(_) => map.counts.hits += 1,
            Err(_) => map.counts.misses += 1,
        }
        outcome
    }

    /// Loads without caching.
    fn load_aside(&self, source: &S) -> Result<Loaded<S>, Arc<S::Error>> {
        let now = self.policy.now();
        self.lock().counts.misses += 1;
        match source.load(None, now) {
            Ok(value) => {
                source.log(Ok(&value), false, &Previous::nothing());
                Ok(Loaded {
                    value,
                    loaded_at: now,
                    failure: None,
                })
            }
            Err(error) => {
                self.lock().counts.failures += 1;
                source.log(Err(&error), false, &Previous::nothing());
                Err(Arc::new(error))
            }
        }
    }

    /// Removes the value for `source`. If a load is in progress, its result is not cached.
    pub(crate) fn invalidate(&self, source: &S) {
        let removed = self.lock().entries.remove(source);
        drop(removed); // outside of the lock
    }

    /// Removes all values.
    pub(crate) fn clear(&self) {
        let removed = std::mem::take(&mut self.lock().entries);
        drop(removed); // outside of the lock
    }

    pub(crate) fn stats(&self) -> CacheStats {
        let map = self.lock();
        let held = || {
            map.entries
                .iter()
                .filter_map(|(source, entry)| Some((source, entry.held.as_ref()?)))
        };
        let mut stats = map.counts;
        stats.entries = held().count();
        let bytes = held().map(|(source, held)| source.bytes(&held.loaded.value));
        stats.bytes = Some(bytes.sum());
        stats
    }

    /// Returns the version to compare with, if the policy enables change detection.
    fn version(&self, source: &S) -> Option<S::Version> {
        self.policy
            .check_for_changes
            .then(|| source.version())
            .flatten()
    }

    fn take_turn(
        &self,
        source: &S,
        now: Option<UnixTime>,
        version: Option<&S::Version>,
        must_reload: bool,
    ) -> Turn<S> {
        let mut map = self.lock();
        let map = &mut *map;
        map.uses += 1;

        let entry = map.entries.entry(source.clone()).or_default();
        entry.last_use = map.uses;
        let is_usable = |held: &&CachedValue<S>| {
            !must_reload && held.is_usable(source, &self.policy, now, version)
        };
        if let Some(held) = entry.held.as_ref().filter(is_usable) {
            map.counts.hits += 1;
            return Turn::Hit(held.loaded.clone());
        }
        match &entry.flight {
            Some(current) if must_reload => Turn::WaitForNext {
                current: current.clone(),
                next: entry.next.get_or_insert_with(Flight::new).clone(),
            },
            Some(current) => Turn::Wait(current.clone()),
            None => {
                let flight = entry.next.take().unwrap_or_else(Flight::new);
                flight.begin(version);
                map.counts.misses += 1;
                entry.flight = Some(flight.clone());
                Turn::Load(flight, entry.held_value())
            }
        }
    }

    /// Begins `next` after the previous load, and returns the value to replace.
    ///
    /// # Errors
    ///
    /// Returns the load to wait for: the entry's load in progress, or `next` if another thread has
    /// begun it.
    fn begin_next(
        &self,
        source: &S,
        next: &Arc<Flight<S>>,
        version: Option<&S::Version>,
    ) -> Result<Option<Arc<S::Value>>, Arc<Flight<S>>> {
        let mut map = self.lock();
        let map = &mut *map;
        let under_way = map
            .entries
            .get(source)
            .and_then(|entry| entry.flight.as_ref());
        if let Some(flight) = under_way {
            return Err(flight.clone());
        }
        if !next.begin(version) {
            return Err(next.clone());
        }

        map.uses += 1;
        map.counts.misses += 1;
        let entry = map.entries.entry(source.clone()).or_default();
        entry.last_use = map.uses;
        entry.flight = Some(next.clone());
        entry.next.take_if(|due| Arc::ptr_eq(due, next));
        Ok(entry.held_value())
    }

    /// Locks the map, even if the lock is poisoned: a panic leaves the map usable.
    fn lock(&self) -> MutexGuard<'_, Map<S>> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Source> fmt::Debug for LoadingCache<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadingCache")
            .field("policy", &self.policy)
            .field("stats", &self.stats())
            .finish()
    }
}

struct Map<S: Source> {
    entries: HashMap<S, Entry<S>>,
    /// The number of uses so far: the clock of `last_use`.
    uses: u64,
    /// `entries` and `bytes` are computed on demand.
    counts: CacheStats,
}

impl<S: Source> Map<S> {
    /// Returns the entry for `source`, unless it has been invalidated since `flight` began.
    fn entry_of(&mut self, source: &S, flight: &Arc<Flight<S>>) -> Option<&mut Entry<S>> {
        self.entries.get_mut(source).filter(|entry| {
            entry
                .flight
                .as_ref()
                .is_some_and(|its| Arc::ptr_eq(its, flight))
        })
    }

    /// Evicts the least recently used entries down to `capacity`. Keeps entries that are being
    /// loaded, because otherwise another thread could load them at the same time.
    fn trim(&mut self, capacity: usize) -> Vec<Entry<S>> {
        let mut removed = Vec::new();
        while self.entries.len() > capacity {
            let Some(oldest) = self
                .entries
                .iter()
                .filter(|(_, entry)| entry.flight.is_none())
                .min_by_key(|(_, entry)| entry.last_use)
                .map(|(source, _)| source.clone())
            else {
                break;
            };
            removed.extend(self.entries.remove(&oldest));
            self.counts.evictions += 1;
        }
        removed
    }
}

/// An entry with a value, a flight or both. During the first load there is no value.
struct Entry<S: Source> {
    held: Option<CachedValue<S>>,
    /// The load in progress, if any.
    flight: Option<Arc<Flight<S>>>,
    /// The load after the current one, for calls to `reload` that are made during the current one.
    next: Option<Arc<Flight<S>>>,
    last_use: u64,
}

impl<S: Source> Entry<S> {
    fn held_value(&self) -> Option<Arc<S::Value>> {
        self.held.as_ref().map(|held| held.loaded.value.clone())
    }
}

impl<S: Source> Default for Entry<S> {
    fn default() -> Self {
        Self {
            held: None,
            flight: None,
            next: None,
            last_use: 0,
        }
    }
}

struct CachedValue<S: Source> {
    loaded: Loaded<S>,
    version: Option<S::Version>,
    /// The time and the version of the failed load in `loaded.failure`.
    failed: Option<(Option<UnixTime>, Option<S::Version>)>,
}

impl<S: Source> CachedValue<S> {
    /// True if the value can be returned without trying to load again.
    fn is_usable(
        &self,
        source: &S,
        policy: &Policy,
        now: Option<UnixTime>,
        version: Option<&S::Version>,
    ) -> bool {
        let young = !source.can_change() || policy.is_young(self.loaded.loaded_at, now);
        if young && is_unchanged(self.version.as_ref(), version) {
            return true;
        }

        // after a failure, do not try again in each call
        self.failed.as_ref().is_some_and(|(at, of)| {
            is_unchanged(of.as_ref(), version) && policy.is_soon_after(*at, now)
        })
    }
}

fn is_unchanged<V: Version>(known: Option<&V>, now: Option<&V>) -> bool {
    match (known, now) {
        // change detection is off, or the version is unknown
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(known), Some(now)) => known.is_settled() && known == now,
    }
}

impl<S: Source> Clone for Loaded<S> {
    fn clone(&self) -> Self {
        Self {
            value: self.value.clone(),
            loaded_at: self.loaded_at,
            failure: self.failure.clone(),
        }
    }
}

enum Turn<S: Source> {
    Hit(Loaded<S>),
    /// Wait for the current load.
    Wait(Arc<Flight<S>>),
    /// Wait for the current load, then for one load for all threads that share `next`.
    WaitForNext {
        current: Arc<Flight<S>>,
        next: Arc<Flight<S>>,
    },
    /// Load now, to replace this value if there is one.
    Load(Arc<Flight<S>>, Option<Arc<S::Value>>),
}

/// A flight that must be ended. If the source panics, dropping this ends the flight without an
/// outcome, and a waiting thread loads instead.
struct Pending<'a, S: Source> {
    cache: &'a LoadingCache<S>,
    source: &'a S,
    flight: Arc<Flight<S>>,
    ended: bool,
}

impl<'a, S: Source> Pending<'a, S> {
    fn new(cache: &'a LoadingCache<S>, source: &'a S, flight: Arc<Flight<S>>) -> Self {
        Self {
            cache,
            source,
            flight,
            ended: false,
        }
    }

    fn run(
        mut self,
        held: Option<&Arc<S::Value>>,
        now: Option<UnixTime>,
        version: Option<S::Version>,
    ) -> Result<Loaded<S>, Arc<S::Error>> {
        let result = self.source.load(held, now).map_err(Arc::new);
        let mut previous = Previous {
            value: held.cloned(),
            failure: None,
        };
        let outcome = match result.clone() {
            Ok(value) => Ok(self.keep(value, now, version)),
            Err(error) => self.note_failure(error, now, version, &mut previous.failure),
        };
        self.ended = true;
        self.flight.end(Some(outcome.clone()));
        let result = result.as_deref().map_err(|error| &**error);
        self.source.log(result, outcome.is_ok(), &previous);
        outcome
    }

    fn keep(
        &self,
        value: Arc<S::Value>,
        now: Option<UnixTime>,
        version: Option<S::Version>,
    ) -> Loaded<S> {
        let loaded = Loaded {
            value,
            loaded_at: now,
            failure: None,
        };
        let held = CachedValue {
            loaded: loaded.clone(),
            version,
            failed: None,
        };

        let mut map = self.cache.lock();
        let mut replaced = None;
        if let Some(entry) = map.entry_of(self.source, &self.flight) {
            entry.flight = None;
            replaced = entry.held.replace(held);
        }
        map.counts.reloads += u64::from(replaced.is_some());
        let removed = map.trim(self.cache.policy.capacity);
        drop(map);
        drop((replaced, removed)); // outside of the lock
        loaded
    }

    /// Returns the old value, after storing the error beside it and moving the previous error to
    /// `previous`. Returns the error if there is no old value, or if the entry was invalidated.
    fn note_failure(
        &self,
        error: Arc<S::Error>,
        now: Option<UnixTime>,
        version: Option<S::Version>,
        previous: &mut Option<Arc<S::Error>>,
    ) -> Result<Loaded<S>, Arc<S::Error>> {
        let mut map = self.cache.lock();
        map.counts.failures += 1;
        let Some(entry) = map.entry_of(self.source, &self.flight) else {
            return Err(error);
        };
        entry.flight = None;
        let Some(held) = &mut entry.held else {
            map.entries.remove(self.source);
            return Err(error);
        };
        *previous = held.loaded.failure.replace(error);
        held.failed = Some((now, version));
        Ok(held.loaded.clone())
    }
}

impl<S: Source> Drop for Pending<'_, S> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }

        let mut map = self.cache.lock();
        map.counts.failures += 1;
        if let Some(entry) = map.entry_of(self.source, &self.flight) {
            entry.flight = None;
            if entry.held.is_none() {
                map.entries.remove(self.source);
            }
        }
        drop(map);
        self.flight.end(None);
    }
}
