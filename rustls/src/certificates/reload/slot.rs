//! What is in force, and what reloads do to it.
//!
//! Reloads may run at the same time. Each has a ticket, in the order in which they began; one that has been overtaken
//! by another that began later changes nothing, since it may have read what the other saw replaced. One that finds what
//! it compared with replaced, by another that began earlier, loads anew: what it keeps must be what is in force.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use pki_types::UnixTime;

use super::{Reload, ReloadError, ReloadFailure, ReloadStatus};
use crate::certificates::loading::Version;
use crate::logging::{debug, warn};
use crate::time_provider::TimeProvider;

/// One thing that is in force, read from sources of version `V`.
pub(super) struct Slot<T: ?Sized, V> {
    /// What it is called in logs.
    what: String,
    clock: Arc<dyn TimeProvider>,
    current: RwLock<Arc<T>>,
    tickets: AtomicU64,
    journal: Mutex<Journal<V>>,
}

/// What a load brought.
pub(super) struct Loaded<T: ?Sized> {
    /// What is to be in force now.
    pub(super) value: Arc<T>,
    /// Why that is not, or not in all parts, what the sources have.
    pub(super) problem: Option<ReloadError>,
}

impl<T: ?Sized> Loaded<T> {
    /// What is `held` stays.
    pub(super) fn failed(held: &Arc<T>, error: ReloadError) -> Self {
        Self {
            value: held.clone(),
            problem: Some(error),
        }
    }
}

struct Journal<V> {
    /// The ticket of the reload whose outcome counts.
    last: u64,
    /// What that one read, unless it failed: such files are to be read again, whether they change or not.
    version: Option<V>,
    status: ReloadStatus,
}

impl<T: ?Sized, V: Version> Slot<T, V> {
    /// With `first` in force, which was read from sources of `version`.
    pub(super) fn new(
        what: String,
        clock: Arc<dyn TimeProvider>,
        first: Arc<T>,
        version: V,
    ) -> Self {
        let status = ReloadStatus {
            in_force_since: clock.current_time(),
            ..ReloadStatus::default()
        };
        Self {
            what,
            clock,
            current: RwLock::new(first),
            tickets: AtomicU64::new(0),
            journal: Mutex::new(Journal {
                last: 0,
                version: Some(version),
                status,
            }),
        }
    }

    /// What is in force.
    pub(super) fn current(&self) -> Arc<T> {
        // an Arc is replaced in one piece, whoever panics
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn status(&self) -> ReloadStatus {
        self.journal().status.clone()
    }

    /// Reads anew, by `load`, if the sources have another version than what is in force, or the last reload failed.
    pub(super) fn reload_if_changed(
        &self,
        version: impl Fn() -> V,
        load: impl FnMut(&Arc<T>) -> Loaded<T>,
    ) -> Result<Reload, Arc<ReloadError>> {
        let found = version();
        let is_known = |known: &V| known.is_settled() && *known == found;
        if self.journal().version.as_ref().is_some_and(is_known) {
            return Ok(Reload::Unchanged);
        }
        self.reload(|| found, load)
    }

    /// Reads anew by `load`, which is given what is in force, and returns just that when nothing is new. `version` is
    /// taken before: what changes during the load is seen by the next one.
    ///
    /// # Errors
    ///
    /// The problem that `load` had. What it brought nevertheless is in force.
    pub(super) fn reload(
        &self,
        version: impl FnOnce() -> V,
        mut load: impl FnMut(&Arc<T>) -> Loaded<T>,
    ) -> Result<Reload, Arc<ReloadError>> {
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed) + 1;
        let version = version();
        // each round but the last has lost to a reload with an earlier ticket
        let (reload, problem) = loop {
            let held = self.current();
            let loaded = load(&held);
            let problem = loaded.problem.map(Arc::new);
            if let Some(reload) =
                self.conclude(ticket, &held, loaded.value, &version, problem.as_ref())
            {
                break (reload, problem);
            }
        };
        if let Some(problem) = &problem {
            warn!(
                "{}: not replaced, or not in all parts: {problem}",
                self.what
            );
        }
        debug!("{}: {reload:?}", self.what);
        problem.map_or(Ok(reload), Err)
    }

    /// Puts `value` in force, which is based on `held`. `None` when that is not in force any longer.
    fn conclude(
        &self,
        ticket: u64,
        held: &Arc<T>,
        value: Arc<T>,
        version: &V,
        problem: Option<&Arc<ReloadError>>,
    ) -> Option<Reload> {
        // a call of foreign code: not under the lock
        let now = self.clock.current_time();
        let mut journal = self.journal();
        // what an overtaken one saw is not there any longer
        if ticket < journal.last {
            journal.status.failures += u64::from(problem.is_some());
            return Some(Reload::Overtaken);
        }
        // the order of reloads is that of the journal, which stays locked
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&current, held) {
            return None;
        }
        journal.status.failures += u64::from(problem.is_some());
        journal.last = ticket;
        journal.note(problem, now);
        journal.version = problem.is_none().then(|| version.clone());

        if Arc::ptr_eq(&current, &value) {
            journal.status.unchanged += u64::from(problem.is_none());
            return Some(Reload::Unchanged);
        }
        let replaced = core::mem::replace(&mut *current, value);
        journal.status.reloads += 1;
        journal.status.in_force_since = now;
        drop(current);
        drop(journal);
        drop(replaced); // behind the locks: it may be large
        Some(Reload::Replaced)
    }

    /// Each change is made in full before the lock is given back, or not at all.
    fn journal(&self) -> MutexGuard<'_, Journal<V>> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Journal<V> {
    /// Notes what came of the reload that counts now.
    fn note(&mut self, problem: Option<&Arc<ReloadError>>, now: Option<UnixTime>) {
        let before = self.status.failing.take();
        self.status.failing = problem.map(|error| ReloadFailure {
            error: error.clone(),
            at: now,
            since: before.as_ref().map_or(now, |failure| failure.since),
            attempts: before.as_ref().map_or(0, |failure| failure.attempts) + 1,
        });
    }
}

impl<T: ?Sized, V: Version> fmt::Debug for Slot<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("what", &self.what)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
