//! The cache of revocation lists from files.

use alloc::sync::Arc;
use core::time::Duration;
use std::sync::OnceLock;

use pki_types::UnixTime;

use super::RevocationList;
use super::error::{CrlError, CrlProblem};
use super::source::{CrlSource, TimedSource};
use crate::certificates::CacheStats;
use crate::certificates::loading::{Loaded, LoadingCache, Policy};
use crate::time_provider::TimeProvider;

/// Keeps the revocation lists of files and directories, so that all who ask for the same source share them, and
/// reads them again from time to time.
///
/// A source is read and parsed by the first who asks. Others who ask for it meanwhile wait; those who ask for other
/// sources do not.
///
/// A list that is in use stays in use: what is read later replaces it only by a list that does not say it was issued
/// earlier, by its `thisUpdate` and then by its number (RFC 5280 §5.2.3). When its file is gone, empty or damaged, or
/// has an older list, the one in use stays, with a warning to the log and a [note](LoadedCrls::problems) to the
/// caller; other lists of the source are replaced nevertheless. A list dated in the future replaces none that is not, and
/// any that is not replaces it. To drop a list on purpose, such as that of an authority that no longer exists, call
/// [`invalidate`](Self::invalidate).
///
/// A source has at most 4096 lists of 512 MiB in all. Lists on disk always come first. At the limit, lists whose files are
/// gone are dropped, those dated in the future first, then those whose next update is the earliest. That is
/// [noted](super::CrlProblemReason::NoRoom), too.
///
/// None of that says that a list is genuine: its signature is verified when it is used, and a forged list makes
/// verifications fail until a genuine one is read that is not dated earlier than the forged one, or until
/// [`invalidate`](Self::invalidate). Nor does the cache drop a list whose next update is overdue: verifiers refuse to
/// use one if they were built with `enforce_revocation_expiration`.
///
/// A verifier keeps the lists that it was built with. To follow what this cache reads,
/// [build another one](crate::client::ServerCertVerifierBuilder::with_shared_crls).
///
#[cfg_attr(feature = "aws_lc_rs", doc = "```no_run")]
#[cfg_attr(not(feature = "aws_lc_rs"), doc = "```ignore")]
/// use std::sync::Arc;
///
/// use rustls::RootCertStore;
/// use rustls::certificates::{CrlCache, CrlSource, RootSource};
/// use rustls::server::WebPkiClientVerifier;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let roots = RootCertStore::cached(&RootSource::PemFile("/etc/clients/ca.pem".into()))?;
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
    /// An empty cache: of 64 sources, with a lifetime of one hour, by the clock of the system.
    pub fn new() -> Self {
        Self {
            cache: LoadingCache::new(Policy {
                lifetime: Duration::from_secs(60 * 60),
                ..Policy::default()
            }),
        }
    }

    /// How long lists are handed out before their source is read again, to whole seconds.
    ///
    /// [`Duration::MAX`]: for ever. [`Duration::ZERO`] turns the cache off: each call reads the source, with nothing
    /// to compare it with, so that older lists than before are taken.
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.cache.policy_mut().lifetime = lifetime;
        self
    }

    /// How long to wait, after a source could not be read again, before the next attempt; the old lists are handed out
    /// meanwhile. One minute by default, and never longer than the lifetime.
    pub fn with_retry_interval(mut self, interval: Duration) -> Self {
        self.cache.policy_mut().retry_interval = interval;
        self
    }

    /// Whether each call looks at the size and the modification time of a file, or of a directory and of all files
    /// in it, and reads it again at once when they have changed. By default this is off.
    pub fn with_change_detection(mut self, at_each_call: bool) -> Self {
        self.cache.policy_mut().check_for_changes = at_each_call;
        self
    }

    /// How many sources are kept. One more replaces the one that was used least recently; when that one is asked
    /// for again, there is nothing to compare it with.
    pub fn with_capacity(mut self, sources: usize) -> Self {
        self.cache.policy_mut().capacity = sources;
        self
    }

    /// The clock by which lifetimes are measured, and lists dated in the future recognized.
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

    /// The lists of `source`.
    ///
    /// # Errors
    ///
    /// [`CrlError`] when it cannot be read, has no list, or has something that cannot be used, and there are no
    /// older lists to go on with. It is not kept: the next call tries again.
    pub fn load(&self, source: &CrlSource) -> Result<LoadedCrls, CrlError> {
        let loaded = self.cache.load(&self.timed(source)?);
        loaded.map(LoadedCrls::new).map_err(Arc::unwrap_or_clone)
    }

    /// The lists of `source`, without what [`load`](Self::load) tells about them.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn lists(&self, source: &CrlSource) -> Result<Arc<[Arc<RevocationList>]>, CrlError> {
        self.load(source).map(|loaded| loaded.lists)
    }

    /// The lists of `source`, read now, however young those are that the cache has. If that fails, these are kept,
    /// and returned with [`LoadedCrls::failed_reload`].
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn reload(&self, source: &CrlSource) -> Result<LoadedCrls, CrlError> {
        let loaded = self.cache.reload(&self.timed(source)?);
        loaded.map(LoadedCrls::new).map_err(Arc::unwrap_or_clone)
    }

    /// Forgets what is kept of `source`, so that the next call reads it and takes what is there.
    pub fn invalidate(&self, source: &CrlSource) {
        // without a current directory nothing relative to it is kept
        if let Ok(source) = self.timed(source) {
            self.cache.invalidate(&source);
        }
    }

    /// Forgets everything that is kept.
    pub fn clear(&self) {
        self.cache.clear();
    }

    /// What the cache holds, and how much it helped. Bytes are those of the lists' encodings.
    ///
    /// A call that waited for the load of another thread counts as a hit. A failure is a load after which no list was
    /// replaced.
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

/// What a [`CrlCache`] has of a source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedCrls {
    /// The lists, never none: those that were issued last come first, because verifiers use the first of several
    /// that are for one certificate. A list that has not changed is the same one as before, and so are all of them
    /// together when none has.
    pub lists: Arc<[Arc<RevocationList>]>,
    /// Why some of them could not be replaced when they were read last.
    pub problems: Arc<[CrlProblem]>,
    /// When they were read; `None` when the clock did not know.
    pub loaded_at: Option<UnixTime>,
    /// Why none of them could be read again: these are the old ones.
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
