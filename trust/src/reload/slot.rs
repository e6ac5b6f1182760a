//! The current value of something that can be reloaded.
//!
//! Reloads may run concurrently. Each takes a ticket when it begins. A reload is overtaken if one
//! with a later ticket has finished; it changes nothing then, because it may have read older files.
//! A reload loads again if one with an earlier ticket replaced the current value meanwhile, because
//! it compared with an outdated value.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

use super::{Reload, ReloadError, ReloadFailure, ReloadStatus};
use crate::loading::Version;
use crate::logging::{debug, warn};

/// A value that can be reloaded, from sources of version `V`.
pub(super) struct Slot<T: ?Sized, V> {
    /// The description for logs.
    what: String,
    clock: Arc<dyn TimeProvider>,
    current: RwLock<Arc<T>>,
    tickets: AtomicU64,
    journal: Mutex<Journal<V>>,
}

/// The result of a load.
pub(super) struct Replacement<T: ?Sized> {
    /// The value to use from now on.
    pub(super) value: Arc<T>,
    /// Set if some source could not be used.
    pub(super) problem: Option<ReloadError>,
}

impl<T: ?Sized> Replacement<T> {
    /// Keeps `held` because of `error`.
    pub(super) fn failed(held: &Arc<T>, error: ReloadError) -> Self {
        Self {
            value: held.clone(),
            problem: Some(error),
        }
    }
}

struct Journal<V> {
    /// The ticket of the last reload that was not overtaken.
    last: u64,
    /// The version that it read. `None` if it failed: then the next reload reads even unchanged
    /// files.
    version: Option<V>,
    status: ReloadStatus,
}

impl<T: ?Sized, V: Version> Slot<T, V> {
    /// Creates a slot with `first`, which was read from sources of `version`.
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

    /// Returns the current value.
    pub(super) fn current(&self) -> Arc<T> {
        // recover from poisoning: an `Arc` is replaced at once
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn status(&self) -> ReloadStatus {
        self.journal().status.clone()
    }

    /// Reloads if the version of the sources has changed, or if the last reload failed.
    pub(super) fn reload_if_changed(
        &self,
        version: impl Fn() -> V,
        load: impl FnMut(&Arc<T>) -> Replacement<T>,
    ) -> Result<Reload, Arc<ReloadError>> {
        let found = version();
        let is_known = |known: &V| known.is_settled() && *known == found;
        if self.journal().version.as_ref().is_some_and(is_known) {
            return Ok(Reload::Unchanged);
        }
        self.reload(|| found, load)
    }

    /// Replaces the current value by the result of `load`. `load` gets the current value, and
    /// returns it if nothing has changed. `version` is called before, so that the next reload sees
    /// changes during the load.
    ///
    /// # Errors
    ///
    /// The problem of `load`. Its value is used nevertheless.
    pub(super) fn reload(
        &self,
        version: impl FnOnce() -> V,
        mut load: impl FnMut(&Arc<T>) -> Replacement<T>,
    ) -> Result<Reload, Arc<ReloadError>> {
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed) + 1;
        let version = version();
        // repeat while reloads with earlier tickets replace the value
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
            warn!("{}: not replaced, or only in part: {problem}", self.what);
        }
        debug!("{}: {reload:?}", self.what);
        problem.map_or(Ok(reload), Err)
    }

    /// Replaces `held` by `value`. Returns `None` if `held` is no longer current.
    fn conclude(
        &self,
        ticket: u64,
        held: &Arc<T>,
        value: Arc<T>,
        version: &V,
        problem: Option<&Arc<ReloadError>>,
    ) -> Option<Reload> {
        // foreign code: not under the lock
        let now = self.clock.current_time();
        let mut journal = self.journal();
        // an overtaken reload may have read older files
        if ticket < journal.last {
            journal.status.failures += u64::from(problem.is_some());
            return Some(Reload::Overtaken);
        }
        // the journal stays locked, so that its order is the order of reloads
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
        let replaced = std::mem::replace(&mut *current, value);
        journal.status.reloads += 1;
        journal.status.in_force_since = now;
        drop(current);
        drop(journal);
        drop(replaced); // outside of the locks: it may be large
        Some(Reload::Replaced)
    }

    /// Recovers from a poisoned lock: each change is complete before the lock is released.
    fn journal(&self) -> MutexGuard<'_, Journal<V>> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Journal<V> {
    /// Records the result of the latest reload.
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
