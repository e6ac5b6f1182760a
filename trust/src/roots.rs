//! Root certificates, loaded once and shared by all configurations.
//!
//! `source` defines the sources and their equality; `read` reads and parses them; `error` describes
//! what was skipped. The lifetime is handled by [`loading`](super::loading).

mod error;
mod read;
mod source;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pki_types::UnixTime;
use rustls::RootCertStore;
use rustls::certificates::CacheStats;
use rustls::time_provider::TimeProvider;

pub use self::error::{IgnoredCertificate, IgnoredReason, RootsError};
use self::read::Roots;
pub use self::source::RootSource;
use super::loading::{Loaded, LoadingCache, Policy};

/// A cache of root certificates from files, directories and the platform. Callers with the same
/// source share one [`RootCertStore`].
///
/// The first caller reads and parses a source. Others that need the same source wait; other sources
/// are not affected. After its lifetime, a source is read again. If the roots are unchanged, the
/// cache keeps the same store. If the source cannot be read, the cache also keeps the old store,
/// logs a warning and sets [`failed_reload`](LoadedRoots::failed_reload). Existing configurations
/// keep the store that they were created with.
///
/// The cache holds no results of verification: each handshake checks dates, names and signatures.
///
/// ```
/// use std::time::Duration;
///
/// use rustls_trust::RootCache;
///
/// let hourly = RootCache::new()
///     .with_lifetime(Duration::from_secs(60 * 60))
///     .with_capacity(16);
/// assert_eq!(hourly.stats().entries, 0);
/// ```
#[derive(Debug)]
pub struct RootCache {
    cache: LoadingCache<RootSource>,
}

impl RootCache {
    /// Creates an empty cache for 64 sources, with a lifetime of 24 hours and the system's clock.
    pub fn new() -> Self {
        Self {
            cache: LoadingCache::new(Policy::default()),
        }
    }

    /// Sets the time until a source is read again, in whole seconds.
    ///
    /// [`Duration::ZERO`] turns the cache off: each call reads and parses. [`Duration::MAX`]
    /// disables expiry. Immutable sources, such as PEM in memory and the roots of `webpki-roots`,
    /// never expire.
    ///
    /// A store counts as expired if its time of loading is in the future because the clock was set
    /// back. While the clock does not know the time, every store does.
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.cache.policy_mut().lifetime = lifetime;
        self
    }

    /// Sets the time between a failed attempt to read a source again and the next attempt. The old
    /// store is returned meanwhile. One minute by default, and never longer than the lifetime.
    pub fn with_retry_interval(mut self, interval: Duration) -> Self {
        self.cache.policy_mut().retry_interval = interval;
        self
    }

    /// Sets whether each call checks the size and modification time of a file, or of a directory
    /// and all its files. If they have changed, the source is read again at once.
    ///
    /// Off by default: changes are then seen after the lifetime. The check needs a system call per
    /// file. It does not work for the roots of the platform.
    pub fn with_change_detection(mut self, at_each_call: bool) -> Self {
        self.cache.policy_mut().check_for_changes = at_each_call;
        self
    }

    /// Sets the maximum number of sources. Beyond it, the least recently used one is evicted.
    pub fn with_capacity(mut self, sources: usize) -> Self {
        self.cache.policy_mut().capacity = sources;
        self
    }

    /// Sets the clock that measures lifetimes.
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

    /// Returns the roots of `source`.
    ///
    /// # Errors
    ///
    /// [`RootsError`] if the source cannot be read or has no usable root, and no older store is
    /// cached. Errors are not cached: the next call tries again.
    pub fn load(&self, source: &RootSource) -> Result<LoadedRoots, RootsError> {
        let loaded = self.cache.load(&*source.absolute()?);
        loaded
            .map(LoadedRoots::new)
            .map_err(|error| (*error).clone())
    }

    /// Returns only the store that [`load`](Self::load) returns.
    ///
    /// # Errors
    ///
    /// The errors of [`load`](Self::load).
    pub fn store(&self, source: &RootSource) -> Result<Arc<RootCertStore>, RootsError> {
        match self.cache.load(&*source.absolute()?) {
            Ok(loaded) => Ok(loaded.value.store.clone()),
            Err(error) => Err((*error).clone()),
        }
    }

    /// Reads `source` now, regardless of the age of the cached roots. If that fails, returns the
    /// cached ones with [`LoadedRoots::failed_reload`] set.
    ///
    /// # Errors
    ///
    /// The errors of [`load`](Self::load).
    pub fn reload(&self, source: &RootSource) -> Result<LoadedRoots, RootsError> {
        let loaded = self.cache.reload(&*source.absolute()?);
        loaded
            .map(LoadedRoots::new)
            .map_err(|error| (*error).clone())
    }

    /// Removes the entry of `source`, so that the next call reads it.
    pub fn invalidate(&self, source: &RootSource) {
        // without a current directory, no relative path is cached
        if let Ok(source) = source.absolute() {
            self.cache.invalidate(&source);
        }
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.cache.clear();
    }

    /// Returns the statistics. `bytes` counts the roots, and PEM in memory.
    ///
    /// A call that waited for another thread's load counts as a hit.
    pub fn stats(&self) -> CacheStats {
        self.cache.stats()
    }
}

impl Default for RootCache {
    fn default() -> Self {
        Self::new()
    }
}

static GLOBAL: OnceLock<Arc<RootCache>> = OnceLock::new();

/// The roots of a source in a [`RootCache`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedRoots {
    /// The roots, never empty. If a source is read again and unchanged, the store stays the same.
    pub store: Arc<RootCertStore>,
    /// The skipped certificates and files: the first thousand of
    /// [`ignored_count`](Self::ignored_count).
    pub ignored: Arc<[IgnoredCertificate]>,
    /// The number of skipped certificates and files.
    pub ignored_count: usize,
    /// The number of duplicate certificates. The store has each once.
    pub duplicates: usize,
    /// The time of reading; `None` if the clock did not know it.
    pub loaded_at: Option<UnixTime>,
    /// The reason why the source could not be read again; `store` is then the old one.
    pub failed_reload: Option<RootsError>,
}

impl LoadedRoots {
    fn new(loaded: Loaded<RootSource>) -> Self {
        let Roots {
            store,
            ignored,
            ignored_count,
            duplicates,
        } = &*loaded.value;
        Self {
            store: store.clone(),
            ignored: ignored.clone(),
            ignored_count: *ignored_count,
            duplicates: *duplicates,
            loaded_at: loaded.loaded_at,
            failed_reload: loaded.failure.map(|error| (*error).clone()),
        }
    }
}
