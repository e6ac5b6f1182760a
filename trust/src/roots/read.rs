//! Reads the certificates of a source into a root store, and detects missing roots.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pki_types::TrustAnchor;
use pki_types::pem::{PemObject, SectionKind};
use rustls::RootCertStore;

use super::error::{IgnoredCertificate, IgnoredReason, RootsError};
use super::source::RootSource;
use crate::files::{list_directory, read_file};
use crate::pem::{CERTIFICATES, count_marks, describe, is_der, other_format};
use crate::{FileError, FileErrorCause};

/// The maximum length of a file. Bundles with all public authorities are about 250 KB long.
const MAX_FILE_LENGTH: u64 = 16 << 20;

/// The maximum total length of the files in a directory.
const MAX_DIRECTORY_LENGTH: u64 = 64 << 20;

/// The maximum number of skipped items that are listed. Further items are only counted.
const MAX_NAMED: usize = 1000;

/// The cached roots of a source.
pub struct CachedRoots {
    pub(super) store: Arc<RootCertStore>,
    pub(super) duplicates: usize,
    pub(super) faults: Faults,
    /// The items skipped by the reading that last changed the roots. They are tolerated.
    tolerated: Faults,
    /// The files with roots. Other files in a directory need not have any.
    files: BTreeSet<PathBuf>,
}

/// The items of a source that were skipped.
#[derive(Clone)]
pub(super) struct Faults {
    /// The skipped items, at most [`MAX_NAMED`].
    pub(super) ignored: Arc<[IgnoredCertificate]>,
    pub(super) count: usize,
}

/// The number of faults, by file and kind. Positions are ignored, because they change when other
/// content changes.
type FaultKinds<'a> = BTreeMap<(Option<&'a Path>, String), usize>;

impl Faults {
    /// True if there are more [relevant](Self::relevant) faults of some kind in some file than in
    /// `known`. If one side does not list all of its faults, only their numbers are compared.
    fn are_beyond(&self, known: &Self, files: &BTreeSet<PathBuf>) -> bool {
        let are_named = |faults: &Self| faults.ignored.len() == faults.count;
        if !are_named(self) || !are_named(known) {
            return known.count < self.count;
        }
        let known = known.kinds(files);
        let is_new = |(fault, count)| known.get(&fault).is_none_or(|known| *known < count);
        self.kinds(files).into_iter().any(is_new)
    }

    fn kinds(&self, files: &BTreeSet<PathBuf>) -> FaultKinds<'_> {
        let mut kinds = BTreeMap::new();
        for fault in self.relevant(files) {
            let kind = (fault.file.as_deref(), format!("{:?}", fault.reason));
            *kinds.entry(kind).or_default() += 1;
        }
        kinds
    }

    /// Skips content without a certificate, unless its file is among the `files` that had roots.
    fn relevant(&self, files: &BTreeSet<PathBuf>) -> impl Iterator<Item = &IgnoredCertificate> {
        self.ignored.iter().filter(|fault| {
            let had_roots = |file| files.contains(file);
            fault.is_unexpected() || fault.file.as_deref().is_some_and(had_roots)
        })
    }
}

impl CachedRoots {
    pub(crate) fn store(&self) -> &Arc<RootCertStore> {
        &self.store
    }

    /// Returns the relevant faults if some of them are new, because new ones may hide roots in
    /// `held`.
    pub(crate) fn faults_since(&self, held: &Self) -> Option<Arc<[IgnoredCertificate]>> {
        let is_new = self.faults.are_beyond(&held.tolerated, &held.files);
        is_new.then(|| self.faults.relevant(&held.files).cloned().collect())
    }

    /// Returns the number of these roots that `store` lacks.
    fn lost_in(&self, store: &RootCertStore) -> usize {
        let key = |root: &TrustAnchor<'static>| {
            let constraints = root.name_constraints.as_ref().map(|der| der.to_vec());
            (
                root.subject.to_vec(),
                root.subject_public_key_info.to_vec(),
                constraints,
            )
        };
        let found: BTreeSet<_> = store.roots.iter().map(key).collect();
        let is_lost = |root: &&TrustAnchor<'static>| !found.contains(&key(root));
        self.store.roots.iter().filter(is_lost).count()
    }

    /// Returns the approximate memory used by the roots, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let of_one = |root: &TrustAnchor<'_>| {
            let constraints = root.name_constraints.as_ref().map_or(0, |der| der.len());
            size_of::<TrustAnchor<'_>>()
                + root.subject.len()
                + root.subject_public_key_info.len()
                + constraints
        };
        self.store.roots.iter().map(of_one).sum()
    }
}

/// Reads `source`. Uses the store in `held` if the roots are equal.
///
/// # Errors
///
/// Returns an error if the source cannot be read or has no usable root. Also returns one if roots
/// in `held` are missing and there are new faults, because these may hide the missing roots.
pub(super) fn read(
    source: &RootSource,
    held: Option<&CachedRoots>,
) -> Result<CachedRoots, RootsError> {
    let mut reading = Reading::new();
    match source {
        RootSource::Pem(pem) => reading.add_pem(pem, None),
        RootSource::PemFile(path) => reading.add_pem_file(path)?,
        RootSource::Directory(path) => reading.add_directory(path)?,
        #[cfg(feature = "native-certs")]
        RootSource::Platform => reading.add_platform(),
        #[cfg(feature = "webpki-roots")]
        RootSource::WebPki => reading
            .store
            .extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    reading.finish(held)
}

/// The state of reading a source.
struct Reading {
    store: RootCertStore,
    /// The DER of the certificates in `store`.
    seen: BTreeSet<Vec<u8>>,
    ignored: Vec<IgnoredCertificate>,
    ignored_count: usize,
    duplicates: usize,
    /// The files with roots.
    files: BTreeSet<PathBuf>,
    /// The subdirectories of the source.
    directories: Vec<PathBuf>,
}

impl Reading {
    fn new() -> Self {
        Self {
            store: RootCertStore::empty(),
            seen: BTreeSet::new(),
            ignored: Vec::new(),
            ignored_count: 0,
            duplicates: 0,
            files: BTreeSet::new(),
            directories: Vec::new(),
        }
    }

    fn finish(mut self, held: Option<&CachedRoots>) -> Result<CachedRoots, RootsError> {
        // container runtimes create a directory in place of a missing file
        for path in mem::take(&mut self.directories) {
            if held.is_some_and(|held| held.files.contains(&path)) {
                let error = FileError {
                    path: path.clone(),
                    cause: FileErrorCause::NotRegular,
                };
                self.ignore(Some(&path), None, IgnoredReason::File(error));
            }
        }
        let faults = Faults {
            ignored: self.ignored.into(),
            count: self.ignored_count,
        };
        if self.store.is_empty() {
            return Err(RootsError::NoRoots {
                ignored: faults.ignored,
            });
        }
        let mut found = CachedRoots {
            store: Arc::new(self.store),
            duplicates: self.duplicates,
            tolerated: faults.clone(),
            faults,
            files: self.files,
        };
        let Some(held) = held else {
            return Ok(found);
        };
        if held.store.roots == found.store.roots {
            found.store = held.store.clone();
            found.tolerated = held.tolerated.clone();
        } else if let Some(ignored) = found.faults_since(held) {
            let count = held.lost_in(&found.store);
            if count > 0 {
                return Err(RootsError::Lost { count, ignored });
            }
        }
        Ok(found)
    }

    fn add_pem_file(&mut self, path: &Path) -> Result<(), FileError> {
        let content = read_file(path, MAX_FILE_LENGTH)?;
        self.add_pem(&content, Some(path));
        Ok(())
    }

    /// Adds the files of a directory. Skips unreadable files, because the others are still usable.
    fn add_directory(&mut self, directory: &Path) -> Result<(), FileError> {
        let mut left = MAX_DIRECTORY_LENGTH;
        let mut is_empty = true;
        for name in list_directory(directory)? {
            let path = directory.join(name);
            if path.is_dir() {
                self.directories.push(path);
                continue;
            }
            is_empty = false;
            match read_file(&path, MAX_FILE_LENGTH.min(left)) {
                Ok(content) => {
                    left -= content.len() as u64;
                    if is_der(&content) {
                        self.add(content, Some(&path), None);
                    } else {
                        self.add_pem(&content, Some(&path));
                    }
                }
                Err(error) => self.ignore(Some(&path), None, IgnoredReason::File(error)),
            }
        }
        if is_empty {
            self.ignore(Some(directory), None, IgnoredReason::NoCertificate);
        }
        Ok(())
    }

    #[cfg(feature = "native-certs")]
    fn add_platform(&mut self) {
        let mut found = rustls_native_certs::load_native_certs();
        // sort, so that equal roots give an equal store
        found
            .certs
            .sort_unstable_by(|a, b| a.as_ref().cmp(b.as_ref()));
        for der in found.certs {
            self.add(der.to_vec(), None, None);
        }
        for error in found.errors {
            self.ignore(None, None, IgnoredReason::Platform(error.to_string()));
        }
    }

    fn add_pem(&mut self, pem: &[u8], file: Option<&Path>) {
        let mut count = 0;
        for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem) {
            let der = match section {
                Ok((SectionKind::Certificate, der)) => Ok(der),
                Ok(_) => continue,
                Err(error) => Err(IgnoredReason::Pem(describe(&error))),
            };
            count += 1;
            match der {
                Ok(der) => self.add(der, file, Some(count)),
                Err(reason) => self.ignore(file, Some(count), reason),
            }
        }

        let marked = count_marks(pem, &CERTIFICATES);
        if marked > count {
            self.ignore(file, None, IgnoredReason::Marked(marked - count));
        } else if count == 0 {
            let reason = match other_format(pem, &CERTIFICATES) {
                Some(format) => IgnoredReason::Pem(format.into()),
                None => IgnoredReason::NoCertificate,
            };
            self.ignore(file, None, reason);
        }
    }

    fn add(&mut self, der: Vec<u8>, file: Option<&Path>, position: Option<usize>) {
        if self.seen.contains(&der) {
            self.duplicates += 1;
        } else {
            match self.store.add(der.as_slice().into()) {
                Ok(()) => drop(self.seen.insert(der)),
                Err(error) => {
                    self.ignore(file, position, IgnoredReason::Certificate(error));
                    return;
                }
            }
        }
        if let Some(file) = file.filter(|file| !self.files.contains(*file)) {
            self.files.insert(file.into());
        }
    }

    fn ignore(&mut self, file: Option<&Path>, position: Option<usize>, reason: IgnoredReason) {
        self.ignored_count += 1;
        if self.ignored.len() < MAX_NAMED {
            self.ignored.push(IgnoredCertificate {
                file: file.map(Into::into),
                position,
                reason,
            });
        }
    }
}
