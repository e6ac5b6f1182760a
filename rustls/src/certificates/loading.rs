//! A cache of what is loaded from a source: loaded once, by one thread, and kept for a while.
//!
//! It knows nothing of certificates. What it keeps, and where that comes from, is said by a [`Source`]; how long
//! and how much it keeps, by a [`Policy`].
//!
//! ```text
//!   load ──► look up ──► held, and neither too old nor changed ───────────────► hand it out
//!               │
//!               ├──► another thread is loading it ──► wait for that Flight ───► hand out what it brought
//!               │         └─► reload: wait for it, and share the Flight that begins next
//!               │
//!               └──► a Flight of one's own ──► Source::load ──► keep it ──────► hand it out
//!                                                      └─► failed: keep the old, and say so with it
//! ```
//!
//! The lock of the map is held for looking things up, never while a source is read or parsed: a slow source holds
//! up nobody but those who ask for that very source.

mod flight;
mod policy;
#[cfg(test)]
mod tests;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::hash::Hash;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pki_types::UnixTime;

use self::flight::{Flight, Outcome};
pub(crate) use self::policy::Policy;
use super::CacheStats;

/// Where a value comes from; also the key that it is kept under.
pub(crate) trait Source: Clone + Eq + Hash {
    /// What is kept.
    type Value;
    /// Why it could not be loaded.
    type Error;
    /// What changes when the source does.
    type Version: Version;

    /// Reads and parses the source. No lock is held meanwhile; it must not ask the same cache for itself.
    ///
    /// `held` is what was loaded before. Returning it, where nothing changed, lets its users go on sharing it.
    fn load(&self, held: Option<&Arc<Self::Value>>) -> Result<Arc<Self::Value>, Self::Error>;

    /// Tells the log what came of a load, and whether something older is `kept` where it failed. By then the load is
    /// over: a log that needs a connection to be written may ask for the source itself.
    fn log(&self, outcome: Result<&Self::Value, &Self::Error>, kept: bool);

    /// The version that a load would read now, if there are means to tell it without reading.
    fn version(&self) -> Option<Self::Version>;

    /// False when loading again can bring nothing new, so that nothing ever gets too old.
    fn can_change(&self) -> bool;

    /// About how many bytes of memory `value` and this key take.
    fn bytes(&self, value: &Self::Value) -> usize;
}

/// A mark by which a change is recognized.
pub(crate) trait Version: Clone + PartialEq {
    /// False when what is behind it may yet change and keep this version, as a file that was written a moment ago.
    fn is_settled(&self) -> bool;
}

/// A cache as described at the head of this file.
pub(crate) struct LoadingCache<S: Source> {
    policy: Policy,
    map: Mutex<Map<S>>,
}

/// What is handed out.
pub(crate) struct Loaded<S: Source> {
    pub(crate) value: Arc<S::Value>,
    /// When it was read; `None` when the clock did not know.
    pub(crate) loaded_at: Option<UnixTime>,
    /// Why the last attempt to replace it failed.
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

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// To be used while the cache is made; entries are judged by it from then on.
    pub(crate) fn policy_mut(&mut self) -> &mut Policy {
        &mut self.policy
    }

    /// What `source` has: held, or loaded now.
    ///
    /// # Errors
    ///
    /// Those of [`Source::load`] when nothing is held to go on with. Threads that waited for one load have the same
    /// error; the next call tries again.
    pub(crate) fn load(&self, source: &S) -> Result<Loaded<S>, Arc<S::Error>> {
        self.load_as(source, false)
    }

    /// Like [`load`](Self::load), but never returns what a load brought that began before this call.
    ///
    /// Calls that come while a load is under way share the next one.
    pub(crate) fn reload(&self, source: &S) -> Result<Loaded<S>, Arc<S::Error>> {
        self.load_as(source, true)
    }

    fn load_as(&self, source: &S, anew: bool) -> Result<Loaded<S>, Arc<S::Error>> {
        if self.policy.is_off() {
            return self.load_aside(source);
        }

        loop {
            // both are calls of foreign code or of the system: not under the lock
            let now = self.policy.now();
            let version = self.version(source);

            match self.take_turn(source, now, version.as_ref(), anew) {
                Turn::Held(loaded) => return Ok(loaded),
                Turn::Load(flight, held) => {
                    return Pending::new(self, source, flight).run(held.as_ref(), now, version);
                }
                Turn::Wait(flight) => {
                    // the load may have begun before a change that this call has to see
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

    /// Loads for all who wait for `next`, or waits for the thread that does. Returns `None` if the load panicked.
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

    /// Counts a call that another thread has loaded for.
    fn share(&self, outcome: Outcome<S>) -> Outcome<S> {
        let mut map = self.lock();
        match &outcome {
            Ok(_) => map.counts.hits += 1,
            Err(_) => map.counts.misses += 1,
        }
        outcome
    }

    /// Where nothing is to be kept.
    fn load_aside(&self, source: &S) -> Result<Loaded<S>, Arc<S::Error>> {
        let now = self.policy.now();
        self.lock().counts.misses += 1;
        match source.load(None) {
            Ok(value) => {
                source.log(Ok(&value), false);
                Ok(Loaded {
                    value,
                    loaded_at: now,
                    failure: None,
                })
            }
            Err(error) => {
                self.lock().counts.failures += 1;
                source.log(Err(&error), false);
                Err(Arc::new(error))
            }
        }
    }

    /// Forgets what is held of `source`. A load that is under way is not kept either.
    pub(crate) fn invalidate(&self, source: &S) {
        let removed = self.lock().entries.remove(source);
        drop(removed); // behind the lock
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        let removed = core::mem::take(&mut self.lock().entries);
        drop(removed); // behind the lock
    }

    pub(crate) fn stats(&self) -> CacheStats {
        let map = self.lock();
        let held = || {
            map.entries
                .iter()
                .filter_map(|(source, entry)| Some((source, entry.held.as_ref()?)))
        };
        CacheStats {
            entries: held().count(),
            bytes: Some(
                held()
                    .map(|(source, held)| source.bytes(&held.loaded.value))
                    .sum(),
            ),
            ..map.counts
        }
    }

    /// The version to compare by, where changes are to be seen at once.
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
        anew: bool,
    ) -> Turn<S> {
        let mut map = self.lock();
        let map = &mut *map;
        map.uses += 1;

        let entry = map.entries.entry(source.clone()).or_default();
        entry.last_use = map.uses;
        let is_to_be_used =
            |held: &&Held<S>| !anew && held.is_to_be_used(source, &self.policy, now, version);
        if let Some(held) = entry.held.as_ref().filter(is_to_be_used) {
            map.counts.hits += 1;
            return Turn::Held(held.loaded.clone());
        }
        match &entry.flight {
            Some(current) if anew => Turn::WaitForNext {
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

    /// Begins `next` after the load before it has ended, and returns what it is to replace.
    ///
    /// # Errors
    ///
    /// The load to wait for, if another thread has begun `next` or, after the source was forgotten, another load.
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

    /// Nothing panics under this lock but a failed allocation, and the map is whole at each point.
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
    /// How often anything was looked up: the clock of `last_use`.
    uses: u64,
    /// Entries and bytes are counted when they are asked for.
    counts: CacheStats,
}

impl<S: Source> Map<S> {
    /// The entry of `source`, unless it was invalidated since `flight` began.
    fn entry_of(&mut self, source: &S, flight: &Arc<Flight<S>>) -> Option<&mut Entry<S>> {
        self.entries.get_mut(source).filter(|entry| {
            entry
                .flight
                .as_ref()
                .is_some_and(|its| Arc::ptr_eq(its, flight))
        })
    }

    /// Removes those used least recently until there are `capacity`. Those being loaded stay, for another thread
    /// would load them a second time: there are never more of them than threads.
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

/// Has a held value, a flight or both: while something is loaded for the first time, nothing is held.
struct Entry<S: Source> {
    held: Option<Held<S>>,
    /// The load under way.
    flight: Option<Arc<Flight<S>>>,
    /// The load due after it, for calls of `reload` that came during it.
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

struct Held<S: Source> {
    loaded: Loaded<S>,
    version: Option<S::Version>,
    /// When and at what version `loaded.failure` came.
    failed: Option<(Option<UnixTime>, Option<S::Version>)>,
}

impl<S: Source> Held<S> {
    /// Whether to hand it out without another attempt to load.
    fn is_to_be_used(
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

        // what could not be replaced just now is not tried again at each call
        self.failed.as_ref().is_some_and(|(at, of)| {
            is_unchanged(of.as_ref(), version) && policy.is_soon_after(*at, now)
        })
    }
}

fn is_unchanged<V: Version>(known: Option<&V>, now: Option<&V>) -> bool {
    match (known, now) {
        // changes are not asked for, or cannot be told
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
    Held(Loaded<S>),
    /// Wait for the load under way.
    Wait(Arc<Flight<S>>),
    /// Wait for the load under way, then load once for all who share `next`.
    WaitForNext {
        current: Arc<Flight<S>>,
        next: Arc<Flight<S>>,
    },
    /// Load now. Has the value to be replaced.
    Load(Arc<Flight<S>>, Option<Arc<S::Value>>),
}

/// The duty to end a flight. When the source panics, dropping this hands the duty to one of those who wait.
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
        let result = self.source.load(held).map_err(Arc::new);
        let outcome = match result.clone() {
            Ok(value) => Ok(self.keep(value, now, version)),
            Err(error) => self.note_failure(error, now, version),
        };
        self.ended = true;
        self.flight.end(Some(outcome.clone()));
        let result = result.as_deref().map_err(|error| &**error);
        self.source.log(result, outcome.is_ok());
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
        let held = Held {
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
        drop((replaced, removed)); // behind the lock
        loaded
    }

    fn note_failure(
        &self,
        error: Arc<S::Error>,
        now: Option<UnixTime>,
        version: Option<S::Version>,
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
        held.loaded.failure = Some(error);
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
