//! Whom to trust, read from roots and revocation lists, and a verifier that goes by it.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use std::path::Path;

use pki_types::UnixTime;

use super::slot::{Loaded, Slot};
use super::{Reload, ReloadError, ReloadStatus};
use crate::certificates::files::FileVersion;
use crate::certificates::loading::{Source, Version};
use crate::certificates::revocation::Lists;
use crate::certificates::{
    CrlError, CrlSource, IgnoredCertificate, LoadedRoots, RevocationList, RootCache, RootSource,
};
use crate::time_provider::{DefaultTimeProvider, TimeProvider};
use crate::webpki::RootCertStore;

/// Where trust comes from: what the builders of both sides collect.
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

    /// Reads the roots: those that are `held`, if they are equal.
    ///
    /// # Errors
    ///
    /// They cannot be read; or they differ, and there is something that cannot be used and was not there before: it may be
    /// a file that is being written, and lacks roots that are still to be trusted.
    fn load_roots(&self, held: Option<&Roots>) -> Result<Roots, ReloadError> {
        let loaded = RootCache::global()
            .reload(&self.roots)
            .map_err(ReloadError::Roots)?;
        if let Some(error) = loaded.failed_reload {
            return Err(ReloadError::Roots(error));
        }
        match held {
            // a cache that was told to keep nothing reads equal roots into another store
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

    /// Reads all sources. What cannot be read stays as it is in `held`, and is a problem.
    ///
    /// # Errors
    ///
    /// The same problems, where nothing is `held`.
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
            // to compare with what is in force, and with nothing else that was read
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

/// The roots in force.
#[derive(Clone)]
struct Roots {
    store: Arc<RootCertStore>,
    /// What of the source was passed over when they were first read, the first of it.
    ignored: Arc<[IgnoredCertificate]>,
    /// How much that was.
    ignored_count: usize,
}

/// Whether something was passed over in `loaded` that was not in what is `held`.
fn has_new_faults(loaded: &LoadedRoots, held: &Roots) -> bool {
    if held.ignored_count < loaded.ignored_count {
        return true;
    }
    // so many that not all are named are only counted
    let are_named = held.ignored_count == held.ignored.len();
    let known = faults(&held.ignored);
    let is_new = |(fault, count)| known.get(&fault).is_none_or(|known| *known < count);
    are_named && faults(&loaded.ignored).into_iter().any(is_new)
}

/// How often there is the same fault in the same file; where in the file changes with what stands before it.
fn faults(ignored: &[IgnoredCertificate]) -> BTreeMap<(Option<&Path>, String), usize> {
    let mut faults = BTreeMap::new();
    for IgnoredCertificate { file, reason, .. } in ignored {
        let fault = (file.as_deref(), format!("{reason:?}"));
        *faults.entry(fault).or_default() += 1;
    }
    faults
}

/// Who is trusted, and who no longer is.
pub(super) struct Trust {
    roots: Roots,
    /// Of each source, never none.
    crls: Vec<Arc<Lists>>,
    /// Those of all sources, the latest first.
    crls_in_order: Vec<Arc<RevocationList>>,
}

impl Trust {
    fn new(roots: Roots, crls: Vec<Arc<Lists>>, now: Option<UnixTime>) -> Self {
        let mut crls_in_order = crls
            .iter()
            .flat_map(|lists| lists.lists().iter().cloned())
            .collect::<Vec<_>>();
        crls_in_order.sort_by(|one, two| two.order(now).cmp(&one.order(now)));
        Self {
            roots,
            crls,
            crls_in_order,
        }
    }

    pub(super) fn roots(&self) -> &Arc<RootCertStore> {
        &self.roots.store
    }

    /// The lists of all sources. Of several that are for one certificate a verifier uses the first, so those that
    /// were issued last come first, whatever the order of the sources.
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

/// Makes a verifier that goes by something.
pub(super) type Make<D> = Box<dyn Fn(&Trust) -> Result<Arc<D>, ReloadError> + Send + Sync>;

/// A verifier, made anew by each change of what it goes by.
pub(super) struct TrustedBy<D: ?Sized> {
    sources: TrustSources,
    make: Make<D>,
    slot: Slot<InForce<D>, SourceVersions>,
}

/// What a verifier goes by, and the verifier.
struct InForce<D: ?Sized> {
    trust: Trust,
    verifier: Arc<D>,
}

impl<D: ?Sized> TrustedBy<D> {
    /// Reads all sources for the first time.
    ///
    /// # Errors
    ///
    /// Any problem, and those of `make`.
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

    /// What is in force.
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

    /// Reads all sources as if for the first time: lists that are gone are not missed, and older ones are taken.
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

    /// What is `held`, or if it differs, a verifier that goes by `trust`.
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
    /// It is always the same.
    Constant,
    /// Nobody knows without reading it.
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
