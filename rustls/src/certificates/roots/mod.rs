//! Root certificates, loaded once and shared by all configurations that ask for them.
//!
//! `source` says where they come from and which sources are the same; `read` reads and parses them; `error` names
//! what could not be used. How long they are kept is in [`loading`](super::loading).

mod error;
mod read;
mod source;

use alloc::sync::Arc;
use core::time::Duration;
use std::sync::OnceLock;

use pki_types::UnixTime;

pub use self::error::{IgnoredCertificate, IgnoredReason, RootsError};
use self::read::Roots;
pub use self::source::RootSource;
use super::CacheStats;
use super::loading::{Loaded, LoadingCache, Policy};
use crate::RootCertStore;
use crate::time_provider::TimeProvider;

impl RootCertStore {
    /// The roots of `source`, out of the cache of the process, [`RootCache::global`].
    ///
    /// They are read and parsed by the first call. Later ones are given the same store, until it is a day old; then
    /// it is read anew.
    ///
    #[cfg_attr(feature = "aws_lc_rs", doc = "```no_run")]
    #[cfg_attr(not(feature = "aws_lc_rs"), doc = "```ignore")]
    /// use rustls::certificates::RootSource;
    /// use rustls::{ClientConfig, RootCertStore};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let source = RootSource::PemFile("/etc/ssl/certs/ca-certificates.crt".into());
    /// let config = ClientConfig::builder()
    ///     .with_root_certificates(RootCertStore::cached(&source)?)
    ///     .with_no_client_auth();
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`RootCache::load`].
    pub fn cached(source: &RootSource) -> Result<Arc<Self>, RootsError> {
        RootCache::global().store(source)
    }
}

/// Keeps the root certificates of files, directories and the platform, so that all who ask for the same source
/// share one [`RootCertStore`].
///
/// A source is read and parsed by the first who asks. Others who ask for it meanwhile wait; those who ask for other
/// sources do not. When its lifetime is over it is read again: if it has the same roots as before, the same store
/// goes on being handed out. If it cannot be read, so does the old store, with a warning in the log and a
/// [note](LoadedRoots::failed_reload) to the caller. Configurations that were made before keep the store that they
/// were made with.
///
/// No result of a verification is kept here: dates, names and signatures are checked at each handshake.
///
/// ```
/// use core::time::Duration;
///
/// use rustls::certificates::RootCache;
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
    /// An empty cache: of 64 sources, with a lifetime of 24 hours, by the clock of the system.
    pub fn new() -> Self {
        Self {
            cache: LoadingCache::new(Policy::default()),
        }
    }

    /// How long a store is handed out before its source is read again, to whole seconds.
    ///
    /// [`Duration::ZERO`] turns the cache off: each call reads and parses. With [`Duration::MAX`] no store ever gets
    /// too old. What never changes, PEM in memory and the roots of `webpki-roots`, never gets too old either.
    ///
    /// A store that was read in what is now the future, because the clock was set back since, counts as too old; so
    /// does every store while the clock does not know the time.
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.cache.policy_mut().lifetime = lifetime;
        self
    }

    /// How long to wait, after a source could not be read again, before the next attempt; the old store is handed out
    /// meanwhile. One minute by default, and never longer than the lifetime.
    pub fn with_retry_interval(mut self, interval: Duration) -> Self {
        self.cache.policy_mut().retry_interval = interval;
        self
    }

    /// Whether each call looks at the size and the modification time of a file, or of a directory and of all files
    /// in it, and reads it again at once when they have changed.
    ///
    /// By default this is off, and a change is seen when the lifetime is over. It takes a system call for each
    /// file. What the platform trusts cannot be looked at in this way.
    pub fn with_change_detection(mut self, at_each_call: bool) -> Self {
        self.cache.policy_mut().check_for_changes = at_each_call;
        self
    }

    /// How many sources are kept. One more replaces the one that was used least recently.
    pub fn with_capacity(mut self, sources: usize) -> Self {
        self.cache.policy_mut().capacity = sources;
        self
    }

    /// The clock by which lifetimes are measured.
    pub fn with_time_provider(mut self, time_provider: Arc<dyn TimeProvider>) -> Self {
        self.cache.policy_mut().time_provider = time_provider;
        self
    }

    /// The cache of the process: what [`install_global`](Self::install_global) was given, or else a
    /// [`new`](Self::new) one.
    pub fn global() -> &'static Arc<Self> {
        GLOBAL.get_or_init(Arc::default)
    }

    /// Makes this the cache of the process.
    ///
    /// # Errors
    ///
    /// `self` when there is one already: it was installed or used before.
    pub fn install_global(self) -> Result<(), Arc<Self>> {
        GLOBAL.set(Arc::new(self))
    }

    /// The roots of `source`.
    ///
    /// # Errors
    ///
    /// [`RootsError`] when it cannot be read or has no usable root, and there is no older store to go on with. It is
    /// not kept: the next call tries again.
    pub fn load(&self, source: &RootSource) -> Result<LoadedRoots, RootsError> {
        let loaded = self.cache.load(&*source.absolute()?);
        loaded
            .map(LoadedRoots::new)
            .map_err(|error| (*error).clone())
    }

    /// The roots of `source`, without what [`load`](Self::load) tells about them.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn store(&self, source: &RootSource) -> Result<Arc<RootCertStore>, RootsError> {
        match self.cache.load(&*source.absolute()?) {
            Ok(loaded) => Ok(loaded.value.store.clone()),
            Err(error) => Err((*error).clone()),
        }
    }

    /// The roots of `source`, read now, however young those are that the cache has. If that fails, these are kept,
    /// and returned with [`LoadedRoots::failed_reload`].
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn reload(&self, source: &RootSource) -> Result<LoadedRoots, RootsError> {
        let loaded = self.cache.reload(&*source.absolute()?);
        loaded
            .map(LoadedRoots::new)
            .map_err(|error| (*error).clone())
    }

    /// Forgets what is kept of `source`, so that the next call reads it.
    pub fn invalidate(&self, source: &RootSource) {
        // without a current directory nothing relative to it is kept
        if let Ok(source) = source.absolute() {
            self.cache.invalidate(&source);
        }
    }

    /// Forgets everything that is kept.
    pub fn clear(&self) {
        self.cache.clear();
    }

    /// What the cache holds, and how much it helped. Bytes are those of the roots, and of PEM in memory.
    ///
    /// A call that waited for the load of another thread counts as a hit.
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

/// What a [`RootCache`] has of a source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedRoots {
    /// The roots, never none. A source that is read again and has the same roots keeps its store.
    pub store: Arc<RootCertStore>,
    /// What was passed over: the first thousand of [`ignored_count`](Self::ignored_count).
    pub ignored: Arc<[IgnoredCertificate]>,
    /// How much was passed over.
    pub ignored_count: usize,
    /// How many certificates came more than once. They count once.
    pub duplicates: usize,
    /// When they were read; `None` when the clock did not know.
    pub loaded_at: Option<UnixTime>,
    /// Why they could not be read again: these are the old ones.
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
