//! Reads the roots and revocation lists of a reloading verifier. If a source cannot be read, its
//! current content stays in use.

use std::sync::Arc;

use pki_types::UnixTime;
use rustls::RootCertStore;
use rustls::certificates::RevocationList;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};

use super::ReloadError;
use crate::cache::SourceKind;
use crate::files::FileVersion;
use crate::loading::{Source, Version};
use crate::revocation::{Lists, order};
use crate::roots::CachedRoots;
use crate::{CrlError, CrlSource, RootCache, RootSource, RootsError};

/// The sources of the roots and revocation lists, and the clock. The builders of both sides use
/// this type.
#[derive(Clone, Debug)]
pub(super) struct TrustSources {
    pub(super) roots: RootSource,
    pub(super) crls: Vec<CrlSource>,
    pub(super) clock: Arc<dyn TimeProvider>,
}

impl TrustSources {
    pub(super) fn new(roots: RootSource) -> Self {
        Self {
            roots,
            crls: Vec::new(),
            clock: Arc::new(DefaultTimeProvider),
        }
    }

    pub(super) fn versions(&self) -> SourceVersions {
        let roots = if self.roots.can_change() {
            SourceVersion::of(self.roots.version())
        } else {
            SourceVersion::Constant
        };
        let crls = self
            .crls
            .iter()
            .map(|source| SourceVersion::of(source.version()));
        SourceVersions([roots].into_iter().chain(crls).collect())
    }

    /// Reads the roots. Returns `held` if they are equal.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read, or if they differ from `held` and the source has
    /// new unusable items: the source may be half written, and lack roots.
    fn load_roots(&self, held: Option<&Arc<CachedRoots>>) -> Result<Arc<CachedRoots>, ReloadError> {
        let loaded = RootCache::global().reloaded(&self.roots)?;
        let found = match loaded.failure.as_deref() {
            None => loaded.value,
            // the cache compares with its own content, not with the roots that are active
            Some(RootsError::Lost { .. }) => {
                let roots = self.roots.absolute()?;
                roots.load(held, self.clock.current_time())?
            }
            Some(error) => return Err(error.clone().into()),
        };
        let Some(held) = held else {
            return Ok(found);
        };
        // a disabled cache reads equal roots into a new store
        if held.store().roots == found.store().roots {
            return Ok(held.clone());
        }
        match found.faults_since(held) {
            Some(faults) => Err(ReloadError::UnusableRoots(faults)),
            None => Ok(found),
        }
    }

    /// Reads all sources. If a source cannot be read, returns its content in `held` and a problem.
    ///
    /// # Errors
    ///
    /// Returns these problems if nothing is `held`.
    pub(super) fn load(
        &self,
        held: Option<&Trust>,
    ) -> Result<(Trust, Option<ReloadError>), ReloadError> {
        let mut problems = Vec::new();
        let roots = match (self.load_roots(held.map(|held| &held.roots)), held) {
            (Ok(roots), _) => roots,
            (Err(problem), Some(held)) => {
                problems.push(problem);
                held.roots.clone()
            }
            (Err(problem), None) => return Err(problem),
        };
        let mut crls = Vec::with_capacity(self.crls.len());
        for (number, source) in self.crls.iter().enumerate() {
            // compare with the current lists, not with lists that the cache has read
            let held = held.and_then(|held| held.crls.get(number));
            match (source.load(held, self.clock.current_time()), held) {
                (Ok(lists), _) => {
                    if !lists.problems().is_empty() {
                        let unusable = lists.problems().clone();
                        problems.push(ReloadError::Crls(CrlError::Unusable(unusable)));
                    }
                    crls.push(lists);
                }
                (Err(error), Some(held)) => {
                    problems.push(ReloadError::Crls(error));
                    crls.push(held.clone());
                }
                (Err(error), None) => return Err(ReloadError::Crls(error)),
            }
        }
        let problem = ReloadError::of(problems);
        match (held, problem) {
            (None, Some(problem)) => Err(problem),
            (_, problem) => Ok((Trust::new(roots, crls, self.clock.current_time()), problem)),
        }
    }
}

/// The trusted roots and the revocation lists.
pub(super) struct Trust {
    roots: Arc<CachedRoots>,
    /// The revocation lists, by source. Each source has at least one list.
    crls: Vec<Arc<Lists>>,
    /// The lists from all sources, latest first, except that lists dated in the future come last.
    crls_in_order: Vec<Arc<RevocationList>>,
}

impl Trust {
    fn new(roots: Arc<CachedRoots>, crls: Vec<Arc<Lists>>, now: Option<UnixTime>) -> Self {
        let mut crls_in_order = crls
            .iter()
            .flat_map(|lists| lists.lists().iter().cloned())
            .collect::<Vec<_>>();
        crls_in_order.sort_by(|one, two| order(two, now).cmp(&order(one, now)));
        Self {
            roots,
            crls,
            crls_in_order,
        }
    }

    pub(super) fn roots(&self) -> &Arc<RootCertStore> {
        self.roots.store()
    }

    /// Returns the lists from all sources in this order, because a verifier uses the first list
    /// that covers a certificate.
    pub(super) fn crls(&self) -> &[Arc<RevocationList>] {
        &self.crls_in_order
    }

    pub(super) fn has_crls(&self) -> bool {
        !self.crls.is_empty()
    }

    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.roots(), other.roots())
            && self.crls().len() == other.crls().len()
            && self
                .crls()
                .iter()
                .zip(other.crls())
                .all(|(a, b)| Arc::ptr_eq(a, b) || a.der() == b.der())
    }
}

/// The versions of all sources.
#[derive(Clone, PartialEq)]
pub(super) struct SourceVersions(Vec<SourceVersion>);

#[derive(Clone, PartialEq)]
enum SourceVersion {
    /// The source is immutable.
    Constant,
    /// The version cannot be determined without reading.
    Unknown,
    File(FileVersion),
}

impl SourceVersion {
    fn of(version: Option<FileVersion>) -> Self {
        version.map_or(Self::Unknown, Self::File)
    }
}

impl Version for SourceVersions {
    fn is_settled(&self) -> bool {
        self.0.iter().all(|version| match version {
            SourceVersion::Constant => true,
            SourceVersion::Unknown => false,
            SourceVersion::File(version) => version.is_settled(),
        })
    }
}
