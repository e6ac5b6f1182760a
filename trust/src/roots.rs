//! Root certificates, which configurations with the same source share.
//!
//! `source` defines the sources and their equality; `read` reads and parses them; `error` defines
//! errors and skipped items. The cache itself is in [`cache`](crate::cache).

mod error;
mod read;
mod source;

use std::borrow::Cow;
use std::path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pki_types::UnixTime;
use rustls::RootCertStore;

pub use self::error::{IgnoredCertificate, IgnoredReason, RootsError};
pub(crate) use self::read::CachedRoots;
pub use self::source::RootSource;
use crate::FileError;
use crate::cache::{Cache, SourceKind};
use crate::loading::Loaded;

/// A cache of root certificates, for example from files, directories and the platform. Callers with
/// the same source share one [`RootCertStore`].
///
/// The first caller reads and parses a source. Meanwhile, other callers of the same source wait;
/// callers of other sources do not. The first call after a source's lifetime rereads it. If the
/// roots are unchanged, the cache keeps the same store. If the source cannot be read, has no usable
/// root, or lacks roots while part of it has become unusable, the cache also keeps the old store,
/// sets [`failed_reload`](LoadedRoots::failed_reload), and logs the reason if it is new. Existing
/// configurations keep the store that they were created with.
///
/// So roots are normally not lost if a bundle is cut off inside a certificate, or if a file in a
/// directory cannot be read. A bundle that ends between two certificates looks complete: replace
/// files by renaming. Missing roots are removed if nothing in the source has become unusable, or
/// after [`invalidate`](Self::invalidate). So check [`failed_reload`](LoadedRoots::failed_reload)
/// after removing a root that must no longer be trusted.
///
/// The cache does not hold verification results, unlike `ClientConfig::verified_chains`.
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
pub type RootCache = Cache<RootSource>;

impl RootCache {
    /// Returns only the store that [`load`](Self::load) returns.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`load`](Self::load).
    pub fn store(&self, source: &RootSource) -> Result<Arc<RootCertStore>, RootsError> {
        self.loaded(source).map(|loaded| loaded.value.store.clone())
    }
}

impl SourceKind for RootSource {
    type Content = LoadedRoots;

    const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

    fn absolute(&self) -> Result<Cow<'_, Self>, FileError> {
        let absolute = |path| path::absolute(path).map_err(|error| FileError::io(path, error));
        Ok(match self {
            Self::PemFile(path) if path.is_relative() => Cow::Owned(Self::PemFile(absolute(path)?)),
            Self::Directory(path) if path.is_relative() => {
                Cow::Owned(Self::Directory(absolute(path)?))
            }
            _ => Cow::Borrowed(self),
        })
    }

    fn content(loaded: Loaded<Self>) -> LoadedRoots {
        let CachedRoots {
            store,
            faults,
            duplicates,
            ..
        } = &*loaded.value;
        LoadedRoots {
            store: store.clone(),
            ignored: faults.ignored.clone(),
            ignored_count: faults.count,
            duplicates: *duplicates,
            loaded_at: loaded.loaded_at,
            failed_reload: loaded.failure.map(Arc::unwrap_or_clone),
        }
    }

    fn global() -> &'static OnceLock<Arc<RootCache>> {
        static GLOBAL: OnceLock<Arc<RootCache>> = OnceLock::new();
        &GLOBAL
    }
}

/// The roots from one source in a [`RootCache`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedRoots {
    /// The roots, never empty. If they are unchanged when the cache reads the source again, the
    /// store stays the same.
    pub store: Arc<RootCertStore>,
    /// The skipped certificates and files, and errors reported by the platform. Only the first
    /// thousand are listed.
    pub ignored: Arc<[IgnoredCertificate]>,
    /// The number of all such items, listed or not.
    pub ignored_count: usize,
    /// The number of duplicate certificates. The store contains each of them once.
    pub duplicates: usize,
    /// The time at which the source was last read successfully, or `None` if the clock did not
    /// return a time.
    pub loaded_at: Option<UnixTime>,
    /// The reason why the last attempt to reread the source failed, if it did. `store` is then the
    /// old store.
    pub failed_reload: Option<RootsError>,
}
