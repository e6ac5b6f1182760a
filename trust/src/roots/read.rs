//! Reads the certificates of a source into a root store.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use pki_types::TrustAnchor;
use pki_types::pem::{PemObject, SectionKind};
use rustls::RootCertStore;

use super::error::{IgnoredCertificate, IgnoredReason, RootsError};
use super::source::RootSource;
use crate::FileError;
use crate::files::{list_directory, read_file};
use crate::pem::{CERTIFICATES, count_marks, describe, is_der};

/// The maximum length of a file. Bundles of all public authorities have about 250 KB.
const MAX_FILE_LENGTH: u64 = 16 << 20;

/// The maximum total length of the files in a directory.
const MAX_DIRECTORY_LENGTH: u64 = 64 << 20;

/// The maximum number of skipped items that are described.
const MAX_NAMED: usize = 1000;

/// The cached roots of a source.
pub struct CachedRoots {
    pub(super) store: Arc<RootCertStore>,
    pub(super) ignored: Arc<[IgnoredCertificate]>,
    pub(super) ignored_count: usize,
    pub(super) duplicates: usize,
}

impl CachedRoots {
    /// Returns the memory used by the roots in bytes.
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

/// Reads `source`. Uses the store `held` if the roots are equal.
///
/// # Errors
///
/// Returns an error if the source cannot be read or has no usable root.
pub(super) fn read(
    source: &RootSource,
    held: Option<&Arc<RootCertStore>>,
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
}

impl Reading {
    fn new() -> Self {
        Self {
            store: RootCertStore::empty(),
            seen: BTreeSet::new(),
            ignored: Vec::new(),
            ignored_count: 0,
            duplicates: 0,
        }
    }

    fn finish(self, held: Option<&Arc<RootCertStore>>) -> Result<CachedRoots, RootsError> {
        let ignored = self.ignored.into();
        if self.store.is_empty() {
            return Err(RootsError::NoRoots { ignored });
        }
        let store = match held {
            Some(held) if held.roots == self.store.roots => held.clone(),
            _ => Arc::new(self.store),
        };
        Ok(CachedRoots {
            store,
            ignored,
            ignored_count: self.ignored_count,
            duplicates: self.duplicates,
        })
    }

    fn add_pem_file(&mut self, path: &Path) -> Result<(), FileError> {
        let content = read_file(path, MAX_FILE_LENGTH)?;
        self.add_pem(&content, Some(path));
        Ok(())
    }

    /// Skips unreadable files: the others are still usable.
    fn add_directory(&mut self, directory: &Path) -> Result<(), FileError> {
        let mut left = MAX_DIRECTORY_LENGTH;
        for name in list_directory(directory)? {
            let path = directory.join(name);
            if path.is_dir() {
                continue;
            }
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
            let reason = match is_der(pem) {
                true => IgnoredReason::Pem("DER, not PEM".into()),
                false => IgnoredReason::NoCertificate,
            };
            self.ignore(file, None, reason);
        }
    }

    fn add(&mut self, der: Vec<u8>, file: Option<&Path>, position: Option<usize>) {
        if self.seen.contains(&der) {
            self.duplicates += 1;
            return;
        }
        match self.store.add(der.as_slice().into()) {
            Ok(()) => {
                self.seen.insert(der);
            }
            Err(error) => self.ignore(file, position, IgnoredReason::Certificate(error)),
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
