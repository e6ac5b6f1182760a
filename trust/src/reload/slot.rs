//! The current value of something that can be reloaded.
//!
//! Reloads may run concurrently. Each takes a ticket when it begins. A reload is overtaken if one
//! with a later ticket has finished; it then does not replace the value, because it may have read
//! older files. A reload starts over if one with an earlier ticket has replaced the current value
//! in the meantime, because its own result was compared with an outdated value.

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
    /// The description of the value for logs.
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
    /// The error that the reload returns, if any.
    pub(super) problem: Option<ReloadError>,
    /// The flaws of `value`. They do not make the reload fail.
    pub(super) flaws: Vec<ReloadError>,
}

impl<T: ?Sized> Replacement<T> {
    /// Creates a result without flaws. If there is a `problem`, `value` may be old, or a part of
    /// it.
    pub(super) fn new(value: Arc<T>, problem: Option<ReloadError>) -> Self {
        Self {
            value,
            problem,
            flaws: Vec::new(),
        }
    }

    /// Creates the result of a failed load, after which `held` stays in use.
    pub(super) fn failed(held: &Arc<T>, error: ReloadError) -> Self {
        Self::new(held.clone(), Some(error))
    }
}

struct Journal<V> {
    /// The ticket of the latest reload that was not overtaken.
    last: u64,
    /// The version that this reload read. `None` if it failed or found flaws, so that
    /// [`Slot::reload_if_changed`] then reads even unchanged files.
    version: Option<V>,
    status: ReloadStatus,
}

impl<T: ?Sized, V: Version> Slot<T, V> {
    /// Creates a slot with `first`, which was read from sources of `version` and has `flaws`.
    pub(super) fn new(
        what: String,
        clock: Arc<dyn TimeProvider>,
        first: Arc<T>,
        flaws: Vec<ReloadError>,
        version: V,
    ) -> Self {
        for flaw in &flaws {
            warn!("{what}: active, but {flaw}");
        }
        let version = flaws.is_empty().then_some(version);
        let status = ReloadStatus {
            in_force_since: clock.current_time(),
            flaws,
            ..ReloadStatus::default()
        };
        Self {
            what,
            clock,
            current: RwLock::new(first),
            tickets: AtomicU64::new(0),
            journal: Mutex::new(Journal {
                last: 0,
                version,
                status,
            }),
        }
    }

    pub(super) fn current(&self) -> Arc<T> {
        // recover from poisoning: replacing an `Arc` is a single step
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn status(&self) -> ReloadStatus {
        self.journal().status.clone()
    }

    /// Reloads if the sources' version has changed, or could hide a change because it was not
    /// [settled](Version::is_settled). Also reloads if the previous reload failed or found flaws.
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

    /// Replaces the current value with the result of `load`. `load` gets the current value, and
    /// returns it if nothing has changed. Calls `version` first, so that the next reload sees
    /// changes during the load.
    ///
    /// # Errors
    ///
    /// Returns the problem reported by `load`. The value from `load` is still used, unless the
    /// reload was overtaken.
    pub(super) fn reload(
        &self,
        version: impl FnOnce() -> V,
        mut load: impl FnMut(&Arc<T>) -> Replacement<T>,
    ) -> Result<Reload, Arc<ReloadError>> {
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed) + 1;
        let version = version();
        // repeat while reloads with earlier tickets replace the value
        let (reload, problem, news) = loop {
            let held = self.current();
            let loaded = load(&held);
            let problem = loaded.problem.map(Arc::new);
            let findings = Findings {
                version: &version,
                problem: problem.as_ref(),
                flaws: loaded.flaws,
            };
            if let Some((reload, news)) = self.conclude(ticket, &held, loaded.value, findings) {
                break (reload, problem, news);
            }
        };
        for line in news {
            warn!("{}: {line}", self.what);
        }
        debug!("{}: {reload:?}", self.what);
        problem.map_or(Ok(reload), Err)
    }

    /// Replaces `held` with `value`, unless a later reload has already finished. Returns what
    /// happened, and the lines to log. Returns `None` if `held` is no longer current.
    fn conclude(
        &self,
        ticket: u64,
        held: &Arc<T>,
        value: Arc<T>,
        findings: Findings<'_, V>,
    ) -> Option<(Reload, Vec<String>)> {
        // the clock is foreign code, so read it before taking the lock
        let now = self.clock.current_time();
        let fails = findings.problem.is_some();
        let mut journal = self.journal();
        // an overtaken reload may have read older files
        if ticket < journal.last {
            journal.status.failures += u64::from(fails);
            return Some((Reload::Overtaken, Vec::new()));
        }
        // the journal stays locked, so that its order is the order of reloads
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&current, held) {
            return None;
        }
        let is_same = Arc::ptr_eq(&current, &value);
        journal.status.failures += u64::from(fails);
        journal.last = ticket;
        let news = journal.note(findings, is_same, now);

        if is_same {
            journal.status.unchanged += u64::from(!fails);
            return Some((Reload::Unchanged, news));
        }
        let replaced = std::mem::replace(&mut *current, value);
        journal.status.reloads += 1;
        journal.status.in_force_since = now;
        drop(current);
        drop(journal);
        drop(replaced); // outside of the locks: it may be large
        Some((Reload::Replaced, news))
    }

    /// Locks the journal, even if the lock is poisoned: a panic loses at most the result of one
    /// reload.
    fn journal(&self) -> MutexGuard<'_, Journal<V>> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of a load, apart from the loaded value.
struct Findings<'a, V> {
    version: &'a V,
    problem: Option<&'a Arc<ReloadError>>,
    flaws: Vec<ReloadError>,
}

impl<V: Version> Journal<V> {
    /// Records the result of the latest reload. Returns the lines to log: its problem or, without
    /// one, its flaws, unless the status already contains them.
    fn note(
        &mut self,
        findings: Findings<'_, V>,
        is_same: bool,
        now: Option<UnixTime>,
    ) -> Vec<String> {
        let Findings {
            version,
            problem,
            flaws,
        } = findings;
        let before = self.status.failing.take();
        let mut news = Vec::new();
        if let Some(problem) = problem {
            let text = problem.lasting_text();
            let is_known = |failure: &ReloadFailure| failure.error.lasting_text() == text;
            if !before.as_ref().is_some_and(is_known) {
                let outcome = match is_same {
                    true => "not replaced, the old content stays in use",
                    false => "partly replaced, the rest of the old content stays in use",
                };
                news.push(format!("{outcome}: {problem}"));
            }
            // the value that stays keeps its flaws
            if !is_same || !flaws.is_empty() {
                self.status.flaws = flaws;
            }
        } else {
            let texts = self.status.flaws.iter().map(ReloadError::lasting_text);
            let known: Vec<_> = texts.collect();
            let new = flaws
                .iter()
                .filter(|flaw| !known.contains(&flaw.lasting_text()));
            news.extend(new.map(|flaw| format!("active, but {flaw}")));
            self.status.flaws = flaws;
        }
        let is_clean = problem.is_none() && self.status.flaws.is_empty();
        self.version = is_clean.then(|| version.clone());
        self.status.failing = problem.map(|error| ReloadFailure {
            error: error.clone(),
            at: now,
            since: before.as_ref().map_or(now, |failure| failure.since),
            attempts: before.as_ref().map_or(0, |failure| failure.attempts) + 1,
        });
        news
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
