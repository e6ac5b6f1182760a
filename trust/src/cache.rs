//! The cache of roots and of revocation lists.
//!
//! [`Cache`] is the public face of a [`LoadingCache`]. `roots` and `revocation` have the sources.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::certificates::CacheStats;
use rustls::time_provider::TimeProvider;

use crate::FileError;
use crate::loading::{Loaded, LoadingCache, Policy, Source};

/// The kind of source that a [`Cache`] reads: [`RootSource`](crate::RootSource) or
/// [`CrlSource`](crate::CrlSource).
///
/// This trait is sealed.
pub trait CacheSource: SourceKind {}

impl<S: SourceKind> CacheSource for S {}

/// The part of [`Cache`] that differs between the two kinds of sources.
pub trait SourceKind: Source<Error: Clone + From<FileError>> + 'static {
    /// The content of a source, in the form that callers get.
    type Content;

    /// The default lifetime.
    const LIFETIME: Duration;

    /// Returns the same source, with an absolute path if it has a path.
    ///
    /// # Errors
    ///
    /// Returns an error if the path is empty, or is relative and there is no current directory.
    fn absolute(&self) -> Result<Cow<'_, Self>, FileError>;

    /// Converts a result of the cache to the form that callers get.
    fn content(loaded: Loaded<Self>) -> Self::Content;

    /// Returns the static that holds the process-wide cache.
    fn global() -> &'static OnceLock<Arc<Cache<Self>>>;
}

/// A cache of the contents of sources: [`RootCache`](crate::RootCache) or
/// [`CrlCache`](crate::CrlCache).
///
/// The first caller reads and parses a source. Meanwhile, other callers of the same source wait;
/// callers of other sources do not. The first call after a source's lifetime rereads it. If that
/// fails, the cache keeps the old content, reports the failure, and logs it if it is new.
#[derive(Debug)]
pub struct Cache<S: CacheSource> {
    cache: LoadingCache<S>,
}

impl<S: CacheSource> Cache<S> {
    /// Creates an empty cache for up to 64 sources, with the system's clock. The lifetime is 24
    /// hours for roots, and one hour for revocation lists.
    pub fn new() -> Self {
        Self {
            cache: LoadingCache::new(Policy {
                lifetime: S::LIFETIME,
                ..Policy::default()
            }),
        }
    }

    /// Sets the time until a source is reread. Ages are measured in whole seconds.
    ///
    /// [`Duration::ZERO`] turns the cache off: each call reads and parses, and accepts older
    /// revocation lists because there is nothing to compare with. [`Duration::MAX`] disables
    /// expiry. Immutable sources, such as PEM in memory and the roots of `webpki-roots`, never
    /// expire.
    ///
    /// Content that can expire counts as expired if it was loaded at a time that is now in the
    /// future, because the clock was set back. It also does if the clock returned no time at the
    /// load, or returns none now.
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.cache.policy_mut().lifetime = lifetime;
        self
    }

    /// Sets how long to wait after a failed attempt to reread a source before the next attempt.
    /// Until then, [`load`](Self::load) returns the old content, unless change detection finds a
    /// change or cannot rule one out. The default is one minute; the interval never exceeds the
    /// lifetime.
    pub fn with_retry_interval(mut self, interval: Duration) -> Self {
        self.cache.policy_mut().retry_interval = interval;
        self
    }

    /// Makes each call check the metadata of a file, or of a directory and all its files, and
    /// reread the source if it has changed. A source that had just been written when it was read is
    /// also reread, because a later change may have the same metadata.
    ///
    /// Off by default, so that changes are noticed when the lifetime is over. Turn it on if that is
    /// too late and calls are rare, because each call then costs at least one system call per file.
    /// Changes to the platform's roots are not detected.
    pub fn with_change_detection(mut self, at_each_call: bool) -> Self {
        self.cache.policy_mut().check_for_changes = at_each_call;
        self
    }

    /// Sets the maximum number of sources. Beyond it, the least recently used source is evicted,
    /// except while it is being read. An evicted source is read as if for the first time: fewer
    /// roots and older revocation lists are accepted.
    pub fn with_capacity(mut self, sources: usize) -> Self {
        self.cache.policy_mut().capacity = sources;
        self
    }

    /// Sets the clock that measures lifetimes and detects lists dated in the future.
    pub fn with_time_provider(mut self, time_provider: Arc<dyn TimeProvider>) -> Self {
        self.cache.policy_mut().time_provider = time_provider;
        self
    }

    /// Returns the process-wide cache: the one passed to [`install_global`](Self::install_global),
    /// or a [`new`](Self::new) one.
    pub fn global() -> &'static Arc<Self> {
        S::global().get_or_init(Arc::default)
    }

    /// Makes this the process-wide cache.
    ///
    /// # Errors
    ///
    /// Returns `self` if a process-wide cache has already been installed or used.
    pub fn install_global(self) -> Result<(), Arc<Self>> {
        S::global().set(Arc::new(self))
    }

    /// Returns the content of `source`: [`LoadedRoots`](crate::LoadedRoots) or
    /// [`LoadedCrls`](crate::LoadedCrls).
    ///
    /// # Errors
    ///
    /// If no older content is cached, returns
    ///
    /// - [`RootsError`](crate::RootsError) if the source cannot be read or has no usable root.
    /// - [`CrlError`](crate::CrlError) if the source cannot be read, exceeds a limit, or has no
    ///   usable list. When it is read for the first time, anything unusable is an error.
    ///
    /// A relative path without a current directory, and an empty path, are always errors. Errors
    /// are not cached: the next call tries again.
    pub fn load(&self, source: &S) -> Result<S::Content, S::Error> {
        self.loaded(source).map(S::content)
    }

    /// Reads `source` now, regardless of the age of the cached content. If that fails, returns the
    /// cached content with its `failed_reload` set.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`load`](Self::load).
    pub fn reload(&self, source: &S) -> Result<S::Content, S::Error> {
        self.reloaded(source).map(S::content)
    }

    /// Removes the entry for `source`. The next call for `source` reads it, and also accepts fewer
    /// roots and older revocation lists.
    pub fn invalidate(&self, source: &S) {
        // without a current directory, no relative path is cached
        if let Ok(source) = source.absolute() {
            self.cache.invalidate(&source);
        }
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.cache.clear();
    }

    /// Returns the statistics. `bytes` counts the roots, PEM in memory, and the encodings of
    /// revocation lists.
    ///
    /// A call that returns the result of another thread's load counts as a hit, or as a miss if
    /// that is an error. A load that fails counts as a failure, even if the old content is
    /// returned.
    pub fn stats(&self) -> CacheStats {
        self.cache.stats()
    }

    /// Reads `source` now, and returns the content in its cached form.
    pub(crate) fn reloaded(&self, source: &S) -> Result<Loaded<S>, S::Error> {
        let loaded = self.cache.reload(&*source.absolute()?);
        loaded.map_err(Arc::unwrap_or_clone)
    }

    /// Returns the content of `source` in its cached form.
    pub(crate) fn loaded(&self, source: &S) -> Result<Loaded<S>, S::Error> {
        let loaded = self.cache.load(&*source.absolute()?);
        loaded.map_err(Arc::unwrap_or_clone)
    }
}

impl<S: CacheSource> Default for Cache<S> {
    fn default() -> Self {
        Self::new()
    }
}
