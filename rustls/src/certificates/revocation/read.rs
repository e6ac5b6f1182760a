//! Reads the lists of a source, and decides which of them take the place of those in use.
//!
//! What is missing here is not checked later, so nothing is passed over in silence: at first all that is there must
//! be usable. From then on a list that is in use is replaced by a newer one only; it stays when its file is gone,
//! cannot be read, or has an older one, and the others are replaced nevertheless.

use alloc::sync::Arc;
use alloc::vec::Vec;
use std::ffi::OsStr;
use std::path::Path;

use pki_types::pem::PemObject;
use pki_types::{CertificateRevocationListDer, UnixTime};

use super::RevocationList;
use super::error::{CrlError, CrlProblem, CrlProblemReason};
use super::source::CrlSource;
use crate::certificates::files::{list_directory, read_file};
use crate::certificates::pem::{count_marks, describe, is_der};

/// What is read of a file, and of all files in a directory: lists of 100 MB have been seen.
const MAX_LENGTH: u64 = 256 << 20;

/// How many bytes all lists may have, those that are gone included.
const MAX_HELD_LENGTH: usize = 512 << 20;

/// How many lists are taken, those that are gone included. Each is compared with each.
pub(super) const MAX_LISTS: usize = 4096;

/// How much of what is wrong is named.
const MAX_NAMED: usize = 1000;

/// What is kept of a source.
pub(crate) struct Lists {
    /// Never empty.
    pub(super) lists: Arc<[Arc<RevocationList>]>,
    /// Why some of them could not be replaced at the last reading.
    pub(super) problems: Arc<[CrlProblem]>,
}

/// Reads `source`, of which `held` is in use.
///
/// # Errors
///
/// When nothing can be read; without `held`, also when not everything can be used.
pub(super) fn read(
    source: &CrlSource,
    held: Option<&Arc<Lists>>,
    now: Option<UnixTime>,
) -> Result<Arc<Lists>, CrlError> {
    let mut reading = Reading::new(now);
    match source {
        CrlSource::File(path) => reading.add_file(path, read_file(path, MAX_LENGTH)?)?,
        CrlSource::Directory(path) => reading.add_directory(path)?,
    }

    if reading.found.is_empty() && reading.problems.is_empty() {
        return Err(CrlError::NoLists);
    }
    if reading.found.is_empty() || (held.is_none() && !reading.problems.is_empty()) {
        return Err(CrlError::Unusable(reading.problems.into()));
    }
    if let Some(held) = held {
        reading.keep_what_is_not_replaced(&held.lists)?;
    }

    let Reading {
        mut found,
        problems,
        now,
    } = reading;
    // lists of several scopes may be for one certificate, and verifiers use the first: an old one is no way around
    // a newer one
    found.sort_by(|one, two| two.list.order(now).cmp(&one.list.order(now)));
    let lengths = found.iter().map(|found| found.list.der().len());
    if lengths.sum::<usize>() > MAX_HELD_LENGTH {
        let limit = MAX_HELD_LENGTH;
        return Err(CrlError::TooLong { limit });
    }
    let lists = match held {
        Some(held) if are_the_same(&found, &held.lists) => held.lists.clone(),
        _ => found.into_iter().map(|found| found.list).collect(),
    };
    Ok(Arc::new(Lists {
        lists,
        problems: problems.into(),
    }))
}

impl Lists {
    /// The lists.
    pub(crate) fn lists(&self) -> &[Arc<RevocationList>] {
        &self.lists
    }

    /// Why some of them could not be replaced.
    pub(crate) fn problems(&self) -> &Arc<[CrlProblem]> {
        &self.problems
    }

    /// How long the encodings are.
    pub(super) fn bytes(&self) -> usize {
        self.lists.iter().map(|list| list.der().len()).sum()
    }
}

/// Whether its name is one of `*.crl`, `*.r0`, `*.r1` and so on.
fn is_named_as_list(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    extension.eq_ignore_ascii_case("crl")
        || extension
            .strip_prefix('r')
            .is_some_and(|number| number.parse::<u32>().is_ok())
}

fn are_the_same(found: &[Found], held: &[Arc<RevocationList>]) -> bool {
    found.len() == held.len()
        && found
            .iter()
            .zip(held)
            .all(|(found, held)| Arc::ptr_eq(&found.list, held))
}

/// A list, and where it is.
struct Found {
    list: Arc<RevocationList>,
    file: Option<Arc<Path>>,
    position: Option<usize>,
}

impl Found {
    fn problem(&self, reason: CrlProblemReason) -> CrlProblem {
        CrlProblem {
            file: self.file.as_deref().map(Into::into),
            position: self.position,
            reason,
        }
    }
}

/// What was read so far.
struct Reading {
    /// One for each issuer and scope.
    found: Vec<Found>,
    problems: Vec<CrlProblem>,
    now: Option<UnixTime>,
}

impl Reading {
    fn new(now: Option<UnixTime>) -> Self {
        Self {
            found: Vec::new(),
            problems: Vec::new(),
            now,
        }
    }

    fn add_directory(&mut self, directory: &Path) -> Result<(), CrlError> {
        let mut left = MAX_LENGTH;
        for name in list_directory(directory)? {
            let path = directory.join(name);
            if path.is_dir() {
                continue;
            }
            match read_file(&path, left) {
                Ok(content) => {
                    left -= content.len() as u64;
                    self.add_file(&path, content)?;
                }
                Err(error) => self.note(&path, None, CrlProblemReason::File(error)),
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path, content: Vec<u8>) -> Result<(), CrlError> {
        if content.is_empty() {
            self.note(path, None, CrlProblemReason::Empty);
            Ok(())
        } else if is_der(&content) {
            self.add(path, None, content.into())
        } else {
            self.add_pem(path, &content)
        }
    }

    fn add_pem(&mut self, path: &Path, pem: &[u8]) -> Result<(), CrlError> {
        let mut count = 0;
        for section in CertificateRevocationListDer::pem_slice_iter(pem) {
            count += 1;
            match section {
                Ok(der) => self.add(path, Some(count), der)?,
                Err(error) => {
                    self.note(path, Some(count), CrlProblemReason::Pem(describe(&error)));
                }
            }
        }
        let marked = count_marks(pem, &["X509 CRL"]);
        if marked > count {
            self.note(path, None, CrlProblemReason::Marked(marked - count));
        } else if count == 0 && is_named_as_list(path) {
            self.note(path, None, CrlProblemReason::NoList);
        }
        Ok(())
    }

    fn add(
        &mut self,
        path: &Path,
        position: Option<usize>,
        der: CertificateRevocationListDer<'static>,
    ) -> Result<(), CrlError> {
        let list = match RevocationList::from_der(der) {
            Ok(list) => list,
            Err(error) => {
                self.note(path, position, CrlProblemReason::List(error));
                return Ok(());
            }
        };
        let new = Found {
            list,
            file: Some(path.into()),
            position,
        };
        // a new one may be put beside the old
        match self.of_the_same_scope(&new.list) {
            Some(other) if self.found[other].list.is_older_than(&new.list, self.now) => {
                self.found[other] = new;
                Ok(())
            }
            Some(_) => Ok(()),
            None => self.push(new),
        }
    }

    /// Puts those of `held` in the place of equal and of older ones that were found, and beside these where none was
    /// found.
    fn keep_what_is_not_replaced(&mut self, held: &[Arc<RevocationList>]) -> Result<(), CrlError> {
        for list in held {
            if let Some(found) = self.of_the_same_scope(list) {
                let found = &mut self.found[found];
                if found.list.der() == list.der() {
                    // another one, if there were too many lists to be shared
                    found.list = list.clone();
                } else if found.list.is_older_than(list, self.now) {
                    found.list = list.clone();
                    self.problems.push(found.problem(CrlProblemReason::Older));
                }
            } else {
                let gone = Found {
                    list: list.clone(),
                    file: None,
                    position: None,
                };
                let issuer = list.issuer().to_vec();
                self.problems
                    .push(gone.problem(CrlProblemReason::Missing { issuer }));
                self.push(gone)?;
            }
        }
        Ok(())
    }

    /// Where the list is that is for the same certificates as `list`.
    fn of_the_same_scope(&self, list: &RevocationList) -> Option<usize> {
        self.found
            .iter()
            .position(|other| other.list.covers_what(list))
    }

    fn push(&mut self, new: Found) -> Result<(), CrlError> {
        if self.found.len() == MAX_LISTS {
            return Err(CrlError::TooManyLists { limit: MAX_LISTS });
        }
        self.found.push(new);
        Ok(())
    }

    fn note(&mut self, path: &Path, position: Option<usize>, reason: CrlProblemReason) {
        if self.problems.len() < MAX_NAMED {
            self.problems.push(CrlProblem {
                file: Some(path.into()),
                position,
                reason,
            });
        }
    }
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests {
    use super::*;
    use crate::webpki::tests::pki::{crl, root};

    #[test]
    fn what_did_not_change_is_what_was_held_even_if_nothing_is_shared() {
        let der = crl(&root("One", |_| ()), &[3], |_| ());
        let held = Arc::new(RevocationList::parse(Arc::new(der.clone())).unwrap());
        let mut reading = Reading::new(None);
        reading.add(Path::new("one"), None, der).unwrap();
        assert!(!Arc::ptr_eq(&reading.found[0].list, &held));
        reading
            .keep_what_is_not_replaced(core::slice::from_ref(&held))
            .unwrap();
        assert!(Arc::ptr_eq(&reading.found[0].list, &held) && reading.problems.is_empty());
    }
}
