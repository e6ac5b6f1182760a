//! The cache of revocation lists from files.

use std::borrow::Cow;
use std::path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pki_types::UnixTime;
use rustls::certificates::RevocationList;

use super::error::{CrlError, CrlProblem};
use super::source::CrlSource;
use crate::FileError;
use crate::cache::{Cache, SourceKind};
use crate::loading::Loaded;

/// A cache of revocation lists from files and directories, which reads them again after some time.
/// Callers with the same source share the lists.
///
/// The first caller reads and parses a source. Meanwhile, other callers of the same source wait;
/// callers of other sources do not.
///
/// A cached list is not replaced by an older one, comparing `thisUpdate` and then the number (RFC
/// 5280 §5.2.3). A list dated in the future counts as older than one that is not. If the file is
/// missing, empty, damaged or older, the cached list stays in use, as far as the limits allow. The
/// cache reports the problem in [`problems`](LoadedCrls::problems), and still replaces other lists
/// from the source. If no list can be read, or there are too many, all cached lists stay, and
/// [`failed_reload`](LoadedCrls::failed_reload) has the reason. New problems are logged. To drop a
/// list on purpose, for example one from a former authority, call [`invalidate`](Self::invalidate).
///
/// A source has at most 4096 lists of 512 MiB in total. Lists on disk have priority, even over
/// newer cached ones. If there is no room for all, cached lists without a file are dropped first,
/// and among these the ones dated in the future or with the earliest next update. This is also
/// [reported](super::CrlProblemReason::NoRoom).
///
/// The cache does not verify lists: verifiers check the signature at each use. A forged list makes
/// verifications of the certificates that it covers fail until the cache reads a genuine one that
/// is not older, or until [`invalidate`](Self::invalidate). The cache keeps overdue lists.
/// Verifiers built with `enforce_revocation_expiration` reject them.
///
/// A verifier keeps the lists that it was built with. To use lists read later, [build a new
/// verifier](rustls::client::ServerCertVerifierBuilder::with_shared_crls).
///
/// ```no_run
/// use rustls::server::WebPkiClientVerifier;
/// use rustls_trust::{CrlCache, CrlSource, RootCache, RootSource};
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
pub type CrlCache = Cache<CrlSource>;

impl CrlCache {
    /// Returns only the lists that [`load`](Self::load) returns.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`load`](Self::load).
    pub fn lists(&self, source: &CrlSource) -> Result<Arc<[Arc<RevocationList>]>, CrlError> {
        self.load(source).map(|loaded| loaded.lists)
    }
}

impl SourceKind for CrlSource {
    type Content = LoadedCrls;

    const LIFETIME: Duration = Duration::from_secs(60 * 60);

    fn absolute(&self) -> Result<Cow<'_, Self>, FileError> {
        let (Self::File(path) | Self::Directory(path)) = self;
        if path.is_absolute() {
            return Ok(Cow::Borrowed(self));
        }
        let absolute = path::absolute(path).map_err(|error| FileError::io(path, error))?;
        Ok(Cow::Owned(match self {
            Self::File(_) => Self::File(absolute),
            Self::Directory(_) => Self::Directory(absolute),
        }))
    }

    fn content(loaded: Loaded<Self>) -> LoadedCrls {
        LoadedCrls {
            lists: loaded.value.lists.clone(),
            problems: loaded.value.problems.clone(),
            loaded_at: loaded.loaded_at,
            failed_reload: loaded.failure.map(Arc::unwrap_or_clone),
        }
    }

    fn global() -> &'static OnceLock<Arc<CrlCache>> {
        static GLOBAL: OnceLock<Arc<CrlCache>> = OnceLock::new();
        &GLOBAL
    }
}

/// The lists from one source in a [`CrlCache`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedCrls {
    /// The lists, never empty. Verifiers use the first list that covers a certificate, so the
    /// latest comes first, and lists dated in the future come last. Lists that are unchanged when
    /// the cache reads the source again keep their `Arc`, and so does the slice if their order is
    /// unchanged, too.
    pub lists: Arc<[Arc<RevocationList>]>,
    /// The problems found when the source was last read successfully, such as damaged files and
    /// lists that could not be replaced.
    pub problems: Arc<[CrlProblem]>,
    /// The time at which the source was last read successfully, or `None` if the clock did not
    /// return a time.
    pub loaded_at: Option<UnixTime>,
    /// The reason why the last attempt to reread the source failed, if it did. `lists` then
    /// contains the old lists.
    pub failed_reload: Option<CrlError>,
}
