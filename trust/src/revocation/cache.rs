//! The cache of revocation lists from files.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pki_types::UnixTime;
use rustls::certificates::{CacheStats, RevocationList};
use rustls::time_provider::TimeProvider;

use super::error::{CrlError, CrlProblem};
use super::source::{CrlSource, TimedSource};
use crate::loading::{Loaded, LoadingCache, Policy};

/// A cache of revocation lists from files and directories, which reads them again after some time.
/// Callers with the same source share the lists.
///
/// The first caller reads and parses a source. Others that need the same source wait; other sources
/// are not affected.
///
/// A cached list is replaced only by one that is not older, by `thisUpdate` and then by number (RFC
/// 5280 §5.2.3). If its file is missing, empty, damaged or older, the cached list stays. Then the
/// cache logs a warning and reports it in [`problems`](LoadedCrls::problems). Other lists of the
/// source are still replaced. A list dated in the future never replaces one that is not, but any
/// other list replaces it. To drop a list on purpose, for example of a former authority, call
/// [`invalidate`](Self::invalidate).
///
/// A source has at most 4096 lists of 512 MiB in total. Lists on disk have priority. At the limit,
/// lists without a file are dropped: first those dated in the future, then those with the earliest
/// next update. This is [reported](super::CrlProblemReason::NoRoom) too.
///
/// The cache does not verify lists: verifiers check the signature at each use. A forged list makes
/// verifications fail until the cache reads a genuine one that is not older, or until
/// [`invalidate`](Self::invalidate). The cache keeps overdue lists. Verifiers built with
/// `enforce_revocation_expiration` reject them.
///
/// A verifier keeps the lists that it was built with. To use lists read later, [build another
/// one](rustls::client::ServerCertVerifierBuilder::with_shared_crls).
///
/// ```no_run
/// use std::sync::Arc;
///
/// use rustls_trust::{CrlCache, CrlSource, RootCache, RootSource};
/// use rustls::server::WebPkiClientVerifier;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let roots = RootCache::global().store(&RootSource::PemFile("/etc/clients/ca.pem".into()))?;
/// let crls = CrlCache::global().lists(&CrlSource::Directory("/etc/clients/crls".into()))?;
/// let verifier = WebPkiClientVerifier::builder(roots)
///     .with_shared_crls(crls.iter().cloned())
///     .enforce_revocation_expiration()
///     .build()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct CrlCache {
    cache: LoadingCache<TimedSource>,
}

impl CrlCache {
    /// Creates an empty cache for 64 sources, with a lifetime of one hour and the system's clock.
    pub fn new() -> Self {
        Self {
            cache: LoadingCache::new(Policy {
                lifetime: Duration::from_secs(60 * 60),
                ..Policy::default()
            }),
        }
    }

    /// Sets the time until a source is read again, in whole seconds.
    ///
    /// [`Duration::MAX`] disables expiry. [`Duration::ZERO`] turns the cache off: each call reads
    /// the source, and accepts older lists because it has nothing to compare with.
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.cache.policy_mut().lifetime = lifetime;
        self
    }

    /// Sets the time between a failed attempt to read a source again and the next attempt. The old
    /// lists are returned meanwhile. One minute by default, and never longer than the lifetime.
    pub fn with_retry_interval(mut self, interval: Duration) -> Self {
        self.cache.policy_mut().retry_interval = interval;
        self
    }

    /// Sets whether each call checks the size and modification time of a file, or of a directory
    /// and all its files. If they have changed, the source is read again at once. Off by default.
    pub fn with_change_detection(mut self, at_each_call: bool) -> Self {
        self.cache.policy_mut().check_for_changes = at_each_call;
        self
    }

    /// Sets the maximum number of sources. Beyond it, the least recently used one is evicted. When
    /// an evicted source is read again, there is nothing to compare with.
    pub fn with_capacity(mut self, sources: usize) -> Self {
        self.cache.policy_mut().capacity = sources;
        self
    }

    /// Sets the clock that measures lifetimes and detects lists dated in the future.
    pub fn with_time_provider(mut self, time_provider: Arc<dyn TimeProvider>) -> Self {
        self.cache.policy_mut().time_provider = time_provider;
        self
    }

    /// Returns the process-wide cache: the one of [`install_global`](Self::install_global), or a
    /// [`new`](Self::new) one.
    pub fn global() -> &'static Arc<Self> {
        GLOBAL.get_or_init(Arc::default)
    }

    /// Makes this the process-wide cache.
    ///
    /// # Errors
    ///
    /// Returns `self` if there is one already, because it was installed or used before.
    pub fn install_global(self) -> Result<(), Arc<Self>> {
        GLOBAL.set(Arc::new(self))
    }

    /// Returns the lists of `source`.
    ///
    /// # Errors
    ///
    /// [`CrlError`] if the source cannot be read, has no list or something unusable, and no older
    /// lists are cached. Errors are not cached: the next call tries again.
    pub fn load(&self, source: &CrlSource) -> Result<LoadedCrls, CrlError> {
        let loaded = self.cache.load(&self.timed(source)?);
        loaded.map(LoadedCrls::new).map_err(Arc::unwrap_or_clone)
    }

    /// Returns only the lists that [`load`](Self::load) returns.
    ///
    /// # Errors
    ///
    /// The errors of [`load`](Self::load).
    pub fn lists(&self, source: &CrlSource) -> Result<Arc<[Arc<RevocationList>]>, CrlError> {
        self.load(source).map(|loaded| loaded.lists)
    }

    /// Reads `source` now, regardless of the age of the cached lists. If that fails, returns the
    /// cached ones with [`LoadedCrls::failed_reload`] set.
    ///
    /// # Errors
    ///
    /// The errors of [`load`](Self::load).
    pub fn reload(&self, source: &CrlSource) -> Result<LoadedCrls, CrlError> {
        let loaded = self.cache.reload(&self.timed(source)?);
        loaded.map(LoadedCrls::new).map_err(Arc::unwrap_or_clone)
    }

    /// Removes the entry of `source`. The next call reads the source and accepts older lists.
    pub fn invalidate(&self, source: &CrlSource) {
        // without a current directory, no relative path is cached
        if let Ok(source) = self.timed(source) {
            self.cache.invalidate(&source);
        }
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.cache.clear();
    }

    /// Returns the statistics. `bytes` counts the encodings of the lists.
    ///
    /// A call that waited for another thread's load counts as a hit. A load that replaced no list
    /// because of an error counts as a failure.
    pub fn stats(&self) -> CacheStats {
        self.cache.stats()
    }

    fn timed(&self, source: &CrlSource) -> Result<TimedSource, CrlError> {
        Ok(TimedSource {
            source: source.absolute()?.into_owned(),
            clock: self.cache.policy().time_provider.clone(),
        })
    }
}

impl Default for CrlCache {
    fn default() -> Self {
        Self::new()
    }
}

static GLOBAL: OnceLock<Arc<CrlCache>> = OnceLock::new();

/// The lists of a source in a [`CrlCache`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedCrls {
    /// The lists, never empty, latest first, because verifiers use the first list that covers a
    /// certificate. Unchanged lists keep their `Arc`, and so does the slice if all are unchanged.
    pub lists: Arc<[Arc<RevocationList>]>,
    /// The lists that could not be replaced in the last reading, with reasons.
    pub problems: Arc<[CrlProblem]>,
    /// The time of reading; `None` if the clock did not know it.
    pub loaded_at: Option<UnixTime>,
    /// The reason why the source could not be read again; `lists` are then the old ones.
    pub failed_reload: Option<CrlError>,
}

impl LoadedCrls {
    fn new(loaded: Loaded<TimedSource>) -> Self {
        Self {
            lists: loaded.value.lists.clone(),
            problems: loaded.value.problems.clone(),
            loaded_at: loaded.loaded_at,
            failed_reload: loaded.failure.map(Arc::unwrap_or_clone),
        }
    }
}
