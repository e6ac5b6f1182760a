//! Roots and revocation lists from their sources, and the verifier that is built from them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use pki_types::UnixTime;
use rustls::RootCertStore;
use rustls::certificates::RevocationList;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};

use super::slot::{Loaded, Slot};
use super::{Reload, ReloadError, ReloadStatus};
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

    fn versions(&self) -> SourceVersions {
        let roots = if self.roots.can_change() {
            SourceVersion::of(self.roots.version())
        } else {
            SourceVersion::Constant
        };
        let crls = self
            .crls
            .iter()
            .map(|source| SourceVersion::File(source.version()));
        SourceVersions([roots].into_iter().chain(crls).collect())
    }

    /// Reads the roots. Returns `held` if they are equal.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read. Also if they differ and contain new unusable items:
    /// the file may be half written, and lack roots.
    fn load_roots(&self, held: Option<&Roots>) -> Result<Roots, ReloadError> {
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
            _ => Ok(Roots {
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
    fn load(&self, held: Option<&Trust>) -> Result<(Trust, Option<ReloadError>), ReloadError> {
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
            match (source.load(held, self.clock.clone()), held) {
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
struct Roots {
    store: Arc<RootCertStore>,
    /// The skipped items of the source at the first reading, as far as they are named.
    ignored: Arc<[IgnoredCertificate]>,
    /// The number of skipped items.
    ignored_count: usize,
}

/// True if `loaded` has skipped items that `held` does not have.
fn has_new_faults(loaded: &LoadedRoots, held: &Roots) -> bool {
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
    roots: Roots,
    /// One element per source, each non-empty.
    crls: Vec<Arc<Lists>>,
    /// The lists of all sources, latest first.
    crls_in_order: Vec<Arc<RevocationList>>,
}

impl Trust {
    fn new(roots: Roots, crls: Vec<Arc<Lists>>, now: Option<UnixTime>) -> Self {
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

    fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.roots(), other.roots())
            && self.crls().len() == other.crls().len()
            && self
                .crls()
                .iter()
                .zip(other.crls())
                .all(|(a, b)| Arc::ptr_eq(a, b) || a.der() == b.der())
    }
}

/// Builds a verifier.
pub(super) type Make<D> = Box<dyn Fn(&Trust) -> Result<Arc<D>, ReloadError> + Send + Sync>;

/// A verifier that is rebuilt whenever its roots or lists change.
pub(super) struct TrustedBy<D: ?Sized> {
    sources: TrustSources,
    make: Make<D>,
    slot: Slot<InForce<D>, SourceVersions>,
}

/// The current roots and lists, with their verifier.
struct InForce<D: ?Sized> {
    trust: Trust,
    verifier: Arc<D>,
}

impl<D: ?Sized> TrustedBy<D> {
    /// Reads all sources for the first time.
    ///
    /// # Errors
    ///
    /// Any problem, and the errors of `make`.
    pub(super) fn new(
        what: String,
        sources: TrustSources,
        make: Make<D>,
    ) -> Result<Self, ReloadError> {
        let versions = sources.versions();
        let (trust, _) = sources.load(None)?;
        let verifier = make(&trust)?;
        let first = Arc::new(InForce { trust, verifier });
        Ok(Self {
            slot: Slot::new(what, sources.clock.clone(), first, versions),
            sources,
            make,
        })
    }

    /// Returns the current verifier.
    pub(super) fn verifier(&self) -> Arc<D> {
        self.slot.current().verifier.clone()
    }

    pub(super) fn status(&self) -> ReloadStatus {
        self.slot.status()
    }

    pub(super) fn reload(&self) -> Result<Reload, Arc<ReloadError>> {
        self.slot
            .reload(|| self.sources.versions(), |held| self.load(held))
    }

    pub(super) fn reload_if_changed(&self) -> Result<Reload, Arc<ReloadError>> {
        self.slot
            .reload_if_changed(|| self.sources.versions(), |held| self.load(held))
    }

    /// Reads all sources as if for the first time: drops missing lists, and accepts older ones.
    pub(super) fn reload_from_scratch(&self) -> Result<Reload, Arc<ReloadError>> {
        let load = |held: &Arc<InForce<D>>| match self.sources.load(None) {
            Ok((trust, _)) => self.with_verifier(trust, None, held),
            Err(error) => Loaded::failed(held, error),
        };
        self.slot.reload(|| self.sources.versions(), load)
    }

    fn load(&self, held: &Arc<InForce<D>>) -> Loaded<InForce<D>> {
        match self.sources.load(Some(&held.trust)) {
            Ok((trust, problem)) => self.with_verifier(trust, problem, held),
            Err(error) => Loaded::failed(held, error),
        }
    }

    /// Returns `held` if `trust` has not changed, or a new verifier for it.
    fn with_verifier(
        &self,
        trust: Trust,
        problem: Option<ReloadError>,
        held: &Arc<InForce<D>>,
    ) -> Loaded<InForce<D>> {
        if trust.is_same_as(&held.trust) {
            return Loaded {
                value: held.clone(),
                problem,
            };
        }
        match (self.make)(&trust) {
            Ok(verifier) => Loaded {
                value: Arc::new(InForce { trust, verifier }),
                problem,
            },
            Err(error) => Loaded {
                value: held.clone(),
                problem: ReloadError::of(problem.into_iter().chain([error]).collect()),
            },
        }
    }
}

impl<D: ?Sized> fmt::Debug for TrustedBy<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrustedBy")
            .field("sources", &self.sources)
            .field("slot", &self.slot)
            .finish_non_exhaustive()
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
