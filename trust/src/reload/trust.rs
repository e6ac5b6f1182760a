//! Roots and revocation lists from their sources.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use pki_types::UnixTime;
use rustls::RootCertStore;
use rustls::certificates::RevocationList;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};

use super::ReloadError;
use crate::files::FileVersion;
use crate::loading::{Source, Version};
use crate::revocation::{Lists, order};
use crate::{CrlError, CrlSource, IgnoredCertificate, LoadedRoots, RootCache, RootSource};

/// The sources of trust: the shared part of the builders of both sides.
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
    /// Returns an error if they cannot be read. Also if they differ and contain new unusable items:
    /// the file may be half written, and lack roots.
    fn load_roots(&self, held: Option<&ActiveRoots>) -> Result<ActiveRoots, ReloadError> {
        let loaded = RootCache::global()
            .reload(&self.roots)
            .map_err(ReloadError::Roots)?;
        if let Some(error) = loaded.failed_reload {
            return Err(ReloadError::Roots(error));
        }
        match held {
            // a disabled cache reads equal roots into a new store
            Some(held) if held.store.roots == loaded.store.roots => Ok(held.clone()),
            Some(held) if has_new_faults(&loaded, held) => {
                Err(ReloadError::UnusableRoots(loaded.ignored))
            }
            _ => Ok(ActiveRoots {
                store: loaded.store,
                ignored: loaded.ignored,
                ignored_count: loaded.ignored_count,
            }),
        }
    }

    /// Reads all sources. A source that cannot be read keeps its content in `held`, and is reported
    /// as a problem.
    ///
    /// # Errors
    ///
    /// The same problems if nothing is `held`.
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

/// The current roots.
#[derive(Clone)]
struct ActiveRoots {
    store: Arc<RootCertStore>,
    /// The skipped items of the source at the first reading, as far as they are named.
    ignored: Arc<[IgnoredCertificate]>,
    /// The number of skipped items.
    ignored_count: usize,
}

/// True if `loaded` has skipped items that `held` does not have.
fn has_new_faults(loaded: &LoadedRoots, held: &ActiveRoots) -> bool {
    if held.ignored_count < loaded.ignored_count {
        return true;
    }
    // if there are too many to be named, only their number is compared
    let are_named = held.ignored_count == held.ignored.len();
    let known = faults(&held.ignored);
    let is_new = |(fault, count)| known.get(&fault).is_none_or(|known| *known < count);
    are_named && faults(&loaded.ignored).into_iter().any(is_new)
}

/// Counts the faults per file and kind. Positions are ignored, because they shift with other
/// content.
fn faults(ignored: &[IgnoredCertificate]) -> BTreeMap<(Option<&Path>, String), usize> {
    let mut faults = BTreeMap::new();
    for IgnoredCertificate { file, reason, .. } in ignored {
        let fault = (file.as_deref(), format!("{reason:?}"));
        *faults.entry(fault).or_default() += 1;
    }
    faults
}

/// The trusted roots and the revocation lists.
pub(super) struct Trust {
    roots: ActiveRoots,
    /// One element per source, each non-empty.
    crls: Vec<Arc<Lists>>,
    /// The lists of all sources, latest first.
    crls_in_order: Vec<Arc<RevocationList>>,
}

impl Trust {
    fn new(roots: ActiveRoots, crls: Vec<Arc<Lists>>, now: Option<UnixTime>) -> Self {
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
        &self.roots.store
    }

    /// Returns the lists of all sources, latest first, because a verifier uses the first list that
    /// covers a certificate.
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
    /// Immutable.
    Constant,
    /// Unknown without reading.
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
