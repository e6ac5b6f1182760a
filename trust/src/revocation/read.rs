//! Reads the lists from a source, and decides which of them replace lists in use.
//!
//! A missing list leaves certificates unchecked, so files that should contain a list but cannot be
//! used are reported. The first reading fails if there is any such file. A later one keeps a list
//! in use if its file was removed, became unreadable or is older, and still replaces the other
//! lists of the source.
//!
//! At the limits, lists in use are dropped in favour of lists on disk: first those without a file,
//! and among these the earliest to expire.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rustls::certificates::RevocationList;
use rustls::server::ParsedCertificate;

use super::error::{CrlError, CrlProblem, CrlProblemReason};
use super::order::{cover_the_same, expiry_order, is_older, order};
use super::source::CrlSource;
use crate::files::{list_directory, read_file};
use crate::pem::{count_marks, describe, is_der, other_format};

/// The maximum length of a file, and of all files in a directory. Lists of 100 MB exist.
const MAX_LENGTH: u64 = 256 << 20;

/// The maximum number of lists per source. Each list is compared with all others.
pub(super) const MAX_LISTS: usize = 4096;

/// The limits on the lists of a source, including lists in use that are no longer on disk.
struct Limits {
    count: usize,
    /// The maximum total length of all encodings. More than [`MAX_LENGTH`], so all lists on disk
    /// fit.
    bytes: usize,
}

const LIMITS: Limits = Limits {
    count: MAX_LISTS,
    bytes: 512 << 20,
};

/// The maximum number of problems with files that are listed. Further ones are left out, but
/// problems with lists in use are always listed.
const MAX_NAMED: usize = 1000;

/// The PEM labels of revocation lists.
const LABELS: &[&str] = &["X509 CRL"];

/// The cached lists of a source.
pub struct Lists {
    /// The lists, never empty.
    pub(super) lists: Arc<[Arc<RevocationList>]>,
    /// The problems found when the source was last read.
    pub(super) problems: Arc<[CrlProblem]>,
}

/// Reads `source`, and combines its lists with the lists in `held`, which are in use.
///
/// # Errors
///
/// Returns an error if no list can be read, if there are too many lists or directory entries or,
/// without `held`, if something is unusable.
pub(super) fn read(
    source: &CrlSource,
    held: Option<&Arc<Lists>>,
    now: Option<UnixTime>,
) -> Result<Arc<Lists>, CrlError> {
    read_within(&LIMITS, source, held, now)
}

/// Implements [`read`]. Tests call it with lower limits.
fn read_within(
    limits: &Limits,
    source: &CrlSource,
    held: Option<&Arc<Lists>>,
    now: Option<UnixTime>,
) -> Result<Arc<Lists>, CrlError> {
    let mut reading = Reading::new(source, limits, now);
    match source {
        CrlSource::File(path) => reading.add_file(path, read_file(path, MAX_LENGTH)?)?,
        CrlSource::Directory(path) => reading.add_directory(path)?,
    }

    if reading.found.is_empty() && reading.problems.is_empty() {
        let path = source.path().into();
        return Err(CrlError::NoLists { path });
    }
    if reading.found.is_empty() || (held.is_none() && !reading.problems.is_empty()) {
        return Err(CrlError::Unusable(reading.problems.into()));
    }
    if let Some(held) = held {
        reading.keep_unreplaced(&held.lists);
    }
    if reading.bytes() > limits.bytes {
        return Err(CrlError::TooLong {
            path: source.path().into(),
            limit: limits.bytes,
        });
    }

    let Reading {
        mut found,
        problems,
        ..
    } = reading;
    // lists of several scopes may cover one certificate, and verifiers use the first: an old list
    // must not hide a newer one
    found.sort_by(|one, two| order(&two.list, now).cmp(&order(&one.list, now)));
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
    pub(crate) fn lists(&self) -> &[Arc<RevocationList>] {
        &self.lists
    }

    /// Returns the problems found when the source was last read.
    pub(crate) fn problems(&self) -> &Arc<[CrlProblem]> {
        &self.problems
    }

    /// Returns the total length of the lists' DER encodings, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.lists.iter().map(|list| list.der().len()).sum()
    }
}

/// True if the name matches `*.crl`, `*.r0`, `*.r1` and so on.
fn is_named_as_list(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    extension.eq_ignore_ascii_case("crl")
        || extension
            .strip_prefix('r')
            .is_some_and(|number| number.parse::<u32>().is_ok())
}

fn are_the_same(found: &[FoundList], held: &[Arc<RevocationList>]) -> bool {
    found.len() == held.len()
        && found
            .iter()
            .zip(held)
            .all(|(found, held)| Arc::ptr_eq(&found.list, held))
}

/// A list, with its file and its position in that file, if any.
struct FoundList {
    list: Arc<RevocationList>,
    file: Option<Arc<Path>>,
    position: Option<usize>,
}

impl FoundList {
    fn problem(&self, reason: CrlProblemReason) -> CrlProblem {
        CrlProblem {
            file: self.file.as_deref().map(Into::into),
            position: self.position,
            reason,
        }
    }
}

/// A list in use without an equal or newer list on disk.
struct Survivor {
    list: Arc<RevocationList>,
    /// The index of the older list of the same scope, if there is one on disk.
    older: Option<usize>,
}

/// The state of reading a source.
struct Reading<'a> {
    source: &'a CrlSource,
    /// The lists on disk, at most one per issuer and scope. At the end, the lists in use that stay
    /// are added, or replace older ones.
    found: Vec<FoundList>,
    problems: Vec<CrlProblem>,
    limits: &'a Limits,
    now: Option<UnixTime>,
}

impl<'a> Reading<'a> {
    fn new(source: &'a CrlSource, limits: &'a Limits, now: Option<UnixTime>) -> Self {
        Self {
            source,
            found: Vec::new(),
            problems: Vec::new(),
            limits,
            now,
        }
    }

    /// Returns the total length of the lists' DER encodings, in bytes.
    fn bytes(&self) -> usize {
        self.found.iter().map(|found| found.list.der().len()).sum()
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
        // after a crash, a file may have its length but not its content
        if content.iter().all(|byte| *byte == 0) {
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
        let marked = count_marks(pem, LABELS);
        if marked > count {
            self.note(path, None, CrlProblemReason::Marked(marked - count));
        } else if count > 0 {
            return Ok(());
        } else if let Some(format) = other_format(pem, LABELS) {
            self.note(path, None, CrlProblemReason::Pem(format.into()));
        } else if is_named_as_list(path) {
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
        let certificate = CertificateDer::from(&der[..]);
        let is_certificate = ParsedCertificate::try_from(&certificate).is_ok();
        let list = match RevocationList::from_der(der) {
            Ok(list) => list,
            Err(error) => {
                let reason = match is_certificate {
                    true => CrlProblemReason::Certificate,
                    false => CrlProblemReason::List(error),
                };
                self.note(path, position, reason);
                return Ok(());
            }
        };
        let new = FoundList {
            list,
            file: Some(path.into()),
            position,
        };
        // a newer list may be added next to the old one
        match self.of_the_same_scope(&new.list) {
            Some(other) if is_older(&self.found[other].list, &new.list, self.now) => {
                self.found[other] = new;
                Ok(())
            }
            Some(_) => Ok(()),
            None => self.push(new),
        }
    }

    /// Adds those lists in `held` that no list on disk replaces, in addition to the lists on disk,
    /// or instead of older lists, as far as the limits allow.
    fn keep_unreplaced(&mut self, held: &[Arc<RevocationList>]) {
        let mut survivors = Vec::new();
        for list in held {
            let same_scope = self.of_the_same_scope(list);
            let older = match same_scope.map(|index| &mut self.found[index]) {
                Some(found) if found.list.der() == list.der() => {
                    // the lists are different objects if there were too many to share
                    found.list = list.clone();
                    continue;
                }
                Some(found) if !is_older(&found.list, list, self.now) => continue,
                _ => same_scope,
            };
            survivors.push(Survivor {
                list: list.clone(),
                older,
            });
        }

        let now = self.now;
        survivors.sort_by(|one, two| {
            let order = expiry_order(&two.list, now).cmp(&expiry_order(&one.list, now));
            two.older.is_some().cmp(&one.older.is_some()).then(order)
        });
        let mut bytes = self.bytes();
        for survivor in survivors {
            self.keep(survivor, &mut bytes);
        }
    }

    /// Adds `survivor` if the limits allow it, and a problem in any case. `bytes` is the total
    /// length of all lists so far.
    fn keep(&mut self, Survivor { list, older }: Survivor, bytes: &mut usize) {
        let issuer = || list.issuer().to_vec();
        let replaced = older.map_or(0, |index| self.found[index].list.der().len());
        let new_bytes = *bytes - replaced + list.der().len();
        let is_countable = older.is_some() || self.found.len() < self.limits.count;
        if !is_countable || new_bytes > self.limits.bytes {
            let issuer = issuer();
            let no_room = CrlProblemReason::NoRoom { issuer };
            self.problems.push(CrlProblem {
                file: None,
                position: None,
                reason: no_room,
            });
            return;
        }

        *bytes = new_bytes;
        if let Some(index) = older {
            let found = &mut self.found[index];
            found.list = list;
            self.problems.push(found.problem(CrlProblemReason::Older));
            return;
        }
        let reason = CrlProblemReason::Missing { issuer: issuer() };
        let gone = FoundList {
            list,
            file: None,
            position: None,
        };
        self.problems.push(gone.problem(reason));
        self.found.push(gone);
    }

    /// Returns the index of the list with the same issuer and scope as `list`.
    fn of_the_same_scope(&self, list: &RevocationList) -> Option<usize> {
        self.found
            .iter()
            .position(|other| cover_the_same(&other.list, list))
    }

    fn push(&mut self, new: FoundList) -> Result<(), CrlError> {
        let limit = self.limits.count;
        if self.found.len() == limit {
            return Err(CrlError::TooManyLists {
                path: self.source.path().into(),
                limit,
            });
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

#[cfg(test)]
mod tests;
